"""Analyses beside DuckDB: markets, companies, comparable companies (X11), figure by figure.

`__main__` is the program. `columns` writes the columns that DuckDB reads, `duckdb_figures` asks it in SQL, `ours`
asks the code that the server runs.
"""
