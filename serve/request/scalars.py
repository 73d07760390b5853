"""Numbers and dates of requests. Pure.

Numbers are read as JSON and HTTP clients print them, in ASCII: `1000000`, `1e6`, `-0.5`. Refused are texts that a
reader could take for another number, or for none: a decimal comma (`1,5`), `1_000`, `0x10`, digits of other scripts,
`NaN` and infinities (contract B22), and numbers too large for a float.

Bounds are dates in the one notation of the API; dates of lists have any (extension X19). A notation of a list that may
mean two days means their year: `03/04/2010`, but not `13/04/2010` and `03.04.2010`. A time behind a day is left out.
Names of months are data (`seeds/mois.csv`); one that means two months, as `listopad` does, means none.
"""

import math
import re
from calendar import monthrange
from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache
from typing import Final, NamedTuple

from serve.contract import errors, seed_tables
from serve.contract.text import Text
from shards.codec.folding import fold
from shards.search.written_numbers import plain_text

_YEAR: Final = r"(?P<year>[12]\d{3})"
_MONTH: Final = r"(?P<month>0?[1-9]|1[0-2])"
_DAY: Final = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_WORD: Final = r"(?P<word>[^\W\d_]{3,})"
_YEAR_FIRST: Final = rf"{_YEAR}(?:\.| m\.|\.? gada)?"
_ROMAN: Final = r"(?P<word>[ivxIVX]{1,4})"
_NOTATIONS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_YEAR}(?:([-/. ]){_MONTH}(?:\2{_DAY})?)?",
        rf"{_YEAR}(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])",
        rf"{_DAY}\. ?{_MONTH}\. ?{_YEAR}",  # with points the day is first everywhere
        rf"{_MONTH}[-/. ]{_YEAR}",
        rf"{_DAY}([-/. ]) ?{_ROMAN}\2 ?{_YEAR}",
        rf"(?:le |the |el |am |den )?(?:{_DAY}(?:st|nd|rd|th|er|re|º|°|\.)?[- ])?(?:de |of )?"
        rf"{_WORD}[. ,-]+(?:de )?{_YEAR}(?: ?[rgг]\.?)?",
        rf"{_WORD}\.? {_DAY}(?:st|nd|rd|th)?,? {_YEAR}",
        rf"{_YEAR_FIRST} {_DAY}\. {_WORD}",
        rf"{_YEAR_FIRST} {_WORD}(?: {_DAY}(?:\.| d\.)?)?",
    )
)
_TWO: Final = re.compile(r"(\d{1,2})[-/ ](\d{1,2})[-/ ]([12]\d{3})")
# 1954-02-01T00:00:00.000+01:00, 01.02.1954 00:00, 2/1/1954 12:00:00 AM
_TIME: Final = re.compile(
    r"(?:[T ]|,? (?:at |à |um )?)\d{1,2}[:.h]\d{2}(?:[:.]\d{2})?(?:[.,]\d+)?"
    r"(?: ?[ap]\.?m\.?)?(?: ?(?:z|utc|gmt|cet|cest)| ?[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
_UNKNOWN_PART: Final = re.compile(r"([12]\d{3}(?:-(?:0[1-9]|1[0-2]))?)(?:-00){1,2}")  # MySQL
# The day of a spreadsheet, from 1927 to 2064; its days are counted from 30 December 1899.
_SERIAL: Final = re.compile(r"([1-6]\d{4})(?:[.,]\d+)?")
_FIRST_DAY: Final = date(1899, 12, 30)
_BOUND: Final = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}")

_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# `50.0` is an integer in JSON Schema, and generated clients send it.
_INTEGER: Final = re.compile(r"([+-]?)([0-9]+)(?:\.0*)?")
# Python's own limit on the digits of an int made from text. A longer number is cut to that many
# digits, which is still beyond every limit; nothing else matters about it (contract B21).
_DIGITS: Final = 4_300


class NumberError(ValueError):
    """A text that is not a number or a date; `texts` say so in French and in English."""

    def __init__(self, texts: Text) -> None:
        super().__init__(texts.fr)
        self.texts = texts


def parse_decimal(text: str) -> float:
    """Parse a finite float; `-0` becomes 0. Raises NumberError.

    >>> parse_decimal("1e6"), parse_decimal("-.5")
    (1000000.0, -0.5)
    """
    if not _DECIMAL.fullmatch(text):
        shown, examples = repr(text[:100]), "1000000, 0.5, 1e6"
        raise NumberError(
            errors.text("pas_un_nombre", shown=shown, examples=examples),
        )
    number = float(text)
    if not math.isfinite(number):
        raise NumberError(
            errors.text("nombre_demesure", shown=repr(text[:100])),
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
            errors.text("pas_un_entier", shown=repr(text[:100])),
        )
    sign, digits = match.groups()
    return int(sign + (digits.lstrip("0") or "0")[:_DIGITS])


