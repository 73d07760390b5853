"""Programs of other projects that test the API over HTTP; `.ci/judges` installs and runs them.

`openapi/`: schemathesis, redocly, spectral, generated clients, /docs in a browser. `mcp/`: the official conformance
suite and clients of the Model Context Protocol, and checkers of llms.txt.
"""
