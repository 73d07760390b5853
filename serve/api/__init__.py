"""The routes of the API: plain functions, without HTTP and without counters.

Read `routes` first (the table of paths), then `societes` and `societe`, the two routes that are most of the service. A
route turns a `Request` and an open generation into a `PreparedCall` or a `CallResult` (serve/access/result.py).
`serve/http/handlers.py` connects each path to its function.
"""
