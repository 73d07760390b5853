"""The search of the explorer: its form, the filters with their counts, what restricts it, its rows.

Read `search_form` first: every link of a search is made there. `form_fields` has the fields, with the counts of
`filter_options`; `typed_numbers` reads numbers as people type them. `chips` words what restricts the search,
`relaxed_search` leaves one of that out. `facet_bars` and `result_table` show what it finds.
"""
