"""One open shard: its companies, columns, orders and indexes, where they lie in the mapped file.

Read `shard_file` (the values of the file by table and key), then `shard` (what they are). `lookups`
answers from the indexes of identifiers and of words. `lmdb_pages` reads the pages of the file, each
number of which is checked.
"""
