"""The website: what a person sees of the service in a browser.

Read `routes` first (the declaration of pages), then `page_request` (the request that a page function gets) and
`adapter` (HTTP: a request becomes a page; the surface is declared there). `render` fills the templates, `formatting`
writes numbers, dates, names and messages, `charts` has shapes to draw, `search_form` the form and the addresses of
searches. `cookies` and `sessions` say who is logged in. `page_errors` are the errors that only pages have,
`error_pages` shows all of them (X10: 503 `config`). `assets` are styles, scripts and pictures; `pages` has the paths of
the site itself.
"""