@cache
def _months() -> Mapping[str, int]:
    """The months that names mean in whatever language; 0 for a name of two months."""
    found: dict[str, set[int]] = {}
    for row in seed_tables.rows("mois.csv"):
        found.setdefault(fold(row["ecriture"]), set()).add(int(row["mois"]))
    return {word: 0 if len(months) > 1 else min(months) for word, months in found.items()}


class ListedDate(NamedTuple):
    """A date of a list.

    Attributes:
        iso: YYYY, YYYY-MM or YYYY-MM-DD.
        is_ambiguous: it may be two days, of which this is the year.
    """

    iso: str
    is_ambiguous: bool = False


def without_time(text: str) -> str:
    """A text without the time of the day at its end.

    >>> without_time("1954-02-01T00:00:00.000+01:00"), without_time("2/1/1954 12:00:00 AM"), without_time("1954-02")
    ('1954-02-01', '2/1/1954', '1954-02')
    """
    text = text.strip()
    matched = next((one for one in _TIME.finditer(text) if one.end() == len(text)), None)
    return text[: matched.start()].strip() if matched and matched.start() else text


def listed_date(text: str) -> ListedDate | None:
    """A date as people write it; None where the text is none.

    >>> listed_date("03/04/2010 00:00"), listed_date("19756")
    (ListedDate(iso='2010', is_ambiguous=True), ListedDate(iso='1954-02-01', is_ambiguous=False))
    >>> listed_date("31/02/2010"), listed_date("1954-02-00")
    (None, ListedDate(iso='1954-02', is_ambiguous=False))
    """
    text = without_time(plain_text(text))
    if iso := iso_date(text):
        return ListedDate(iso)
    if (two := _TWO.fullmatch(text)) and _day(int(two[3]), int(two[2]), int(two[1])):
        return ListedDate(two[3], is_ambiguous=True)
    for notation in _NOTATIONS:
        parts = matched.groupdict() if (matched := notation.fullmatch(text)) else {}
        if _months().get(fold(parts.get("word") or "")) == 0:
            return ListedDate(str(parts["year"]), is_ambiguous=True)
    if unknown := _UNKNOWN_PART.fullmatch(text):
        return ListedDate(unknown[1])
    if serial := _SERIAL.fullmatch(text):
        return ListedDate((_FIRST_DAY + timedelta(int(serial[1]))).isoformat())
    return None


def iso_date(text: str) -> str | None:
    """YYYY, YYYY-MM or YYYY-MM-DD; None where the text is no date, or may be two.

    >>> iso_date("13/12/1968"), iso_date("12/13/1968"), iso_date("1.2.1968"), iso_date("Dec 13, 1968")
    ('1968-12-13', '1968-12-13', '1968-02-01', '1968-12-13')
    >>> iso_date("1968"), iso_date("12/1968"), iso_date("03/04/2010"), iso_date("31/02/2010")
    ('1968', '1968-12', None, None)
    """
    text = text.strip()
    if matched := _TWO.fullmatch(text):
        first, second, year = map(int, matched.groups())
        days = {
            day for day in (_day(year, second, first), _day(year, first, second)) if day is not None
        }
        return days.pop() if len(days) == 1 else None
    for notation in _NOTATIONS:
        if matched := notation.fullmatch(text):
            parts = matched.groupdict()
            month = int(parts.get("month") or 0) or _months().get(fold(parts.get("word") or ""), 0)
            if parts.get("word") and not month:
                return None
            if parts.get("day"):
                return _day(int(parts["year"]), month, int(parts["day"]))
            return f"{parts['year']}-{month:02}" if month else str(parts["year"])
    return None


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def first_day(text: str) -> int:
    """The first day of a year, a month or a day, as yyyymmdd. Raises NumberError.

    >>> first_day("2024"), first_day("2024-06-30")
    (20240101, 20240630)
    """
    year, month, day = _parts(text)
    return 10_000 * year + 100 * (month or 1) + (day or 1)


def last_day(text: str) -> int:
    """The last day of a year, a month or a day, as yyyymmdd. Raises NumberError.

    >>> last_day("2024"), last_day("2024-02")
    (20241231, 20240229)
    """
    year, month, day = _parts(text)
    month = month or 12
    return 10_000 * year + 100 * month + (day or monthrange(year, month)[1])


def _parts(text: str) -> tuple[int, int, int]:
    """Year, month and day; those that were not given are 0."""
    year, month, day = (
        (*map(int, text.split("-")), 0, 0)[:3] if _BOUND.fullmatch(text) else (0, 0, 0)
    )
    try:
        date(year, month or 1, day or 1)
    except ValueError as error:
        shown, examples = repr(text[:100]), "2024, 2024-06, 2024-06-30"
        raise NumberError(
            errors.text("pas_une_date", shown=shown, examples=examples),
        ) from error
    return year, month, day
