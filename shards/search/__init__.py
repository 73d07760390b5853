"""Search in a generation: a query goes in, an exact total and a page of rows come out.

`search` is the entrance. `columns` declares what searches compare. `reader/` opens a shard; `generation_arrays` gathers
the arrays of all shards for the compiled engine (`shards/kernel/`). `kernel_session` asks it, once `compiled_query` has
folded and split the query and `kernel_query` has written it; `record_joiner` reads the records of a page. `counts/`
counts and compares, `suggest/` completes and corrects a text and says which former name has found a company,
`matching/` finds the company of a line.

`filters` has the same conditions over one company, for builds and changes. `libzstd` is the library of the machine,
`result_page` the answer.
"""
