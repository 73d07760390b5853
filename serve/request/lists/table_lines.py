"""The rows of a list as lines to match, each under its number, as `POST /api/v1/rapprochement` takes them.

A country may be written in many ways, a date in two more than the API takes. A row that cannot be a line has an error
in its place. Pure.
"""

import re
from collections.abc import Sequence
from typing import Final

from serve.contract import errors
from serve.request import line_list
from serve.request.line_list import LineList, ListedLine
from serve.request.lists.list_file import ListFile
from serve.request.place_names import PlaceNames
from shards.codec.folding import fold

# 13/12/1968, 13.12.1968, 13-12-1968: the day first, as everywhere in Europe; and a time after a date.
_DAY_FIRST: Final = re.compile(r"(\d\d?)[/.-](\d\d?)[/.-](\d{4})")
_TIME: Final = re.compile(r"(?<=\d)[T ]\d\d:\d\d.*$")
# A text that a spreadsheet was told to leave as it is: ="00944111", '00944111
_KEPT: Final = re.compile(r"""^=?"(.*)"$|^'(.*)$""")


def lines(table: ListFile, names: PlaceNames, limit: int, country: str = "") -> LineList:
    """The lines of a table of at most 1 000 rows, whose keys are the numbers of the rows.

    Args:
        limit: candidates for each line.
        country: the code of the country of rows that name none; "" for any.

    Raises:
        ApiError: 413: there are more rows.
    """
    given = [_line(table, row, number, names, country) for number, row in enumerate(table.rows, 1)]
    asked = line_list.of_document({"lignes": given, "limite": limit}, names)
    return asked._replace(
        lines=tuple(
            _check_width(one, len(row), len(table.headings))
            for one, row in zip(asked.lines, table.rows, strict=True)
        )
    )


def _line(
    table: ListFile, row: Sequence[str], number: int, names: PlaceNames, country: str
) -> dict[str, str]:
    cells = {
        field: _KEPT.sub(r"\1\2", row[place].strip())
        for field, place in table.columns.items()
        if place < len(row)
    }
    found = {"cle": str(number), **cells}
    if found.get("pays"):
        found["pays"] = names.pays_alike.get(fold(found["pays"]), found["pays"])
    elif country:
        found["pays"] = country
    if found.get("date_creation"):
        found["date_creation"] = _date(found["date_creation"])
    return found


def _date(text: str) -> str:
    """A date as the API takes it, if it is one.

    >>> _date("13/12/1968"), _date("1968-12-13 00:00:00"), _date("1968"), _date("hier")
    ('1968-12-13', '1968-12-13', '1968', 'hier')
    """
    bare = _TIME.sub("", text)
    if found := _DAY_FIRST.fullmatch(bare):
        return f"{found[3]}-{found[2]:0>2}-{found[1]:0>2}"
    return bare


def _check_width(one: ListedLine, cells: int, headings: int) -> ListedLine:
    """The line, or an error if its row has more cells than there are columns."""
    if cells <= headings:
        return one
    why = (
        f"{cells} cellules pour {headings} colonnes : un séparateur dans une valeur sans guillemets ?",
        f"{cells} cells for {headings} columns: a separator in a value without quotation marks?",
    )
    return ListedLine(one.cle, None, errors.ligne_invalide(why))
