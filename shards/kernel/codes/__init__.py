"""Conditions on columns of codes: state, form, town, postcode, total assets, date of creation, activity.

`allowed_rows.py` finds the codes that a question allows in a shard; `coded_rows.py` tests rows by them.
"""
