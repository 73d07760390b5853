"""The rows of a list as lines to match, each under its number, as `POST /api/v1/rapprochement` takes them.

A country may be written in many ways. A date that may mean two days means what the other dates of its column mean. A
row that cannot be a line has an error in its place. Pure.
"""

import re
from collections.abc import Sequence
from typing import Final

from serve.contract import errors
from serve.contract.parameters import MOST_LINES
from serve.features.matching import line_list
from serve.features.matching.line_list import LineList, ListedLine
from serve.features.matching.list_file import ListFile
from serve.request.place_names import PlaceNames
from serve.request.scalars import without_time

# 03/04/2010: two days, unless the column tells which one.
_TWO_NUMBERS: Final = re.compile(r"(\d\d?)[/ -](\d\d?)[/ -](\d{4})")
_LAST_MONTH: Final = 12
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
    if len(table.rows) > MOST_LINES:
        raise errors.trop_de_lignes(len(table.rows), MOST_LINES)
    month_first = _is_month_first(table)
    given = [
        _line(table, row, number, names, country, month_first=month_first)
        for number, row in enumerate(table.rows, 1)
    ]
    asked = line_list.of_document({"lignes": given, "limite": limit}, names)
    return asked._replace(
        lines=tuple(
            _check_width(one, len(row), len(table.headings))
            for one, row in zip(asked.lines, table.rows, strict=True)
        )
    )


def _line(
    table: ListFile,
    row: Sequence[str],
    number: int,
    names: PlaceNames,
    country: str,
    *,
    month_first: bool | None,
) -> dict[str, str]:
    cells = {
        field: _KEPT.sub(r"\1\2", row[place].strip())
        for field, place in table.columns.items()
        if place < len(row)
    }
    values = {"cle": str(number), **cells}
    if country and not values.get("pays"):
        values["pays"] = country
    given_date = without_time(values.get("date_creation", ""))
    if month_first is not None and (two := _TWO_NUMBERS.fullmatch(given_date)):
        day, month = (two[2], two[1]) if month_first else (two[1], two[2])
        values["date_creation"] = f"{two[3]}-{month:0>2}-{day:0>2}"
    return values


def _is_month_first(table: ListFile) -> bool | None:
    """Whether the dates of a list have the month first; None where they tell both, or nothing."""
    place = table.columns.get("date_creation")
    told = set()
    for row in table.rows:
        if place is not None and place < len(row):
            cell = _KEPT.sub(r"\1\2", row[place].strip())
            if two := _TWO_NUMBERS.fullmatch(without_time(cell)):
                told |= {False} if int(two[1]) > _LAST_MONTH else set()
                told |= {True} if int(two[2]) > _LAST_MONTH else set()
    return told.pop() if len(told) == 1 else None


def _check_width(line: ListedLine, cells: int, headings: int) -> ListedLine:
    """The line, or an error if its row has more cells than there are columns."""
    if cells <= headings:
        return line
    why = errors.why("trop_de_cellules", cells=cells, headings=headings)
    return ListedLine(line.cle, None, errors.ligne_invalide(why))
