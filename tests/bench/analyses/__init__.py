"""Analyses compared with DuckDB, figure by figure: markets, companies, comparable companies (X11).

`__main__` is the program; it calls the code that the server runs. `columns` writes the columns that DuckDB reads,
`duckdb_figures` computes the figures in SQL.
"""
