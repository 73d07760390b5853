"""Results, compiled: the records of a page, the figures of all that a search found.

`records.py` joins the records of a page as JSON. `scope.py` marks all matches, a bit a row, and counts them by
dimension; `market.py` counts marked rows by bands and lists their turnovers.
"""
