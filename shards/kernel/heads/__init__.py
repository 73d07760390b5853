"""Heads: the first rows of one shard that match, in an order; their number is known before.

Where the conditions are a stretch of the very order, or the build has listed the rows, `stored_heads.py` reads them.
Else `head.py`, the entry, walks the order or ranks all matches. `heap.py` ranks.
"""
