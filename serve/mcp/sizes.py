"""The size of a tool's response, all of which a model reads.

A result is there twice, as JSON and as the text of that JSON (MCP, "Structured Content"), so both
count.
"""

from collections.abc import Callable
from typing import Any, Final

import orjson

LARGEST: Final = 64 * 1024  # bytes of the response of any tool, in total
_AROUND: Final = 1_024  # bytes of the message around a result
_LONGEST_TEXT: Final = 1_000  # characters of one value of a company


def fits(document: Any) -> bool:
    """Is a result with this document small enough to be sent?"""
    text = orjson.dumps(document)
    return len(text) + len(orjson.dumps(text.decode())) <= LARGEST - _AROUND


def most(items: list[Any], document: Callable[[list[Any]], Any]) -> list[Any]:
    """The first of `items`, as many as make a `document` that fits."""
    while items and not fits(document(items)):
        items = items[: len(items) * 3 // 4]
    return items


def known(company: dict[str, Any]) -> dict[str, Any]:
    """The values of a company that are known: no nulls, and no text longer than a paragraph."""
    return {name: _short(value) for name, value in company.items() if value is not None}


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]}…"
    return value
