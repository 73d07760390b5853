"""Measurements of the search engine and of the server. RESULTS.md has today's figures and the command of each.

`python -m tests.bench` (`make bench`) is the entry: the same searches here and in three peers, DuckDB, SQLite with FTS5
and tantivy. `synth/` writes the companies, `questions/` draws the searches, `peers/` loads and asks the engines,
`compare` asks all in turn and compares each answer, `figures` and `tables` report. `guard`, which CI runs, compares
this version with an earlier one.

Other subjects are programs of their own: `http` requests a second, `export` files, `counts` distributions and
completions, `analyses/` markets beside DuckDB, `matching/` lists, `counting` the stores of quotas.
"""
