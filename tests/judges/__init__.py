"""Programs of others that judge the API over HTTP: `.ci/judges`.

`openapi/`: schemathesis, redocly, spectral, generated clients, /docs in a browser. `mcp/`: the official
conformance suite and clients of the Model Context Protocol, and checkers of llms.txt.
"""
