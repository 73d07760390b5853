"""Schemas and operations of the matching of lists, as parts of the document.

`match_shapes` has the body and the answers of `/rapprochement`; `reconciliation` has the service of that name, its
operations included.
"""
