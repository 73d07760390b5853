"""The rules of accounts, keys, calls, credits and exports, as pure functions of one transaction.

Read `row_format.py` (the bytes of every row, and the transaction that functions need from a store), then the rules:
`account_rows.py` (accounts, keys and their cap: A8, A9), `calls.py` (calls, credits, last records: D6, D9),
`exports.py` (F5), `people.py`, `tickets.py` (invitations, X10), `payments.py` (Stripe, X10), `activity.py` (calls by
day, matched companies: X19), `lists.py` (matched lists). `agenda.py` has work that is due at a moment; `upkeep.py`
counts all charges again, finds accounts that were never used, and migrates an older store. Nothing here reads a
clock, a file or a socket; a dict can be the store.
"""
