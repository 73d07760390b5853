"""Every operation of the server with its guests, in the order in which documents show them."""

from typing import Final

from serve.api import operations
from serve.contract import parameters
from serve.contract.objects import bodies
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
        method="POST", account=True, body=bodies.DemandeExport, largest=json_body.LARGEST,
        refusals=[406],
    ),
)  # fmt: skip

# The answers are those of its tools; a browser sends headers of the protocol.
TOOLS: Final = Operation(
    "callTool", "/api/mcp", "mcp", "tools", "Companies", method="POST", opened=True,
    accepts=[
        "Authorization", "Content-Type", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id"
    ],
)  # fmt: skip


def _document(name: str, path: str, route: str, *media: str, opened: bool = True) -> Operation:
    return Operation(name, path, route, "document", "Documents", media=media, opened=opened)


DOCUMENTS: Final = (
    _document("readDescription", "/openapi.json", "openapi", "application/json"),
    _document("readDocumentationText", "/docs.md", "docs-markdown", "text/markdown"),
    _document("readSummary", "/llms.txt", "llms", "text/plain"),
    _document("readWhole", "/llms-full.txt", "llms-full", "text/plain"),
    # What stands beside the pages of the documentation, which are those of the website.
    _document(
        "readDocumentationFile", "/docs/{file}", "docs-file",
        "text/javascript", "text/css", "image/png", "text/html", opened=False,
    ),
)  # fmt: skip

OPERATIONS: Final = (
    *operations.OPERATIONS,
    *FILES,
    TOOLS,
    *operations.RECONCILIATION,
    *DOCUMENTS,
    *operations.CHECKS,
)
