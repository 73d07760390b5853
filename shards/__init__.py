"""The shard format and everything that both programs must agree on.

A shard is an immutable LMDB file with the companies of one country, sorted, with its indexes (FORMAT.md). Read
FORMAT.md and `format`, then `codec` (bytes and values), `writing` (a shard), `reader` (an open shard), `search`
(the answer to a query), `generations` (published sets of shards), `verify`. `query` is a search as a value, `kernel`
the compiled engine that answers it, `ratios` the formulas over accounts, `errors` the exceptions. `host_memory` is the
memory that is available to both programs. The commands are in README.md.

Capabilities are built on this core: `suggest`, `matching`, `analyses`, `changes`, `mirror`. The core imports no
capability, and a capability imports no other, except that a mirror checks and compares the generations that it fetches.
"""
