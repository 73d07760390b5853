"""Numbers and dates of requests. Pure.

Numbers are in ASCII, as JSON and HTTP clients print them: `1000000`, `1e6`, `-0.5`. Ambiguous spellings are refused: a
decimal comma (`1,5`), `1_000`, `0x10`, digits of other scripts, `NaN` and infinities (contract B22). Numbers too large
for a float are refused too. People write numbers differently in forms; `plain_number` converts their spelling to the
API's.

Bounds are dates in the notation of the API. Dates of lists may have other notations (extension X19). A date of a list
that can mean two days counts as its year: `03/04/2010`, but not `13/04/2010` or `03.04.2010`. A time after a day is
ignored. Names of months are data (`seeds/mois.csv`); a name of two months, such as `listopad`, is ambiguous too.
"""

import math
import re
from calendar import monthrange
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple

from serve.contract import errors, seed_tables
from serve.contract.text import Text
from shards.codec.folding import fold
from shards.search.written_numbers import plain_text

# Parts of the notations of a date.
_YEAR: Final = r"(?P<year>[12]\d{3})"
_MONTH: Final = r"(?P<month>0?[1-9]|1[0-2])"
_DAY: Final = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_WORD: Final = r"(?P<word>[^\W\d_]{3,})"
_YEAR_FIRST: Final = rf"{_YEAR}(?:\.| m\.|\.? gada)?"
_ROMAN: Final = r"(?P<word>[ivxIVX]{1,4})"
# The notations of a date with a clear order of day and month; `word` is a month, by its name or in Roman numerals.
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
# Two numbers that are a day and a month in either order, then a year.
_DAY_OR_MONTH_FIRST: Final = re.compile(r"(\d{1,2})[-/ ](\d{1,2})[-/ ]([12]\d{3})")
# A time of day after a date: 1954-02-01T00:00:00.000+01:00, 01.02.1954 00:00, 2/1/1954 12:00:00 AM
_TIME: Final = re.compile(
    r"(?:[T ]|,? (?:at |à |um )?)\d{1,2}[:.h]\d{2}(?:[:.]\d{2})?(?:[.,]\d+)?"
    r"(?: ?[ap]\.?m\.?)?(?: ?(?:z|utc|gmt|cet|cest)| ?[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
# A date with `00` for an unknown month or day.
_UNKNOWN_PART: Final = re.compile(r"([12]\d{3}(?:-(?:0[1-9]|1[0-2]))?)(?:-00){1,2}")  # MySQL
# A date of a spreadsheet, from 1927 to 2064: the number of days since 30 December 1899.
_SERIAL: Final = re.compile(r"([1-6]\d{4})(?:[.,]\d+)?")
_SERIAL_START: Final = date(1899, 12, 30)  # day 0
# A bound: a year, a month or a day.
_BOUND: Final = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}")

_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# Accepts `50.0`, which is an integer in JSON Schema, and which generated clients send.
_INTEGER: Final = re.compile(r"([+-]?)([0-9]+)(?:\.0*)?")
# Python's limit on the digits of an int in a text. A longer number is cut to this length, which is still above every
# limit of a parameter (contract B21).
_MOST_DIGITS: Final = 4_300

# Numbers as people type them: digits, then a unit as a power of ten.
_TYPED: Final = re.compile(r"(?P<digits>[+-]?[0-9][0-9.,]*)(?P<unit>[a-z]*)")
_SPACES: Final = re.compile(r"[\s'’_€]+")  # between thousands, and the sign of the currency
_MINUS: Final = "\N{MINUS SIGN}"  # as pages show negative amounts
# The power of ten of each unit.
_UNITS: Final[Mapping[str, int]] = MappingProxyType({
    "": 0, "eur": 0, "euro": 0, "euros": 0, "k": 3, "mille": 3, "keur": 3, "m": 6, "mio": 6, "mn": 6,
    "million": 6, "millions": 6, "meur": 6, "md": 9, "mds": 9, "mrd": 9, "bn": 9, "b": 9, "milliard": 9,
    "milliards": 9,
})  # fmt: skip
# The power of ten of words that differ between the languages.
_UNITS_BY_LANG: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType({
    "fr": {"billion": 12, "billions": 12}, "en": {"billion": 9, "billions": 9, "trillion": 12},
})  # fmt: skip
# A whole number with a separator of thousands.
_THOUSANDS: Final = re.compile(r"[+-]?[0-9]{1,3}([.,][0-9]{3})+")


