"""One country, from its rows in the input to its shard.

`stages.py` is the entry and lists the stages; `accounts.py` prepares the statement lines. `task.py` is what a process
gets to do.
"""
