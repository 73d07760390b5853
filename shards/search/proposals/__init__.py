"""Proposals: what completes a text that somebody types, what may have been meant, what is like a company.

`suggestions` finds companies and words for the beginning of a name, `spelling` the texts that are
spelt like a `q` that finds nothing. Both ask the compiled search (`shards/kernel/text/`). `comparables`
finds the companies of a sub-sector that are nearest to one in size and place.
"""
