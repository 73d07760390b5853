"""Writing a shard: from the columns and records of one country to one immutable LMDB file.

Read `writer` first: it names the steps in their order. `orders_and_codes` computes orders, ranks and top lists,
`name_index` and `phrase_index` the indexes of names and identifiers; these three are pure functions from arrays to
table entries. `code_columns` makes the columns of codes. `lmdb_writer` appends the entries to a file that gets its name
when it is complete.
"""
