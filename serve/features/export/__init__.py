"""Export: the companies of a search or of a list as a workbook, CSV, NDJSON or Parquet.

For a sales team and an analyst. Files are made by processes of their own: `worker_pool`,
`worker`, a file per sheet in `workbook/`, one per format in `tables/`. `export` is the price of a file.
"""
