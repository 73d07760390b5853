"""The store of several hosts: the ledger's rows on one Redis or Valkey server.

Read `scripts.py` with `lua/` (the place of each row, and the calls of every request, one script each),
`transaction.py` (any function of the ledger), then `pipeline_queue.py` and `connection.py`
(how scripts and transactions are sent), and `store.py`, which uses all of these. `identity.py` stores, on a host, the
identity of its store.
"""
