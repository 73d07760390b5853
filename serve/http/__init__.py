"""HTTP: the only folder, with the process that starts it, that knows aiohttp.

Read `app` first (one function that a request passes through), then `handlers` (the table of routes and the few ways
to serve one). `export_route`, `mcp_route` and `website_route` are the HTTP side of the folders they are named after;
`connection`, `headers`, `reply` and `body_reader` deal with sockets and bytes.
"""
