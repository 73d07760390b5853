"""Verification of a shard against the invariants of FORMAT.md §9, slowly and independently of digests.

`contents` decodes all companies of the shard; `invariants` has the writer compute the shard from them again, compares
both value by value, and checks the orders and names without the writer, too.
"""
