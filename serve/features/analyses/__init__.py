"""Analyses: ratios of a company beside its sector, comparable companies, and the figures of a market.

For a credit analyst and an investor; the analyses of a company and of a market are modules of a plan, in credits.
"""
