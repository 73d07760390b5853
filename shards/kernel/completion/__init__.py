"""Completion of texts, compiled: a text goes in, companies or words come out; the arrays are those of the search.

`suggest.py` finds the companies and the words that complete a text, `near.py` the words that are spelt alike.
"""
