"""Measurements of the search engine and of the server. RESULTS.md has the newest figures and their commands.

`python -m tests.bench` (`make bench`) runs the same searches here and in three peers: DuckDB, SQLite with FTS5 and
tantivy. `synth/` writes the companies, `questions/` draws the searches, `peers/` loads and queries the engines,
`compare` runs each search on one engine after another and compares the answers, `figures` and `tables` report. `guard`,
which CI runs, compares this version with an earlier version.

Other subjects have their own programs: `http` requests per second, `export` files, `counts` distributions and
completions, `analyses/` markets, also by DuckDB, `matching/` lists, `counting` the stores of quotas.
"""
