"""Helpers for tests of exports over HTTP."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from openpyxl import load_workbook

from tests.serve.client import Customer, Reply, Server
from tests.serve.features.export.workbook.workbooks import sheet_rows

EXPORT_PATH = "/api/v1/export"
JSON_HEADER = {"Content-Type": "application/json"}


def get_export(server: Server, customer: Customer, **params: str) -> Reply:
    """Export the companies of a search."""
    return server.ask(EXPORT_PATH, headers=customer.headers, params=params)


def post_json(server: Server, customer: Customer, body: bytes, path: str = EXPORT_PATH) -> Reply:
    """Post a JSON body as a customer; by default, the body of an export."""
    return server.ask(path, "POST", {**customer.headers, **JSON_HEADER}, body=body)


def list_rows(reply: Reply, sheet: str = "Liste") -> list[dict[str, Any]]:
    """The rows of the list in the workbook of a response."""
    assert reply.status == 200, reply.body
    return sheet_rows(load_workbook(BytesIO(reply.body))[sheet])


def export_count(server: Server, customer: Customer) -> int:
    """The number of exports of this month, including those in progress."""
    return server.usage(customer).exports.used


def spool_files(folder: Path) -> Iterator[Path]:
    """The files in the spool of a server with this state folder."""
    return (path for path in (folder / "exports").rglob("*") if path.is_file())