class NumberError(ValueError):
    """A text that is not a number or a date; `texts` is the message."""

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
    return number + 0.0  # -0.0 + 0.0 is 0.0


def plain_number(text: str, lang: str, *, is_whole: bool = False) -> str:
    """Convert a number as people type it (`1 000 000`, `1,5 M€`, `250k`) to the spelling of the API (contract B22).

    Any other text is returned unchanged, so that the error of the API can repeat it; so is a number with decimals if
    `is_whole`. A single comma before three digits separates thousands in English and decimals in French.

    >>> [plain_number(text, "fr") for text in ("1 000 000", "1,5 M€", "1,000", "2.500.000,50", "1e6", "beaucoup")]
    ['1000000', '1500000', '1', '2500000.5', '1e6', 'beaucoup']
    >>> [plain_number(text, "en") for text in ("1,000", "250k", "\N{MINUS SIGN}5 €", "£5M")]
    ['1000', '250000', '-5', '£5M']
    """
    typed = text.strip().replace(_MINUS, "-")
    try:
        parse_decimal(typed)
    except NumberError:
        pass
    else:
        return typed
    units = {**_UNITS, **_UNITS_BY_LANG[lang]}
    match = _TYPED.fullmatch(_SPACES.sub("", typed).lower())
    unit_power = None if match is None else units.get(match["unit"])
    if match is None or unit_power is None:
        return text
    digits = _plain_digits(match["digits"], lang)
    if digits is None:
        return text
    number = Decimal(digits).scaleb(unit_power)
    whole = number.to_integral_value()
    if number == whole:
        return f"{whole:f}"
    return text if is_whole else f"{number.normalize():f}"


def _plain_digits(digits: str, lang: str) -> str | None:
    """The digits with a decimal point and without separators of thousands; None if they are ambiguous."""
    separators = {separator for separator in ".," if separator in digits}
    last_separator = max(digits.rfind("."), digits.rfind(","))
    if len(separators) == 2:
        whole_part, decimals = digits[:last_separator], digits[last_separator + 1 :]
        return (
            re.sub(r"[.,]", "", whole_part) + "." + decimals
            if digits.count(digits[last_separator]) == 1
            else None
        )
    separator = separators.pop() if separators else ""
    is_grouped = (
        digits.count(separator) > 1 or (separator == "," and lang == "en") if separator else False
    )
    if is_grouped and _THOUSANDS.fullmatch(digits):
        return digits.replace(separator, "")
    return digits.replace(",", ".") if digits.count(separator or " ") <= 1 else None


def parse_integer(text: str) -> int:
    """Parse an integer. A number of more than _MOST_DIGITS digits is cut, because it is above every limit anyway.

    Raises NumberError.

    >>> parse_integer("0050.0"), parse_integer("-3")
    (50, -3)
    """
    match = _INTEGER.fullmatch(text)
    if not match:
        raise NumberError(
            errors.text("pas_un_entier", shown=repr(text[:100])),
        )
    sign, digits = match.groups()
    return int(sign + (digits.lstrip("0") or "0")[:_MOST_DIGITS])


@cache
def _months() -> Mapping[str, int]:
    """The number of the month by its name in any language; 0 for a name of two months."""
    months_by_word: dict[str, set[int]] = {}
    for row in seed_tables.rows("mois.csv"):
        months_by_word.setdefault(fold(row["ecriture"]), set()).add(int(row["mois"]))
    return {word: 0 if len(months) > 1 else min(months) for word, months in months_by_word.items()}


class ListedDate(NamedTuple):
    """A date of a list.

    Attributes:
        iso: YYYY, YYYY-MM or YYYY-MM-DD.
        is_ambiguous: the text can mean two days, so `iso` is the year.
    """

    iso: str
    is_ambiguous: bool = False


def strip_time(text: str) -> str:
    """Remove a time of day from the end of a text.

    >>> strip_time("1954-02-01T00:00:00.000+01:00"), strip_time("2/1/1954 12:00:00 AM"), strip_time("1954-02")
    ('1954-02-01', '2/1/1954', '1954-02')
    """
    text = text.strip()
    time = next((match for match in _TIME.finditer(text) if match.end() == len(text)), None)
    return text[: time.start()].strip() if time and time.start() else text


