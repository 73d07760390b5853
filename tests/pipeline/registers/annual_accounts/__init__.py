"""Annual accounts published as documents, compared with figures read by eye in the excerpts.

`filed` imports an excerpt; `test_account_import` has the rules that all sources share.
"""
