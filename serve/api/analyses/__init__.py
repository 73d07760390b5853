"""Routes of figures over companies: counts of a search, and analyses.

`repartition` counts the companies of a search by one or more dimensions (X3). `entreprise` analyses the accounts of one
company beside its sector, `marche` all companies of a search, and `comparables` finds the companies that are most like
one (X11). `groupe` shows the parents and subsidiaries of a company (X12).
"""
