"""Conversions between values and the bytes of a shard. Pure functions: nothing here opens a file.

Read `record`, `cells` and `folding` first, then `sort_keys` and `row_sets`, the two encodings that search depends on.
`strings` (lists of texts, sorting and look-up) and `arrays` are the tools below them. The other modules encode one kind
of value each: `codes` (columns of small numbers, and hashes of LEI and VAT numbers), `bands` (intervals).
"""
