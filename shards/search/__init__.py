"""Answering a query from shards: an exact total, and one page of rows.

Read in the order of a search: `search` (all countries), `compiled_query` (the query, folded and turned into keys),
`predicates` (the query in one shard), `planner` (which rows match), with `name_lookup`, `phrase_lookup`, `id_lookup`
for `q` and `access_paths` for filters; then `top_rows` (the first of them) and `merge` (across countries). `facets`
counts a whole search by country and sector. `reader` opens the file.
"""
