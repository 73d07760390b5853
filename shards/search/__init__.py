"""Search in a generation: a query goes in, an exact total and a page of rows come out.

`search.py` is the entrance. `columns.py` declares what searches compare. `reader.py` opens a shard;
`generation_arrays.py` gathers the arrays of all shards for the compiled engine (`shards/kernel/`), and
`kernel_session.py` asks it, once `compiled_query.py` has folded and split the query. `name_lookup.py` and
`id_lookup.py` are views of two indexes of a shard. `counts/` counts and compares, `suggest/` completes and
corrects a text and says which former name has found a company, `matching/` finds the company of a line.
"""
