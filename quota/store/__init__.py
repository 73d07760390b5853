"""The interface of a store, and the store of one host.

Read `interface.py` (a store runs functions of the ledger; some operations are methods, which stores override), then
`lmdb_store.py` with its parts: `future.py` (results that can be awaited), `group_commit.py`, `write_lock.py`.
"""
