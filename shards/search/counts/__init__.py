"""Counts of what a search finds: by country and sector, by any of ten dimensions, as a market, or around a company.

`facets` counts by country and sector, for the pages. `distribution` counts by dimension (X3): activity, town, band of
turnover and others. Both ask the compiled search for a census or, of many companies, for their `row_bitmap`. `market`
gathers the turnovers and ratios of all companies that a search finds (X11), `market_figures` what is said of them, and
their document in a generation. `comparables` finds the companies of a
sub-sector that are nearest to one in size and place. `towns` joins the towns of all countries.
"""
