"""Names and words, compiled: what a text finds, completes, or may have meant.

`names.py` finds the rows of `q` for a search, `phrases.py` those of a `q` with blanks. `suggest.py` finds the companies
and the words that complete a text, `near_words.py` the words that are spelt alike. `candidates.py` finds the rows
that a line of a list may mean, by the words of `line_words.py`. The arrays are those of the search.
"""
