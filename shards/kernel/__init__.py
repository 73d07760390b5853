"""The search engine, compiled: a question goes in, a total and the rows of a page come out, for all shards.

`search.py` is the entry. For each shard it counts the matches (`conditions.py`; `text/` for `q`; `codes.py`
for columns of codes; `generate.py` where rows must be enumerated), then it reads or looks for the first rows
(`head.py`) and joins them (`merge.py`); `results/` makes records and figures of them. `find.py`,
`row_sets.py` and `rows.py` are what these need. `types.py` has the records, `memory.py` puts them into C
memory. The modules are Python that runs uncompiled, too; a `.pxd` file is the C header of the module of
that name.
"""
