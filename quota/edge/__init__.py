"""Edges: hosts that grant calls by themselves, from blocks that a central store lends them.

Only `quota/open_store.py` imports this folder; everything else sees a `Store`. Read `leases.py`
(the rules, as functions of one transaction), then `edge_store.py` (the store around them).
"""
