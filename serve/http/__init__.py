"""HTTP: the only folder, with the process that starts it, that knows aiohttp.

Read `app` first (the steps of every request, and the site that answers paths of no operation), then `router` (paths)
and `handlers` (the few ways to serve an operation). `connection` and `body_reader` deal with sockets, `reply` with
headers, `compression` with the encodings of a body.
"""
