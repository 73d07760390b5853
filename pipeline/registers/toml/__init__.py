"""Declared registers: the language of the TOML files, and the reader of all of them.

Read `declaration` (the language), then `declaration_reader` and its steps in their order:
`source_file` (published CSV, Parquet, JSON and XML as text columns, `json_paths`), `main_rows` (joins and
derived columns), `entity` (from a row to a company). Expressions are in `sql`. `spellings` recognises codes and numbers
in the spellings of spreadsheets, and `edition` finds the date of a file.

Tables of filed accounts: `filings` (the choice of one filing for a company, year and part), then `accounts_reader`
(from the amounts of the chosen filings to lines of the chart, and the counts of all rows).
"""
