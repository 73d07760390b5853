"""The routes of the API: plain functions, without HTTP and without counters.

Read `operations` first (all of them, declared), then `societes` and `societe`, which are most of the service. Each
turns a `Request` and an open generation into a `PreparedCall` or a `CallResult` (serve/access/call.py).
`serve/http/handlers.py` serves the kinds of operations.
"""
