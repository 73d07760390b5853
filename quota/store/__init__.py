"""The interface of a store, and the store of one host.

Read `interface.py` (what the server asks for), `ledger_store.py` (each method is a function of the ledger in one
transaction), `account_book.py` and `list_book.py` (the same for accounts, keys, people, invitations and matched lists),
then `lmdb_store.py` with its parts: `future.py` (results that can be awaited), `group_commit.py`, `write_lock.py`.
"""
