"""Analyses: the ratios of a company beside its sector, a market in figures, and comparable companies (X11).

For somebody who values companies or sizes a market; the first two are modules with prices of their own. `entreprise`,
`marche` and `comparables` answer the routes, with the figures of `shards/analyses`; `pages` has the page of an
analysis. `answers` has the objects of the API, `tools` the tools of assistants.
"""
