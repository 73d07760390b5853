"""The response headers (§2.2, §4.6, contract D3, D11, F7, G7 to G10), as components (headers.csv)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from serve.contract.json_schema import Schema
from serve.contract.tables import read_rows
from serve.contract.text import Lang
from serve.surfaces.docs.schema import ref

_SCHEMAS: Final[Mapping[str, Schema]] = {
    "text": {"type": "string"},
    "count": {"type": "integer", "minimum": 0},
    "flag": {"type": "string", "enum": ["true", "false"]},
}
_ROWS: Final = read_rows(Path(__file__).with_name("headers.csv"))


def headers(lang: Lang) -> dict[str, Schema]:
    """The headers by name, with texts in `lang`."""
    return {
        row["name"]: {"description": row[lang], "schema": _SCHEMAS[row["type"]]} for row in _ROWS
    }


# Headers that go together.
METER: Final = (
    "X-Quota-Limit", "X-Quota-Used", "X-Quota-Reset", "RateLimit-Policy", "RateLimit",
)  # fmt: skip
CALLS: Final = ("X-Plafond-Resultats", *METER)
CREDITS: Final = ("X-Credits-Debites", "X-Credits-Restants")
TAGGED: Final = ("ETag", "Cache-Control", "Vary", "X-Donnees-Version")
EXPORT: Final = tuple(row["name"] for row in _ROWS if row["name"].startswith("X-Export-"))


def references(*names: str) -> dict[str, Any]:
    """References to the headers of an answer; every answer also has `X-Request-Id`."""
    return {name: ref(name, "headers") for name in ("X-Request-Id", *names)}
