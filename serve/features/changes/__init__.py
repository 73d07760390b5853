"""Changes: what happened to companies between two generations of the data.

For whoever keeps a copy or watches companies: the feed of a country, and that of given companies or of a search.
"""
