"""Declared registers: the language of the TOML files, and the reader of all of them.

Read `declaration` (the language; `declaration_file` reads it), then `declaration_reader` and its steps in their order:
`source_file` (published CSV, Parquet, JSON and XML as text columns, `json_paths`), `main_rows` (joins and
derived columns), `column_mapping`, `nace_revision`, `entity` (one row, one company). `filed_accounts/` has the steps of
tables of accounts. Expressions are `sql`. `edition` finds the date of a file, `failure` the place of an error.
"""
