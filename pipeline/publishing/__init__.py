"""Build a generation: normalise every country, write its shard, publish them together.

Read `build` first (the whole job), then `country` (one country, from canonical rows to a shard; `task` is its order).
`plan` and `dry_run` say what will be done; `receipts` and `kept_countries` say what need not be done again;
`sorted_runs` and `shard_input` hold what lies between the stages and the writer of shards. `groups` makes a document
beside the shards, `diff` the changes.
"""
