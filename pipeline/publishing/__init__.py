"""Build a generation: process each country, write its shard, publish all shards together.

Read `build` first (the whole job), then `country` (one country in five steps, from canonical rows to a shard). `plan`
creates one task per country, and the forecast of `--dry-run`. `receipts` defines the task, and finds the countries
that need not be built again. `shard_input` makes the input of the shard writer. `groups` writes the file of the groups
of companies, which belongs to no country.
"""
