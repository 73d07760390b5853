"""Search: the companies that match filters, how they are distributed, and what completes a text.

For whoever looks for companies: exact totals, pages in seven orders, counts by dimension, suggestions. `societes`,
`repartition` and `suggestions` answer the routes; `pages` lists the pages: `home_page`, and `explorer_page` with the
options of its form (`filter_options`), its `chips`, and its counts by place (`facet_counts`, `facet_bars`). `tools` has
the tools of assistants. A filter is a parameter of `serve/contract/parameters.py`, since exports, markets and changes
take it too.
"""
