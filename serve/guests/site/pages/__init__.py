"""The pages: a file per page or pair of pages, each a function from a `PageRequest` to a `Response`.

Read `explorer` (search) and `record` (one company) first: they show results of the API. `login` and `account` are for
people with an account; `documents` has what is only read. The rest by subject: `home`, `suggestions` (what completes
the search), `export_form` (its file), `analysis` (a company's ratios), `lists/` (lists that are matched), `members` and
`one_time_links` (people), `payment`.
"""
