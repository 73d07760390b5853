"""The documents of the API: /openapi.json, /docs and the files for language models.

Start at `operations`, which declares them, then `document` (/openapi.json: OpenAPI 3.1, made from the declarations that
the server itself uses) with its parts `paths` and `prose`. Parameters, objects, errors and operations are
those of serve/contract and of the features; examples are recorded answers to the bundled data. `llms` writes the
document as text. `manual` is for people: guides, the pages of `reference`, in which no page says anything that the
document does not, with calls in three languages (`request_example`), and a search; `pages` are its pages of the
website. `viewer` shows the document in a browser. The tests validate every answer they get against the document.
"""
