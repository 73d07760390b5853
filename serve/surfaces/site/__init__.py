"""The website: what a person sees of the service in a browser.

Read `routes` first (the table of pages), then `page_request` (what a page function gets) and the functions in `pages`.
`render` fills the templates; `search/` prepares what the explorer shows, `charts/` what is drawn. Log-in is in
`sessions`, `signing`, `cookies` and `login_throttle`, HTTP in `serve/surfaces/site/adapter.py`. `languages` finds the
language and the form of an answer, `formatting` writes numbers and dates, `facet_counts` counts what filters offer,
`record/` has the parts of a company's page. `errors` are shown by `error_pages` (X10: 503 `config`). `assets` are
styles, scripts and pictures; `crawlers` is what programs ask every site for.
"""
