"""Exports over HTTP: what the tests of them share."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from openpyxl import load_workbook

from tests.serve.client import Customer, Reply, Served
from tests.serve.features.export.workbook.workbooks import rows

PATH = "/api/v1/export"
JSON = {"Content-Type": "application/json"}


def get(served: Served, customer: Customer, **params: str) -> Reply:
    return served.ask(PATH, headers=customer.headers, params=params)


def post(served: Served, customer: Customer, body: bytes, path: str = PATH) -> Reply:
    return served.ask(path, "POST", {**customer.headers, **JSON}, body=body)


def listed(reply: Reply, sheet: str = "Liste") -> list[dict[str, Any]]:
    """The rows of the list in the workbook of an answer."""
    assert reply.status == 200, reply.body
    return rows(load_workbook(BytesIO(reply.body))[sheet])


def exports(served: Served, customer: Customer) -> int:
    """The exports that count this month, those under way included."""
    return served.usage(customer).exports.used


def left_behind(folder: Path) -> Iterator[Path]:
    """The files in the spool of a server whose state is in `folder`."""
    return (path for path in (folder / "exports").rglob("*") if path.is_file())
