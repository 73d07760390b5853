"""The website: what a person sees of the service in a browser.

Read `routes` first (the table of pages), then `page_request` (what a page function gets) and the functions in `pages`.
`render` fills the templates; `search/` prepares what the explorer shows, `charts/` what is drawn. Log-in is in
`sessions`, `signing`, `cookies` and `login_throttle`, HTTP in `serve/guests/site/adapter.py`.
"""
