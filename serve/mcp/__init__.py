"""The Model Context Protocol at /api/mcp: the read-only API as tools for language models (§4.8)."""
