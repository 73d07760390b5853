"""Whether the first row of a list is a line, not headings over lines.

It is a line where one of its cells is none of a heading: a number of five digits, an e-mail address or a website, a
name with a legal form over others with one, digits written as those below (S1 2AB over S10 5QR), or a value that comes
again. A cell without digits over digits alone is a heading, whatever the others are. Pure.
"""

import re
from collections.abc import Sequence
from typing import Final

from serve.contract import seed_tables
from shards.codec.folding import fold

_JUDGED: Final = 200  # rows
_NUMBER: Final = 5  # digits
_WRITTEN: Final = 2  # digits
_SHORTEST: Final = 2  # letters of a value that comes again
_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")  # a heading may have some: CA 2022-2023
_ADDRESS: Final = re.compile(r"(?:[a-z]+://|www\.|[^\s@]+@)\S+", re.IGNORECASE)
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_DIGITS: Final = re.compile(r"\d+")


def is_line(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is a line as those below.

    >>> is_line([["Siemens AG", "80333"], ["Bosch GmbH", "70839"]]), is_line([["Firma X", "PLZ X"], ["Bosch", "70839"]])
    (True, False)
    """
    first, below = rows[0], [row for row in rows[1:_JUDGED] if row != rows[0]]
    columns = [
        (
            cell.strip(),
            [row[place].strip() for row in below if place < len(row) and row[place].strip()],
        )
        for place, cell in enumerate(first)
        if cell.strip()
    ]
    return not any(_is_title(*column) for column in columns) and any(
        _is_value(*column) for column in columns
    )


def _is_title(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell without digits is over cells that all have some, but for names of companies."""
    if not below or _DIGITS.search(cell) or not all(map(_DIGITS.search, below)):
        return False
    return not _is_name(cell, below)


def _is_value(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell is a value, by itself or by those below."""
    left = _YEAR.sub("", cell)
    digits, letters = (sum(map(len, kind.findall(left))) for kind in (_DIGITS, _LETTERS))
    if digits >= _NUMBER and digits > letters:
        return True
    if _ADDRESS.fullmatch(cell) or _comes_again(fold(cell), below):
        return True
    if digits >= _WRITTEN and _are_most(_shape(cell), below):
        return True
    return _is_name(cell, below)


def _comes_again(folded: str, below: Sequence[str]) -> bool:
    if len(folded) < _SHORTEST or folded.isdigit():
        return False
    return any(fold(one) == folded for one in below)


def _are_most(shape: str, below: Sequence[str]) -> bool:
    return bool(below) and 2 * sum(_shape(one) == shape for one in below) >= len(below)


def _shape(cell: str) -> str:
    """How letters, digits and marks follow each other; of digits alone, how many they are.

    >>> _shape("S10 5QR"), _shape("13/12/1968"), _shape("1050")
    ('a9 9a', '9/9/9', '9999')
    """
    if cell.isdigit():
        return "9" * len(cell)
    return _DIGITS.sub("9", _LETTERS.sub("a", cell))


def _is_name(cell: str, below: Sequence[str]) -> bool:
    """Whether a cell is a name with a legal form, over others with one if there are any."""
    return _has_legal_form(cell) and (not below or any(map(_has_legal_form, below)))


def _has_legal_form(cell: str) -> bool:
    """Whether a legal form of some country is in a cell, with other words."""
    words = tuple(fold(cell).split())
    return bool(words) and any(
        form.classe for form in seed_tables.name_tables().bare_name(words, "").forms
    )
