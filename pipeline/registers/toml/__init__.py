"""Declared registers: the language of the TOML files, and the reader of all of them.

Read `declaration` (the language), then `declaration_reader` and its steps in their order:
`source_file` (published CSV, Parquet, JSON and XML as text columns, `json_paths`), `main_rows` (joins and
derived columns), `entity` (one row, one company). Expressions are `sql`. `edition` finds the date of a file.

Tables of filed accounts: `filings` (which filing of a part and year counts), then `accounts_reader` (the lines of the
chart that its amounts are, and the account of every row).
"""
