"""The operation of the tools for language models."""

from typing import Final

from serve.contract.feature import Feature
from serve.contract.operation import Operation
from serve.surfaces.mcp import adapter

# The answers are those of its tools; a browser sends headers of the protocol.
SURFACE: Final = Feature(
    __package__,
    (
        Operation(
            "callTool", "/api/mcp", "mcp", "tools", "Companies", adapter.respond,
            place=200, method="POST", opened=True,
            accepts=[
                "Authorization", "Content-Type", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id"
            ],
        ),
    ),
)  # fmt: skip
