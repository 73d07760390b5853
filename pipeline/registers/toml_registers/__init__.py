"""Declared registers: the language of the TOML files, and the reader of all of them.

Read `declaration` (the language), then `declaration_reader` and its steps in their order:
`source_file` (published CSV, Parquet, JSON and XML as text columns; `json_paths`), `main_rows`
(joins and derived columns), `column_mapping`, `nace_revision`, `entity` (one row, one company).
Tables of filed accounts go by `accounts_reader`: `filed_accounts` (the filings that count) and
`account_lines`. Expressions are `sql`. `failure` finds the place of an error.
"""
