"""One open shard: its companies, columns, orders and indexes, in place in the mapped file.

Read `shard_file` first (the values of the file by table and key), then `shard` (their meaning). `lookups` reads the
indexes of identifiers and of words. `lmdb_pages` reads the pages of the file, and checks each number in them.
"""
