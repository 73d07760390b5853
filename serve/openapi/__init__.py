"""The description of the API at /openapi.json: OpenAPI 3.1, made of what the server itself uses.

Parameters, limits and words come from serve/parameters.py and serve/vocabulary.py, errors from
serve/codes.py, plans from quota/plans.py, paths from serve/routes.py, examples from answers that
the bundled data give. What is written here is only what no code knows: the shapes of answers, and
sentences. The tests validate every answer they get against it.
"""
