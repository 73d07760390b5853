"""The interface of a store, and the store of one host.

Read `interface.py` (what the server asks for), `ledger_store.py` (each method is a function of the
ledger in one transaction), `account_book.py` (the same for accounts, keys and people), then
`lmdb_store.py` with its parts: `future.py`, `group_commit.py`, `lmdb_file.py`, `write_lock.py`.
"""
