"""The search engine, compiled: a query goes in, a total and the rows of a page come out, for all shards.

`search.py` is the entry point. For each shard it counts the matches (`conditions.py`; `names.py` for `q`; `codes.py`
for columns of codes; `generate.py` if rows must be enumerated). Then it reads or searches the first rows (`heads.py`)
and merges the rows of all shards (`merge.py`). `records.py` joins the records of a page as JSON; `scope.py` marks and
counts all matches. `find.py`, `row_sets.py` and `rows.py` are the tools of these modules. `types.py` declares the
records and their constants; `memory.py` copies the records into C memory. The modules are Python that also runs
uncompiled. `headers.py` derives their C headers (`.pxd` files, which `setup.py` writes and git ignores).

Compiled modules of other packages use these modules: `suggest/completion.py`, `suggest/near_words.py`,
`matching/candidates.py`.

A function that has no result returns 0, which its callers ignore.

The arrays are in a mapped file, which may be damaged and may change during a read (decision 155). So a number from the
map that is used as an index or a bound is read once into a local variable, and the variable is compared with the length
of the array where it is used. No function relies on a check of another function and then reads the map again. Small
arrays that bound writes to working memory (cells, slots of a census, sizes of chunks) are copied when
`shards/search/generation_arrays.py` checks them. Numbers that are only compared or added need no check: they can give a
wrong result, but no wrong address.
"""
