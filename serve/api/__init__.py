"""The routes of the API: plain functions, without HTTP and without counters.

Read `operations` first (all of them, declared), then `societes` and `societe`, which are most of the service. Each
turns a `Request` and an open generation into a `PreparedCall` or a `CallResult` (serve/access/call.py).
`serve/http/handlers.py` serves the kinds of operations.

One subject a file: `lists` (countries, sectors, forms), `sources`, `suggestions` (X4), `identifiants` (X6), `compte`
(the account of a key), `health`; `matching/` finds the companies of a list (X5), `changes/` what has changed (X1, X8),
`analyses/` has figures over companies (X3, X11, X12). No route checks a parameter (contract B, G4): each is declared in
serve/contract/parameters.py and read by serve/request.
"""
