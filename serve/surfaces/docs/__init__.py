"""The documents of the API: /openapi.json, /docs and the files for language models.

Start at `openapi`, which describes every route; `viewer` shows that description in a browser; `llms` writes it as text.
`documents` puts all of them together. Everything is made once, at the start of a server, from the tables that the
server itself uses. `manual` is for people, `adapter` the HTTP side.
"""
