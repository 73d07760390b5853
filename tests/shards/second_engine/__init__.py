"""The search engine of format 5, in NumPy: a second judge of `shards/kernel/`, with other algorithms.

It answers the same `Query` over the same shards: `search.py` is the entry, `planner.py` chooses for each
shard one of the paths of `access_paths.py`, `top_rows.py` finds the first rows, `merge.py` joins them. It
goes when a format comes that it cannot read.
"""
