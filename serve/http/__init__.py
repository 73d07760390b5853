"""HTTP: the only folder, with the process that starts it, that knows aiohttp.

Read `app` first (the steps of every request), then `router` (paths), `handlers` (the few ways to serve an operation)
and `site` (what answers all other paths). `connection`, `headers`, `reply` and `body_reader` deal with sockets and
bytes. `http_request` is a request as routes see it, `compression` the encodings of a body, `static_pages` pages that
are made once.
"""
