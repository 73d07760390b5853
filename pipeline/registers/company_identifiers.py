"""Rows that are no company: headers, totals, comments and trailers, told by their identifier or their name.

Every reader holds its rows to this, those of companies and those of filed accounts. An identifier in the form of its
country (`seeds/pays.csv`) and an LEI are always sound, but for zeros, and for a count beside the name of a total.
Another is not wrong for its form alone: registers have exceptions to their own. It is wrong if it is a word.

A trailer may have an identifier in its form, `99999999` and a count. There are companies named `3` and `1664`, so a
number as a name is no mark by itself: the identifier is a filler, or the row is the last, has no place and no day, and
its number is the count.
"""

import re
import unicodedata
from functools import cache
from itertools import pairwise
from typing import Final

import polars as pl

from pipeline import seeds
from seeds import TABLES

NO_COMPANY: Final = "ligne qui n'est pas une société"
_LEI: Final = "[0-9A-Z]{18}[0-9]{2}"  # identifies an entity that no register has numbered
# A sum in the languages of the registers.
_TOTAL: Final = (
    "(?:sub|grand )?(?:total|totaux|totals|totale|totaal|totalt|totali|summe|summa|suma|somme|gesamt|insgesamt|kokku"
    "|kopā|iš viso|razem|ogółem|celkem|spolu|ukupno|yhteensä|i alt|sum|общо)"
)
_TOTAL_NAME: Final = rf"(?i)^{_TOTAL}(?: [^a-z]*)?:?$"
# No digit, or a sum behind the zeros that fill up a number and before its amount. A code of 20 letters may be a LEI.
_WORD: Final = rf"^[^0-9]{{1,19}}$|^[^0-9]{{21,}}$|^0*(?i:{_TOTAL})(?:$|[^0-9A-Za-z])"
_SMALL: Final = r"\p{Ll}{2}"  # of a word in small letters, too
_ZEROS: Final = r"^[^1-9\p{L}]*$"
_COUNT: Final = (
    r"^0*[0-9]{1,7}$"  # beside a total's name, also where zeros fill it up to an identifier
)
_LETTER: Final = r"\p{L}"
# A record of the file about itself, beside a filler: `TRAILER`, `END OF FILE`, `4 records`.
_TRAILER: Final = r"(?i)^[0-9. ]*(?:trailer|footer|records?|rows?|lines?|eof|end(?: of (?:file|data))?|count)[^\p{L}]*$"
_FILLER: Final = rf"^(?:{'|'.join(rf'{n}{{5,}}' for n in range(10))})$"  # one digit alone
_COUNT_OF_ROWS: Final = "^(?:[1-9][0-9]{0,8}|0[0-9]{4,11})$"  # filled up with zeros, or not
_NEAR: Final = 1  # rows: a trailer counts itself, the header too, or neither
_ANCHORS: Final = str.maketrans("", "", "^$")


def is_no_company(iso2: pl.Expr, identifier: pl.Expr, name: pl.Expr) -> pl.Expr:
    """Whether a row has a word or zeros in the place of an identifier, or a total's name; null without either."""
    is_word = identifier.str.contains(f"{_WORD}|{_SMALL}")
    is_total = name.str.contains(_TOTAL_NAME).fill_null(False)
    has_form = pl.concat_str(iso2, pl.lit(" "), identifier).str.contains(_forms())
    is_number = identifier.str.contains(_ZEROS) | (is_total & identifier.str.contains(_COUNT))
    return ((is_word | is_total) & ~has_form) | is_number


def is_trailer(identifier: pl.Expr, name: pl.Expr, row: pl.Expr, is_end: pl.Expr) -> pl.Expr:
    """Whether a row has a filler, or the count of rows, in the place of an identifier or a name.

    Args:
        row: the number of the row in its file.
        is_end: whether it is the last of a table, and has nothing else that a company has.
    """
    fillers = [column.str.contains(_FILLER) for column in (identifier, name)]
    counts = [
        column.str.contains(_COUNT_OF_ROWS)
        & ((column.cast(pl.Int64, strict=False) - row).abs() <= _NEAR)
        for column in (identifier, name)
    ]
    is_number = fillers[0] | (is_end & (counts[1] | (fillers[1] & counts[0])))
    is_said = fillers[0] & name.str.contains(_TRAILER)
    return ((~name.str.contains(_LETTER) & is_number) | is_said).fill_null(False)


def is_identifier(iso2: str, text: str) -> bool:
    """Whether the identifier of one company may be that: the rule of `is_no_company`, for a reader of documents.

    >>> is_identifier("LU", "B60814"), is_identifier("UK", "SOCIETES"), is_identifier("NO", "000000000")
    (True, False, False)
    """
    if not any(letter.isalpha() or letter in "123456789" for letter in text):
        return False
    if re.search(_forms(), f"{iso2} {text}"):
        return True
    is_small = pairwise(unicodedata.category(letter) == "Ll" for letter in text)
    return (True, True) not in is_small and not re.search(_WORD, text)


@cache
def _forms() -> str:
    """A pattern of `XX identifier`, in all forms of `seeds/pays.csv`, whose anchors go."""
    rows = seeds.read_table(TABLES / "pays.csv", ("iso2", "id_regex"))
    forms = [f"{row['iso2']} (?:{row['id_regex'].translate(_ANCHORS)})" for row in rows]
    return rf"^(?:{'|'.join(forms)}|[A-Z]{{2}} {_LEI})$"
