"""The differences between two generations: companies deleted, created and changed.

`comparison` compares two shards of a country and writes a `change_file`; the folder of these files is a step between
generations (`shards/generations/change_steps.py`). `net_changes` finds the changes that concern a search, or some
companies, over several consecutive steps. `forgetting` removes a person's values from all files. FORMAT.md §12 has the
bytes.
"""
