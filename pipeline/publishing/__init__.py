"""Build a generation: normalise every country, write its shard, publish them together.

Read `build` first (the whole job), then `country` (one country in five steps, from canonical rows to a shard). `plan`
says what will be done, also as the forecast of `--dry-run`; `receipts` has the task of a country, and says which
countries need not be built again; `shard_input` makes the input of the writer of shards; `groups` is a document beside
the shards.
"""
