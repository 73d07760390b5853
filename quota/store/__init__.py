"""The interface of a store, and the store of one host.

Read `interface.py` (a store runs functions of the ledger, and has methods for what stores do in different ways), then
`lmdb_store.py` with its parts: `future.py` (results that can be awaited), `group_commit.py`, `write_lock.py`.
"""
