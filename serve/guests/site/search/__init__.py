"""The search of the explorer: its form, the filters with their counts, what restricts it, its rows.

Read `search_form` first: every link of a search is made there.
"""
