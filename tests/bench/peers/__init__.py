"""Adapters of other engines: they load the same companies and answer the same questions.

`peer` is the interface, `companies` the common input, `loading` loads it. `sql` is shared by two engines; each of the
other modules is an engine.
"""
