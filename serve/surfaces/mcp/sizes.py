"""The size of a tool's response, all of which a model reads.

A result is there twice, as JSON and as the text of that JSON (MCP, "Structured Content"), so both
count.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

LARGEST: Final = 64 * 1024  # bytes of the response of any tool, in total
AROUND: Final = 1_024  # bytes of the message around a result
_LONGEST_TEXT: Final = 1_000  # characters of one value of a company
_LENGTHS: Final = (_LONGEST_TEXT, 200, 50, 10)  # characters of a text, items of a list


def fits(document: Any, room: int = 0) -> bool:
    """Is a result with this document small enough to be sent, and `room` bytes more?"""
    return size(document) + room <= LARGEST - AROUND


def size(document: Any) -> int:
    """The bytes that a document takes in a response."""
    text = orjson.dumps(document)
    return len(text) + len(orjson.dumps(text.decode()))


def longest_fitting(items: list[Any], document: Callable[[list[Any]], Any]) -> list[Any]:
    """The first of `items`, as many as make a `document` that fits."""
    while items and not fits(document(items)):
        items = items[: len(items) * 3 // 4]
    return items


def shorten_to_fit(value: Any, room: int) -> Any:
    """A value, cut no further than it must be to take at most `room` bytes in a response."""
    for longest in _LENGTHS:
        shown = shorten(value, longest)
        if size(shown) <= room:
            return shown
    raise ValueError(f"{size(shown)} bytes are left of {size(value)}, {room} are allowed")


def shorten(value: Any, longest: int) -> Any:
    """A value with its texts cut at `longest` characters and its lists at as many items; what was cut says so."""
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]}…"
    if isinstance(value, Mapping):
        return {name: shorten(part, longest) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        more = len(value) - longest
        shown = [shorten(part, longest) for part in value[:longest]]
        return shown if more <= 0 else [*shown, f"… and {more} more"]
    return value


def known_values(company: dict[str, Any]) -> dict[str, Any]:
    """The values of a company that are known: no nulls, and no text longer than a paragraph."""
    return {name: _shorten_text(value) for name, value in company.items() if value is not None}


def _shorten_text(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]}…"
    return value


def in_words(document: Mapping[str, Any]) -> dict[str, Any]:
    """An object without nulls, and without the code of a reason: a model reads its words."""
    return {
        name: value for name, value in known_values(dict(document)).items() if name != "motif_code"
    }
