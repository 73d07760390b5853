"""The website: what a person sees of the service in a browser.

Read `routes` first (the table of pages), then `page_request` (what a page function gets) and the functions in `pages`.
`render` fills the templates; `search_form`, `facet_bars`, `filter_options`, `result_table` and `chart` prepare what
the pages draw. Log-in is in `sessions`, `signing`, `cookies` and `login_throttle`, HTTP in
`serve/http/website_route.py`.
"""
