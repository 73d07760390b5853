"""Write one shard: a country's rows, in layout order, become one LMDB file.

Read `writer` first: it fills every table of the file. `order_index`, `name_index` and
`phrase_index` compute the indexes from plain columns; `lmdb_writer` stores tables in bulk.
"""
