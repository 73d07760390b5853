"""Guests of the server, which could leave it: nothing below `serve/app.py` imports one.

`docs` describes the API, `mcp` offers it to language models, `files` makes exports, `site` has the pages for people;
these use `mail` and `payment`, services of others. `operations` declares their routes, `static_pages` and
`statement_table` are what several of them need.
"""
