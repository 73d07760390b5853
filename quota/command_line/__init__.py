"""The command line of the operator, `python -m quota`.

`commands` has a function for each command; `output` makes JSON objects and lines of text of what they return.
"""
