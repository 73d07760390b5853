"""Search: the companies that match filters, how they are distributed, and what completes a text.

For whoever looks for companies: exact totals, pages in seven orders, counts by dimension, suggestions. `societes`,
`repartition` and `suggestions` answer the routes; `pages` lists the pages: `home_page`, and `explorer_page` with its
filters (`explorer_filters`) and its counts by place (`facet_counts`). `tools` has the tools of assistants. A filter is
a parameter of `serve/contract/parameters.py`, since exports, markets and changes take it too.
"""
