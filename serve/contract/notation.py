"""Numbers and dates as French and English write them. Pure.

>>> whole_number(12_345, "en"), whole_number(12_345, "fr"), date("2026-11-01", "fr")
('12,345', '12\u202f345', '1er novembre 2026')
"""

from typing import Final

from shards.codec.bands import INSEE

THIN: Final = "\u202f"  # narrow no-break space, between the thousands of a French number

_MONTHS: Final = {
    "fr": ("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
           "octobre", "novembre", "décembre"),
    "en": ("January", "February", "March", "April", "May", "June", "July", "August", "September",
           "October", "November", "December"),
}  # fmt: skip
_SHORT_MONTHS: Final = {
    "fr": ("janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.",
           "nov.", "déc."),
    "en": tuple(month[:3] for month in _MONTHS["en"]),
}  # fmt: skip


def localise(digits: str, lang: str) -> str:
    """Convert a number from English separators to the separators of `lang`.

    >>> localise("1,234.5", "fr")
    '1\u202f234,5'
    """
    return digits.replace(",", THIN).replace(".", ",") if lang == "fr" else digits


def whole_number(value: int, lang: str) -> str:
    """A whole number with separators between thousands."""
    return localise(f"{value:,}", lang)


def open_band(value: int, lang: str) -> str:
    """The name of a band without an upper bound: `10,000 and more`."""
    return f"{whole_number(value, lang)} {'et plus' if lang == 'fr' else 'and more'}"


def percent(number: str, lang: str) -> str:
    """A formatted number with its percent sign.

    >>> percent("<1", "en"), percent("9,1", "fr")
    ('<1%', '9,1\u202f%')
    """
    return f"{number}{THIN}%" if lang == "fr" else f"{number}%"


def is_plural(count: int, lang: str) -> bool:
    """Whether the noun after a count is plural.

    >>> is_plural(0, "en"), is_plural(0, "fr"), is_plural(2, "fr")
    (True, False, True)
    """
    return count > 1 or (count == 0 and lang == "en")


def date(text: str, lang: str) -> str:
    """A date in words, for a sentence: a day, a month or a year (C8).

    >>> date("2024-09", "en"), date("2022", "fr")
    ('September 2024', '2022')
    """
    year, month, day = _parts(text)
    if not month:
        return year
    day_text = "1er" if lang == "fr" and day == 1 else day
    return " ".join(str(part) for part in (day_text, _MONTHS[lang][month - 1], year) if part)


def short_date(text: str, lang: str) -> str:
    """A short date for a table; a text that is not a date is returned unchanged.

    >>> short_date("1998-02-01", "fr"), short_date("1998-02", "en"), short_date("1998-13", "en")
    ('1 févr. 1998', 'Feb 1998', '1998-13')
    """
    year, month, day = _parts(text)
    if not month:
        return text
    return " ".join(str(part) for part in (day, _SHORT_MONTHS[lang][month - 1], year) if part)


def _parts(text: str) -> tuple[str, int, int]:
    """The year, the month and the day of a date; a missing month or day is 0."""
    year, _, month_and_day = text.partition("-")
    month, _, day = month_and_day.partition("-")
    is_month = month.isdigit() and 1 <= int(month) <= 12
    return year, int(month) if is_month else 0, int(day) if is_month and day.isdigit() else 0


def headcount_band(code: str | None, lang: str) -> str | None:
    """A headcount band of INSEE in words; an unknown code is returned unchanged.

    Codes are those of `tranche_effectif` (§2.1), the same in all countries.

    >>> headcount_band("12", "en"), headcount_band("53", "fr"), headcount_band("00", "fr")
    ('20–49', '10\u202f000 et plus', '0')
    """
    if code is None or code not in INSEE:
        return code
    least, most = INSEE[code]
    if most is None:
        return open_band(least, lang)
    low = whole_number(least, lang)
    return low if least == most else f"{low}–{whole_number(most, lang)}"
