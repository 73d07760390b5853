"""Days as Excel counts them."""

from datetime import date
from typing import Final

# Day 0 as a Python ordinal. Excel counts a 29 February 1900, so its days before the next one are
# others; these few, like all before, stay text.
_EPOCH: Final = date(1899, 12, 30).toordinal()
FIRST: Final = date(1900, 3, 1)


def serial(value: str) -> int | None:
    """The number that Excel has for a day, or None where it has none (C8: `2015`, `2015-06`).

    >>> serial("2026-11-21"), serial("1864-05-04"), serial("2015")
    (46347, None, None)
    """
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return None
    # `fromisoformat` reads other spellings too, such as weeks, which are no day of contract C8.
    if day < FIRST or value[7:8] != "-":
        return None
    return day.toordinal() - _EPOCH
