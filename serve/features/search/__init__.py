"""Search: the companies that match filters, their counts by dimension, and the completions of a text.

Searches return exact totals, pages in seven sort orders, counts by dimension and suggestions. `societes`, `repartition`
and `suggestions` answer the routes. `pages` lists the pages: `home_page`, and `explorer_page` with its filters
(`explorer_filters`) and its counts by country and sector (`facet_counts`). `answers` has the objects of the answers,
`tools` the tools of assistants. The filters are parameters of `serve/contract/parameters.py`, because exports, markets
and changes have the same filters.
"""
