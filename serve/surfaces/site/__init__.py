"""The website: what a person sees of the service in a browser.

Read `page_request` first (the declaration of pages, and the request that a page function gets), then `adapter` (HTTP: a
request becomes a page; the surface is declared there). `render` fills the templates, also for errors, `formatting`
writes numbers, dates, names and messages, `charts` has shapes to draw, `search_form` the form and the addresses of
searches. `cookies` and `sessions` say who is logged in. `pages` has the paths of the site itself: styles, scripts,
pictures, files for crawlers.
"""
