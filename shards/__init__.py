"""The shard format and everything that both programs must agree on.

A shard is an immutable LMDB file with the companies of one country, sorted, with its indexes (FORMAT.md). Read
FORMAT.md and `format`, then `codec` (bytes and values), `writing` (a shard), `reader` (an open shard), `search`
(answering a query), `generations` (what is published, and how), `verify`. `query` is a search as a value, `kernel`
the compiled engine that answers it, `ratios` the formulas over accounts, `errors` what can fail. `host_memory` is the
memory that both programs may take. The commands are in README.md.

Capabilities stand on this core: `suggest`, `matching`, `analyses`, `changes`, `mirror`. The core knows none of them,
and they do not know each other, except that a mirror checks and compares what it fetches.
"""
