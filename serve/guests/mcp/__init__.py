"""MCP: the API as tools for language models (Model Context Protocol, revisions 2025-03-26 to 2026-07-28).

Read `endpoint` first (one message and its response), then `tools` (all of them) and `operation_tool`, which runs those
that are operations of the API; `search_tools`, `company_tool` and `list_tools` shape their results. `arguments` and
`outputs` are the schemas, `protocol/` the messages. HTTP is in `adapter`. `match_tool` matches lists (X5), `results` is
a call and its result, `sizes` keeps results short.
"""
