"""Build a generation: normalise every country, write its shard, publish them together.

Read `build` first (the whole job), then `country` (one country, from canonical rows to a shard). `plan` and `dry_run`
say what will be done; `reuse`, `resume` and `kept_countries` say what need not be done again; `workdir`, `sorted_runs`
and `shard_input` hold what lies between the stages. `reference_lists`, `country_sources` and `groups` make the
documents beside the shards, `diff` says what has changed.
"""
