"""Verification of a shard against the invariants of FORMAT.md §9, slowly and independently of digests.

`contents` decodes all companies of the shard; `invariants` lets the writer compute the shard from them again and
compares both value by value. It also checks the orders and names without the writer.
"""
