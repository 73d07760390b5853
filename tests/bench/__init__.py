"""Measurements of the engine and the server, beside other programs on the same machine.

`__main__` compares searches with DuckDB, SQLite and tantivy (`questions/` draws them, `peers/` adapts
the engines, `compare` measures, `figures`, `tables`, `plot` and `growth` report). `http`, `memory`, `pages`,
`export` and `counting` are programs of their own. RESULTS.md is the history of all figures.

`synth/` writes synthetic companies, the input of a build.
"""
