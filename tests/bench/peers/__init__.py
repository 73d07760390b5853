"""Adapters of other engines: the same companies loaded, the same questions answered.

`peer` is the interface, `companies` the common input, `loading` loads it; the other modules are an
engine each, and `sql` is shared by two of them.
"""
