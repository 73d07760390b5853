"""MCP: the API as tools for language models (Model Context Protocol, revisions 2025-03-26 to 2026-07-28).

`operations` declares the surface and handles HTTP. Read `endpoint` first (a message and its response), then
`tool_list`: each feature declares its tools in its module `tools`, and most tools are operations of the API. `pruning`
derives the result and the output schema of a tool from the object of its route. `arguments` reads arguments by their
schema. `results` writes refusals and limits the size of results. `protocol` reads and writes JSON-RPC and checks the
rules of the revision of a message; it imports no tool.
"""
