"""Analyses of companies: a market, its stored figures, and comparable companies.

Capabilities of `shards`: the core of exact search knows none of them."""
