"""Counts of what a search finds: by country and sector, by any of ten dimensions, or as a market.

`facets` counts by country and sector, for the pages. `distribution` counts by dimension (X3): activity,
town, band of turnover and others. Both ask the compiled search for a census. `market` gathers the
turnovers and ratios of all companies that a search finds (X11), `marked_rows` where they are many.
"""
