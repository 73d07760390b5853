"""Search: the companies that match filters, how they are distributed, and what completes a text.

For whoever looks for companies: exact totals, pages in seven orders, counts by dimension, suggestions. A filter is a
parameter of `serve/contract/parameters.py`, since exports, markets and changes take it too.
"""
