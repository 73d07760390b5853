"""The store of several hosts: the ledger's rows on one Redis or Valkey server.

Read `scripts.py` with `lua/` (the place of each row, and the calls of every request, one script each),
`transaction.py` (any function of the ledger), then `pipeline_queue.py` and `connection.py`
(how both are sent), and `store.py`, which puts them together. `identity.py` is what a host remembers of its store.
"""
