"""MCP: the API as tools for language models (Model Context Protocol, revisions 2025-03-26 to 2026-07-28).

Read `endpoint` first (one message and its response), then `tool_list`: each feature declares its tools in its module
`tools`. `operation_tool` runs those that are operations of the API. `arguments` and `outputs` are the schemas,
`protocol/` the messages. HTTP is in `adapter`; `results` is a call and its result, `sizes` keeps results short;
`operations` declares the surface.
"""
