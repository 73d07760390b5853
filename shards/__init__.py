"""Sorted shards: immutable files that hold a country, its orders and its indexes. See FORMAT.md."""
