"""The tables of an export (X7): companies, and statement lines, as csv, ndjson or parquet.

Start at `table_files`, which reads the rows and puts two tables into one file. `table` is what both are; `csv_table`,
`ndjson_table` and `parquet_table` write it. The columns are declared in serve/contract/export_tables.py.
"""
