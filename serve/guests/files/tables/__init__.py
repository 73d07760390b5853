"""The tables of an export (X7): companies, and statement lines, as csv, ndjson or parquet.

Start at `table_files`, which reads the rows and puts two tables into one file. Each of the other files writes a
table in one format. The columns are declared in serve/contract/export_tables.py.
"""
