"""Build a generation: normalise every country, write its shard, publish them together.

Read `build` first (the whole job), then `country` (one country, from canonical rows to a shard; `task` is its order).
`plan` says what will be done, also as the forecast of `--dry-run`; `receipts` and `kept_countries` say what need not
be done again; `sorted_runs` and `shard_input` stand between the stages and the writer of shards; `groups` is a document
beside the shards.
"""
