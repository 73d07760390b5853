"""Analyses of companies (X11): a market, and companies comparable to one.

`market` makes the figures of the companies of a search, and reads those that the build has stored for all companies
(`market.json`, FORMAT.md §14). `comparables` finds companies of a sector with a turnover near that of one.
"""
