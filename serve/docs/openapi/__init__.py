"""The description of the API at /openapi.json: OpenAPI 3.1, made of what the server itself uses.

Parameters, limits and words come from serve/contract/parameters.py and serve/contract/parameters.py, errors from
serve/contract/error_codes.py, plans from quota/plans.py, paths from serve/api/routes.py, examples from answers that
the bundled data give. What is written here is only what no code knows: the shapes of answers, and
sentences. The tests validate every answer they get against it.
"""
