"""HTTP. Only this folder and `serve/process` use aiohttp.

Read `app` first (the steps of every request, and the site that answers other paths), then `router` (paths) and
`handlers` (the handler of each kind of operation). `connection` and `body_reader` read from sockets; `reply` adds
headers; `compression` encodes bodies.
"""
