"""Counts of what a search finds: by country and sector, or by any of ten dimensions.

`facets` counts by country and sector, for the pages. `distribution` counts by dimension (X3): activity,
town, band of turnover and others. Both ask the compiled search for a census.
"""
