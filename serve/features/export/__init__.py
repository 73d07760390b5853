"""Export: the companies of a search or of a list as a workbook, CSV, NDJSON or Parquet.

For a sales team and an analyst. Files are made by processes of their own (`serve/guests/files`).
"""
