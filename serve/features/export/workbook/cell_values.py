"""The values that Excel accepts: texts of cells, names of sheets, days, targets of links. Pure.

A cell holds at most 32 767 UTF-16 units of XML 1.0 characters (contract F8, F9). xlsxwriter cuts a
longer text and escapes other characters as `_x0001_`, which only Excel reads back; so texts are cut
and cleaned here, where the changes can be counted.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Final

LONGEST_CELL: Final = 32_767  # UTF-16 units
LONGEST_NAME: Final = 31  # UTF-16 units of a sheet's name

# Characters that XML 1.0 lacks, and controls without a meaning in a cell. Tab and line feed stay; a
# carriage return would be read back as a line feed, so it becomes one.
_CONTROLS: Final = re.compile(r"\r\n?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
# The beginnings of texts that a program could take for a formula when the cell is edited (F9).
_ACTIVE: Final = ("=", "+", "-", "@", "\t", "\n", "\r")
_NOT_IN_A_NAME: Final = re.compile(r"[\[\]:*?/\\\x00-\x1f\x7f-\x9f\ufffe\uffff]")

# Day 0 as a Python ordinal. Excel counts a 29 February 1900, which never was: earlier days have other
# numbers, and stay text like those before 1900.
_EPOCH: Final = date(1899, 12, 30).toordinal()
FIRST: Final = date(1900, 3, 1)

# Excel's own limits: links per sheet, characters per target.
MOST: Final = 65_530
LONGEST: Final = 2_079

_PAGE: Final = re.compile(
    r"https?://[A-Za-z0-9\-._~:\[\]!$&'()*+,;=%]+(?:[/?#][A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*)?"
)


def clean(text: str) -> str:
    """`text` as a cell can hold it; the same object if nothing has to change.

    >>> clean("a\\x00b\\r\\nc"), len(clean("x" * 40_000))
    ('a b\\nc', 32767)
    """
    if not text.isprintable():
        text = _CONTROLS.sub(lambda found: "\n" if found[0][0] == "\r" else " ", text)
    # xlsxwriter would take such a text for its own markup and write it unescaped.
    if text.startswith("<r>") and text.endswith("</r>"):
        text += " "
    # A character takes at most two units, so this test decides nearly every text.
    if 2 * len(text) > LONGEST_CELL:
        text = shorten(text, LONGEST_CELL)
    return text


def is_active(text: str) -> bool:
    """Could a program take `text` for a formula? Such a cell is marked as text.

    >>> is_active("=1+1"), is_active("A=1")
    (True, False)
    """
    return text.startswith(_ACTIVE)


def shorten(text: str, units: int) -> str:
    """`text` within so many UTF-16 units; an ellipsis marks a text that was cut.

    >>> shorten("Orléans", 4), shorten("🚀🚀", 3), shorten("Ψ", 1)
    ('Orl…', '🚀…', 'Ψ')
    """
    encoded = text.encode("utf-16-le")
    if len(encoded) <= 2 * units:
        return text
    # Half a surrogate pair at the end is dropped.
    return encoded[: 2 * (units - 1)].decode("utf-16-le", "ignore") + "…"


def sheet_names(wanted: Iterable[str], taken: Iterable[str] = ()) -> Iterator[str]:
    """Names of sheets close to those wanted: valid in Excel, and different regardless of case.

    >>> list(sheet_names(["FR a/b", "FR A:B", "'x'"], taken=["Intro"]))
    ['FR a_b', 'FR A_B~2', '_x_']
    """
    known = {name.casefold() for name in taken}
    for text in wanted:
        plain = _NOT_IN_A_NAME.sub("_", text)
        # Excel allows an apostrophe inside a name, not at its ends.
        plain = re.sub(r"^'|'$", "_", plain).strip() or "_"
        name, number = shorten(plain, LONGEST_NAME), 1
        while name.casefold() in known:
            number += 1
            ending = f"~{number}"
            name = shorten(plain, LONGEST_NAME - len(ending)) + ending
        known.add(name.casefold())
        yield name


def day_serial(value: str) -> int | None:
    """Excel's number of a day, or None if it has none (C8: `2015`, `2015-06`).

    >>> day_serial("2026-11-21"), day_serial("1864-05-04"), day_serial("2015")
    (46347, None, None)
    """
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return None
    # `fromisoformat` also reads other spellings, such as weeks, which contract C8 does not have.
    if day < FIRST or value[7:8] != "-":
        return None
    return day.toordinal() - _EPOCH


def link_target(name: str, cell: str = "A1") -> str:
    """The target of a link to a cell of the sheet `name`.

    >>> link_target("FR l'un")
    "internal:'FR l''un'!A1"
    """
    doubled = name.replace("'", "''")
    return f"internal:'{doubled}'!{cell}"


def is_page(url: str) -> bool:
    """Can `url` be a link: http or https, in the characters of RFC 3986, no user before the host, short enough?

    >>> is_page("https://ariregister.rik.ee/est/company/10000018"), is_page("http://a b")
    (True, False)
    """
    return len(url) <= LONGEST and _PAGE.fullmatch(url) is not None
