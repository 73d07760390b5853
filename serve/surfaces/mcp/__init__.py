"""MCP: the API as tools for language models (Model Context Protocol, revisions 2025-03-26 to 2026-07-28).

`operations` declares the surface and has its HTTP side. Read `endpoint` first (one message and its response), then
`tool_list`: each feature declares its tools in its module `tools`, and most are operations of the API. `pruning` is the
rule by which the object of a route and its component become the result and the output schema of a tool. `arguments`
are read by their schema, `results` are refusals and the bound of size. `protocol` reads and writes JSON-RPC and checks
the rules of the revision of a message; it imports no tool.
"""
