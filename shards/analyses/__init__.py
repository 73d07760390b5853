"""Analyses of companies (X11): a market, and companies comparable to a given company.

`market` computes the figures of the companies of a search, and reads the stored figures of all companies
(`market.json`, FORMAT.md §14). `comparables` finds companies of the same sector with a similar turnover.
"""
