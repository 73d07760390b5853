"""Rows that are not companies: headers, totals, comments and trailers, recognised by identifier or name.

The readers of companies and of filed accounts share these rules. An identifier in the form of its country
(`seeds/pays.csv`) or an LEI is valid, with two exceptions: zeros, and a count in a row whose name is a word for a
total. An identifier in another form is not a fault by itself, because registers have exceptions. An identifier that is
a word is a fault.

A trailer is a row at the end of a file that describes the file, such as the number of its rows. The identifier of a
trailer can have the form of its country: a filler such as `99999999`, or a count. A number as a name does not prove a
trailer, because companies are named `3` and `1664`. The identifier must also be a filler, or the row must be the last,
without place and date, and contain the number of rows.
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
_LEI: Final = "[0-9A-Z]{18}[0-9]{2}"  # the identifier of an entity without a national number
# Words for a total in the languages of the registers.
_TOTAL: Final = (
    "(?:sub|grand )?(?:total|totaux|totals|totale|totaal|totalt|totali|summe|summa|suma|somme|gesamt|insgesamt|kokku"
    "|kopā|iš viso|razem|ogółem|celkem|spolu|ukupno|yhteensä|i alt|sum|общо)"
)
_TOTAL_NAME: Final = rf"(?i)^{_TOTAL}(?: [^a-z]*)?:?$"
# A text without a digit (but 20 letters can be an LEI), or a word for a total, after zeros that pad it.
_WORD: Final = rf"^[^0-9]{{1,19}}$|^[^0-9]{{21,}}$|^0*(?i:{_TOTAL})(?:$|[^0-9A-Za-z])"
_SMALL_LETTERS: Final = r"\p{Ll}{2}"  # two small letters in a row, as only words have
_ZEROS: Final = r"^[^1-9\p{L}]*$"  # neither a letter nor another digit than 0
_SHORT_NUMBER: Final = r"^0*[0-9]{1,7}$"  # zeros can pad a count to the length of an identifier
_LETTER: Final = r"\p{L}"  # any letter
# The name of a trailer whose identifier is a filler: `TRAILER`, `END OF FILE`, `4 records`.
_TRAILER_NAME: Final = (
    r"(?i)^[0-9. ]*(?:trailer|footer|records?|rows?|lines?|eof|end(?: of (?:file|data))?|count)"
    r"[^\p{L}]*$"
)
_FILLER: Final = rf"^(?:{'|'.join(rf'{n}{{5,}}' for n in range(10))})$"  # one digit, repeated
_COUNT_OF_ROWS: Final = "^(?:[1-9][0-9]{0,8}|0[0-9]{4,11})$"  # padded with zeros, or not
# The most by which a count in a trailer can differ from the number of its row: a trailer can leave itself out, or count
# the header.
_MOST_COUNT_DIFFERENCE: Final = 1
# Removes the anchors of a pattern, so that it can be a part of another.
_ANCHORS: Final = str.maketrans("", "", "^$")


def is_no_company(iso2: pl.Expr, identifier: pl.Expr, name: pl.Expr) -> pl.Expr:
    """Whether a row is not a company: its identifier is a word or zeros, or its name is a total.

    The result is null for a row without an identifier.
    """
    is_word = identifier.str.contains(f"{_WORD}|{_SMALL_LETTERS}")
    is_total = name.str.contains(_TOTAL_NAME).fill_null(False)
    has_form = pl.concat_str(iso2, pl.lit(" "), identifier).str.contains(_forms())
    is_number = identifier.str.contains(_ZEROS) | (
        is_total & identifier.str.contains(_SHORT_NUMBER)
    )
    return ((is_word | is_total) & ~has_form) | is_number


def is_trailer(identifier: pl.Expr, name: pl.Expr, row: pl.Expr, is_end: pl.Expr) -> pl.Expr:
    """Whether a row is a trailer.

    A row is a trailer if its identifier is a filler and its name has no letter, or is a word for a trailer. The last
    row is also a trailer if its name is the number of rows, or its identifier is that number and its name is a filler.

    Args:
        row: the number of the row in its file.
        is_end: whether the row is the last of a table and has neither a place nor a date.
    """
    fillers = [column.str.contains(_FILLER) for column in (identifier, name)]
    counts = [
        column.str.contains(_COUNT_OF_ROWS)
        & ((column.cast(pl.Int64, strict=False) - row).abs() <= _MOST_COUNT_DIFFERENCE)
        for column in (identifier, name)
    ]
    is_number = fillers[0] | (is_end & (counts[1] | (fillers[1] & counts[0])))
    is_named_trailer = fillers[0] & name.str.contains(_TRAILER_NAME)
    return ((~name.str.contains(_LETTER) & is_number) | is_named_trailer).fill_null(False)


def is_identifier(iso2: str, text: str) -> bool:
    """Whether `text` can identify a company: the rule of `is_no_company`, for readers of documents.

    >>> is_identifier("LU", "B60814"), is_identifier("UK", "SOCIETES"), is_identifier("NO", "000000000")
    (True, False, False)
    """
    if not any(letter.isalpha() or letter in "123456789" for letter in text):
        return False
    if re.search(_forms(), f"{iso2} {text}"):
        return True
    small_pairs = pairwise(unicodedata.category(letter) == "Ll" for letter in text)
    return (True, True) not in small_pairs and not re.search(_WORD, text)


@cache
def _forms() -> str:
    """A pattern of `XX identifier`: the code of a country, and an identifier in the form of `seeds/pays.csv`."""
    rows = seeds.read_table(TABLES / "pays.csv", ("iso2", "id_regex"))
    forms = [f"{row['iso2']} (?:{row['id_regex'].translate(_ANCHORS)})" for row in rows]
    return rf"^(?:{'|'.join(forms)}|[A-Z]{{2}} {_LEI})$"