def listed_date(text: str) -> ListedDate | None:
    """A date as people write it; None if the text is not a date.

    >>> listed_date("03/04/2010 00:00"), listed_date("19756")
    (ListedDate(iso='2010', is_ambiguous=True), ListedDate(iso='1954-02-01', is_ambiguous=False))
    >>> listed_date("31/02/2010"), listed_date("1954-02-00")
    (None, ListedDate(iso='1954-02', is_ambiguous=False))
    """
    text = strip_time(plain_text(text))
    if iso := iso_date(text):
        return ListedDate(iso)
    if (day_and_month := _DAY_OR_MONTH_FIRST.fullmatch(text)) and _iso_day(
        int(day_and_month[3]), int(day_and_month[2]), int(day_and_month[1])
    ):
        return ListedDate(day_and_month[3], is_ambiguous=True)
    for notation in _NOTATIONS:
        parts = matched.groupdict() if (matched := notation.fullmatch(text)) else {}
        # A word with the number 0 is the name of two months, in different languages, so only the year is clear.
        if _months().get(fold(parts.get("word") or "")) == 0:
            return ListedDate(str(parts["year"]), is_ambiguous=True)
    if unknown := _UNKNOWN_PART.fullmatch(text):
        return ListedDate(unknown[1])
    if serial := _SERIAL.fullmatch(text):
        return ListedDate((_SERIAL_START + timedelta(int(serial[1]))).isoformat())
    return None


def iso_date(text: str) -> str | None:
    """A date as YYYY, YYYY-MM or YYYY-MM-DD; None if the text is not a date, or can mean two days.

    >>> iso_date("13/12/1968"), iso_date("12/13/1968"), iso_date("1.2.1968"), iso_date("Dec 13, 1968")
    ('1968-12-13', '1968-12-13', '1968-02-01', '1968-12-13')
    >>> iso_date("1968"), iso_date("12/1968"), iso_date("03/04/2010"), iso_date("31/02/2010")
    ('1968', '1968-12', None, None)
    """
    text = text.strip()
    if matched := _DAY_OR_MONTH_FIRST.fullmatch(text):
        first_number, second_number, year = map(int, matched.groups())
        days = {
            day
            for day in (
                _iso_day(year, second_number, first_number),
                _iso_day(year, first_number, second_number),
            )
            if day is not None
        }
        return days.pop() if len(days) == 1 else None
    for notation in _NOTATIONS:
        if matched := notation.fullmatch(text):
            parts = matched.groupdict()
            month = int(parts.get("month") or 0) or _months().get(fold(parts.get("word") or ""), 0)
            if parts.get("word") and not month:
                return None
            if parts.get("day"):
                return _iso_day(int(parts["year"]), month, int(parts["day"]))
            return f"{parts['year']}-{month:02}" if month else str(parts["year"])
    return None


def _iso_day(year: int, month: int, day: int) -> str | None:
    """A day as YYYY-MM-DD; None if there is no such day."""
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def first_day(text: str) -> int:
    """The first day of a year, a month or a day, as yyyymmdd. Raises NumberError.

    >>> first_day("2024"), first_day("2024-06-30")
    (20240101, 20240630)
    """
    year, month, day = _date_parts(text)
    return 10_000 * year + 100 * (month or 1) + (day or 1)


def last_day(text: str) -> int:
    """The last day of a year, a month or a day, as yyyymmdd. Raises NumberError.

    >>> last_day("2024"), last_day("2024-02")
    (20241231, 20240229)
    """
    year, month, day = _date_parts(text)
    month = month or 12
    return 10_000 * year + 100 * month + (day or monthrange(year, month)[1])


def _date_parts(text: str) -> tuple[int, int, int]:
    """The year, the month and the day of `2024`, `2024-06` or `2024-06-30`; a missing month or day is 0.

    Raises:
        NumberError: the text is not a date.
    """
    year, month, day = (
        (*map(int, text.split("-")), 0, 0)[:3] if _BOUND.fullmatch(text) else (0, 0, 0)
    )
    # A text of another form gives the year 0, which `date` refuses as it refuses an impossible day.
    try:
        date(year, month or 1, day or 1)
    except ValueError as error:
        shown, examples = repr(text[:100]), "2024, 2024-06, 2024-06-30"
        raise NumberError(
            errors.text("pas_une_date", shown=shown, examples=examples),
        ) from error
    return year, month, day
