"""Matching: the companies that lines of a list mean, and the same as a W3C reconciliation service.

For a sales team with a list of names, and for OpenRefine. `line_list` reads the body of `rapprochement` as lines,
which `shards/matching` compares with companies; `reconciliation` is the protocol, `reconciliation_adapter` its HTTP.
`pages` takes a list as a form and `list_page` shows it: `list_file` reads its CSV as lines (`encodings` its bytes),
`xlsx_file` a workbook as CSV, and `stored_lists` keeps it. `answers` has the objects of the API, `tools` the tool of
assistants.
"""
