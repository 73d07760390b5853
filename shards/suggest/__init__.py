"""Suggestions: completion while somebody types, and proposals if a search returns nothing.

`suggestions` returns companies, words and towns for the beginning of a name (compiled: `completion`). If a `q` matches
nothing, `proposals` returns similar texts (compiled: `near_words`), and reads the `q` as an activity and a town.
"""
