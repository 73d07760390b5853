"""Export: the companies of a search or of a list as a workbook, CSV, NDJSON or Parquet.

For a sales team and an analyst. `operations` declares the routes, `export` answers them and charges, `pages` is the
form of a page. `worker_pool` starts processes (`worker`) that write `tables` or a `workbook/`.
"""
