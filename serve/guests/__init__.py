"""Guests of the server, which could leave it: nothing below `serve/app.py` imports one.

`docs` describes the API, `mcp` offers it to language models, `files` makes exports, `site` has the pages for people;
these use `mail` and `payment`, services of others. `operations` declares the operations of all of them; `static_pages`
are made once as bytes, `statement_table` arranges the statements of a company for workbooks and pages.
"""
