"""The search engine, compiled: a question goes in, a total and the rows of a page come out, for all shards.

`search.py` is the entry. For each shard it counts the matches (`conditions.py`; `names.py` for `q`; `codes.py` for
columns of codes; `generate.py` where rows must be enumerated), then it reads or looks for the first rows (`heads.py`)
and joins them (`merge.py`). `records.py` joins the records of a page as JSON, `scope.py` marks and counts all matches.
`find.py`, `row_sets.py` and `rows.py` are what these need. `types.py` has the records and their constants;
`memory.py` puts the records into C memory. The modules are Python that runs uncompiled, too; `headers.py` makes their C
headers (`.pxd` files, which `setup.py` writes and git ignores).

Compiled modules of a capability are beside it (`suggest/completion.py`, `suggest/near_words.py`,
`matching/candidates.py`) and use these.

Arrays are a mapped file that may be damaged, and may change while it is read (decision 155). So a number from the map
that addresses or bounds something is read once into a local variable, and that variable is compared with the length of
the array there, at its use: what another function has checked is read again by nobody. Small arrays by which working
memory is written (cells, slots of a census, sizes of chunks) are copied when `shards/search/generation_arrays.py`
checks them. Numbers that are only compared or added up need no check: they make a wrong answer, never a wrong address.
"""
