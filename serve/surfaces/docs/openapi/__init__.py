"""The description of the API at /openapi.json: OpenAPI 3.1, made from what the server itself uses.

Parameters, limits and words come from serve/contract/parameters.py, objects of answers and bodies from
serve/contract/objects, errors from serve/contract/tables, plans from quota/plans.py, operations from the
`operations.py` of each feature, examples from answers to the bundled data. Written here are headers and the sentences
of `prose`. Start at `document`, then `operations` and `answers`; `schema` and `headers` are their parts. The
tests validate every answer they get against the document. `objects` is the schema of a company, `examples` are recorded
answers.
"""
