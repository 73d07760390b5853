"""Search in a generation: a query goes in, an exact total and a page of rows come out.

`search` is the entrance. `columns` declares what searches compare, and has the same conditions over one company, for
builds and changes. `generation_arrays` gathers the arrays of all shards for the compiled engine (`shards/kernel/`).
`kernel_query` writes a query into the memory of the engine; `kernel_session` calls it and returns a `result_page`.
`distribution` and `row_bitmap` count.

`company_numbers` finds companies by any of their numbers (E2, X5, X6), which `written_numbers` reads as people write
them.
"""
