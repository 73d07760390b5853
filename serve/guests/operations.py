"""Every operation of the server with its guests, in the order in which documents show them."""

from typing import Final

from serve.api import operations
from serve.contract import parameters
from serve.contract.operation import Operation
from serve.request import json_body

_EXPORT: Final = "/api/v1/export"

FILES: Final = (
    Operation(
        "exportCompanies", _EXPORT, "export", "file", "Companies",
        account=True, head=False, parameters=parameters.EXPORT, refusals=[406],
    ),
    Operation(
        "exportCompaniesFromBody", _EXPORT, "export", "file", "Companies",
        method="POST", account=True, largest=json_body.LARGEST, refusals=[406],
    ),
)  # fmt: skip

# The answers are those of its tools; a browser sends headers of the protocol.
TOOLS: Final = Operation(
    "callTool", "/api/mcp", "mcp", "tools", "Companies", method="POST", opened=True,
    accepts=[
        "Authorization", "Content-Type", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id"
    ],
)  # fmt: skip

DOCUMENTS: Final = (
    Operation("readDescription", "/openapi.json", "openapi", "document", "Documents", opened=True),
    Operation(
        "readDocumentationText", "/docs.md", "docs-markdown", "document", "Documents", opened=True
    ),
    Operation("readSummary", "/llms.txt", "llms", "document", "Documents", opened=True),
    Operation("readWhole", "/llms-full.txt", "llms-full", "document", "Documents", opened=True),
    # What stands beside the pages of the documentation, which are those of the website.
    Operation("readDocumentationFile", "/docs/{file}", "docs-file", "document", "Documents"),
)

OPERATIONS: Final = (
    *operations.OPERATIONS,
    *FILES,
    TOOLS,
    *operations.RECONCILIATION,
    *DOCUMENTS,
    *operations.CHECKS,
)
