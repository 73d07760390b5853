"""Proposals: what completes a text that somebody types, and what may have been meant.

`suggestions` finds companies and words for the beginning of a name (compiled: `completion`), `proposals` the texts that
are spelt like a `q` that finds nothing (compiled: `near_words`), and reads such a `q` as an activity and a town.
"""
