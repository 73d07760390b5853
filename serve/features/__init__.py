"""The features of the service, a folder each: this list is the table of contents of the product.

`operations.py` declares a feature: its routes with parameters, answers, costs and tools. It answers them, or a module
beside it does where the answer is long. A feature has, as far as it needs them, `answers.py` (the objects of its
answers, a line a field), `texts.csv` (their texts and all others, French and English), `errors.csv`, `pages.py`
(`PAGES`; a long page has a module of its own, such as `account_page`), `templates/`, `tools.py`, `examples.json` and
`headers.csv`. `serve/app.py` lists the features that are served. No feature imports another.
"""
