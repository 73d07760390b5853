"""Charts as shapes to draw: numbers in, coordinates out.

`history` draws the figures of a company by year, `tile_map` the countries. The templates write them as SVG. `histogram`
places a turnover among its peers, `sparkline` is a line without a scale.
"""
