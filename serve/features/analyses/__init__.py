"""Analyses: ratios of a company and its sector, comparable companies, and the figures of a market (X11).

They serve credit analysts and investors. The analyses of a company and of a market are modules of a plan and cost
credits.
`entreprise`, `comparables` and `marche` answer the routes, the last two from `shards/analyses`; `pages` has the page of
the analysis of a company. `answers` has the objects of the API, `tools` the tools of assistants.
"""
