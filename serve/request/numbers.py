"""Numbers and dates of a query string, as JSON and HTTP clients print them, in ASCII.

`1000000`, `1e6`, `-0.5`. Refused are texts that a reader could take for another number, or for none: a decimal comma
(`1,5`), `1_000`, `0x10`, digits of other scripts, `NaN` and infinities (contract B22), and numbers too large for a
float.
"""

import datetime
import math
import re
from calendar import monthrange
from typing import Final

from serve.contract import errors

_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# `50.0` is an integer in JSON Schema, and generated clients send it.
_INTEGER: Final = re.compile(r"([+-]?)([0-9]+)(?:\.0*)?")
_DATE: Final = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}")
# Python's own limit on the digits of an int made from text. A longer number is cut to that many
# digits, which is still beyond every limit; nothing else matters about it (contract B21).
_DIGITS: Final = 4_300


class NumberError(ValueError):
    """A text that is not a number or a date; `texts` say so in French and in English."""

    def __init__(self, texts: errors.Texts) -> None:
        super().__init__(texts[0])
        self.texts = texts


def parse_decimal(text: str) -> float:
    """Parse a finite float; `-0` becomes 0. Raises NumberError.

    >>> parse_decimal("1e6"), parse_decimal("-.5")
    (1000000.0, -0.5)
    """
    if not _DECIMAL.fullmatch(text):
        shown, examples = repr(text[:100]), "1000000, 0.5, 1e6"
        raise NumberError(
            errors.why("pas_un_nombre", shown=shown, examples=examples),
        )
    number = float(text)
    if not math.isfinite(number):
        raise NumberError(
            errors.why("nombre_demesure", shown=repr(text[:100])),
        )
    return number + 0.0


def parse_integer(text: str) -> int:
    """Parse an integer of any size. Raises NumberError.

    >>> parse_integer("0050.0"), parse_integer("-3")
    (50, -3)
    """
    match = _INTEGER.fullmatch(text)
    if not match:
        raise NumberError(
            errors.why("pas_un_entier", shown=repr(text[:100])),
        )
    sign, digits = match.groups()
    return int(sign + (digits.lstrip("0") or "0")[:_DIGITS])


def first_day(text: str) -> int:
    """The first day of a year, a month or a day, as yyyymmdd. Raises NumberError.

    >>> first_day("2024"), first_day("2024-06-30")
    (20240101, 20240630)
    """
    year, month, day = _date(text)
    return 10_000 * year + 100 * (month or 1) + (day or 1)


def last_day(text: str) -> int:
    """The last day of a year, a month or a day, as yyyymmdd. Raises NumberError.

    >>> last_day("2024"), last_day("2024-02")
    (20241231, 20240229)
    """
    year, month, day = _date(text)
    month = month or 12
    return 10_000 * year + 100 * month + (day or monthrange(year, month)[1])


def _date(text: str) -> tuple[int, int, int]:
    """Year, month and day; those that were not given are 0."""
    year, month, day = (
        (*map(int, text.split("-")), 0, 0)[:3] if _DATE.fullmatch(text) else (0, 0, 0)
    )
    try:
        datetime.date(year, month or 1, day or 1)
    except ValueError as error:
        shown, examples = repr(text[:100]), "2024, 2024-06, 2024-06-30"
        raise NumberError(
            errors.why("pas_une_date", shown=shown, examples=examples),
        ) from error
    return year, month, day
