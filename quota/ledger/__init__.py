"""The rules of accounts, keys, calls, credits and exports, as pure functions of one transaction.

Read `row_format.py` (the bytes of every row), `transaction.py` (what a function needs of a store),
then the rules: `account_rows.py` (accounts, keys), `calls.py` (calls, credits), `exports.py`,
`people.py`. No file here knows a clock, a file or a socket; a dict can be the store.
"""
