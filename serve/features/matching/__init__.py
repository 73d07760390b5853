"""Matching: the companies that lines of a list mean, and the same as a W3C reconciliation service.

For a sales team with a list of names, and for OpenRefine.
"""
