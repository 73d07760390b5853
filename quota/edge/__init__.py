"""Edges: hosts that grant calls by themselves, from blocks of calls that a central store lends.

Only `quota/open_store.py` imports this folder; everything else sees a `Store`. Read `leases.py`
(the rules, as functions of one transaction), then `edge_store.py` (the store around them).
"""
