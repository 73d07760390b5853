"""Export: the companies of a search or of a list as a workbook, CSV, NDJSON or Parquet.

For a sales team and an analyst. `operations` declares the routes, `export` answers the routes and counts the exports,
`pages` answers the form of the website. `worker_pool` starts processes (`worker`), which write `tables` or a
`workbook/`.
"""
