"""Writing a shard: from the columns and records of one country to one immutable LMDB file.

Read `writer` first: it has the steps in their order. `orders_and_codes` computes orders, ranks, top lists and the
columns of codes; `name_index` computes the indexes of names and identifiers. Both are pure functions from arrays to
table entries. `lmdb_writer` appends the entries to a file, which gets its final name when it is complete.
"""
