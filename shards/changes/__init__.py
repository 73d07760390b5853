"""The differences between two generations: companies deleted, created and changed.

`comparison` compares two shards of a country and writes a `change_file`; `change_steps` keeps these files in folders
`DATA/changes/<from>-<to>/` and finds the way from an old generation to the published one; `net_changes` finds what
concerns a search, or some companies, over all steps of a way. FORMAT.md §12 has the bytes. `change_block` holds some
changes; `forgetting` takes a person's values out of all files.
"""
