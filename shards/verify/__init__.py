"""Verification of a shard against the invariants of FORMAT.md §9, slowly and independently of digests.

`invariants` runs all checks; `names` has those of the indexes of names and identifiers; `contents` decodes all
companies of the shard, which everything else is compared with.
"""
