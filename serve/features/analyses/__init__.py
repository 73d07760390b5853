"""Analyses: ratios of a company beside its sector, comparable companies, and the figures of a market (X11).

For a credit analyst and an investor; the analyses of a company and of a market are modules of a plan, in credits.
`entreprise`, `comparables` and `marche` answer the routes, the last two from `shards/analyses`; `pages` has the page of
the analysis of a company. `answers` has the objects of the API, `tools` the tools of assistants.
"""
