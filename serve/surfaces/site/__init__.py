"""The website: the service as pages for people.

Read `page_request` first (the declaration of pages, and the request that a page function gets), then `adapter` (a
request over HTTP becomes a page; it declares the surface). `render` fills the templates, also for errors. `formatting`
writes numbers, dates, names and messages. `charts` computes shapes to draw. `search_form` has the form and the
addresses of searches. `cookies` and `sessions` identify the person who is logged in. `pages` has the files of the site
itself: styles, scripts, pictures, files for crawlers.
"""
