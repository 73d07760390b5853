"""The documents of the API: /openapi.json, /docs and the files for language models.

Start at `operations`, which declares the documents, then read `document` (/openapi.json: OpenAPI 3.1, made from the
declarations of the server) with its parts `paths` and `prose`. Parameters, objects, errors and operations come from
serve/contract and the features; examples are recorded answers from the bundled data. `llms` writes the document as
text. `manual` is the documentation for people: guides, a `reference` made from the document alone, calls in three
languages (`request_example`), and a search. `pages` has its pages on the website. `viewer` shows the document in a
browser. The tests validate answers against the document.
"""
