"""Search in a generation: a query goes in, an exact total and a page of rows come out.

`search` is the entry point. `columns` declares the columns of a search, and tests the same conditions on one company,
for builds and changes. `generation_arrays` gathers the arrays of all shards for the compiled engine (`shards/kernel/`).
`kernel_query` writes a query into the memory of the engine; `kernel_session` calls it and returns a `result_page`.
`distribution` counts matches by value; `row_bitmap` marks all matches.

`company_numbers` finds companies by any of their numbers (E2, X5, X6). `written_numbers` reads these numbers as people
write them.
"""
