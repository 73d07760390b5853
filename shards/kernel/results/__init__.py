"""Results, compiled: the records of a page, the figures of a market.

`records.py` joins the records of a page as JSON. `market.py` counts the bands and lists the turnovers
of all rows that a search found.
"""
