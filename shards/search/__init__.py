"""Search in a generation: a query goes in, an exact total and a page of rows come out.

`search.py` is the entrance, `facets.py` counts by country and sector. `reader.py` opens a shard; `table.py`
gathers the arrays of all shards for the compiled engine (`shards/kernel/`), and `worker.py` asks it, once
`compiled_query.py` has folded and split the query. `name_lookup.py` and `id_lookup.py` are views of two
indexes of a shard. `suggestions.py` and `spelling.py` complete and correct a text, `former_names.py` says
which former name has found a company.
"""
