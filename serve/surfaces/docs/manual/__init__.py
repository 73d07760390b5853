"""The documentation for people at /docs: a page for each route and object of /openapi.json, and guides.

Read `reference` first: it turns the OpenAPI document into the values that pages show, so no page says anything that
the document does not. `request_example` writes a call in three languages, `guides` lists the guides, and
`finder` searches all of it. The pages themselves are those of the website
(`serve/surfaces/docs/pages.py`).
"""
