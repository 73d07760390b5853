"""MCP: the API as tools for language models (Model Context Protocol, revisions 2025-03-26 to 2026-07-28).

`operations` declares the surface and has its HTTP side. Read `endpoint` first (one message and its response), then
`tool_list`: each feature declares its tools in its module `tools`, and most are operations of the API. `arguments` are
read by their schema, `results` are a call and its result with the schema of that. `protocol` reads and writes JSON-RPC
and checks what the revision of a message asks for; it imports no tool.
"""
