"""How large the answer of a tool may be: a model reads all of it.

A result is there twice, as JSON and as the text of that JSON (MCP, "Structured Content"), so its
cost is both.
"""

from collections.abc import Callable
from typing import Any, Final

import orjson

LARGEST: Final = 64 * 1024  # bytes of an answer of any tool, all in
_AROUND: Final = 1_024  # of the message around a result
_LONGEST_TEXT: Final = 1_000  # characters of one value of a company


def fits(document: Any) -> bool:
    """May a result that is `document` be sent?"""
    text = orjson.dumps(document)
    return len(text) + len(orjson.dumps(text.decode())) <= LARGEST - _AROUND


def most(items: list[Any], document: Callable[[list[Any]], Any]) -> list[Any]:
    """As many of the first of `items` as make a `document` that fits."""
    while items and not fits(document(items)):
        items = items[: len(items) * 3 // 4]
    return items


def known(company: dict[str, Any]) -> dict[str, Any]:
    """What is known of a company: no nulls, and no text that is longer than a paragraph."""
    return {name: _short(value) for name, value in company.items() if value is not None}


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]}…"
    return value
