"""CSV as RFC 4180 has it: commas, CRLF, quotes where needed, names in the first line; UTF-8 with a BOM for Excel.

An absent value is an empty cell, a truth value `true` or `false`, a list its texts with `|` between them.

A spreadsheet takes a text that begins with `=`, `+`, `-`, `@`, tab or line break for a formula, and some take the
full-width forms of these characters. Such a text gets an apostrophe in front, as OWASP advises ("CSV Injection"); so
does one that has apostrophes or quotes before such a character. Spreadsheets of many countries divide a line at
semicolons, others at tabs, whatever the quotes say: what follows one inside a text, or a line break, is guarded alike.
To read the original, remove the first apostrophe wherever such ones stand there before such a character. Numbers are
never changed.
"""

import csv
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from serve.contract.export_tables import ColumnType
from serve.features.export.tables.table import ExportTable
from shards.codec import record

JOIN: Final = "|"

_FORMULA: Final = r"=+\-@\uff1d\uff0b\uff0d\uff20"
_SEPARATORS: Final = (",", ";", "\t", "|")
# By the separator of a file, where a program that takes another one may begin a cell.
_BEGINNINGS: Final = {
    own: re.compile(
        rf"^(?=['\"]*[{_FORMULA}\t\r\n])"
        rf"|(?<=[{',;'.replace(own, '')}\t\r\n])(?=['\"]*[{_FORMULA}])"
    )
    for own in _SEPARATORS
}
# The first characters of the texts that match there; most texts have another one.
_FIRST: Final = frozenset("'\"=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def write(table: ExportTable, path: Path, temporary: Path) -> None:
    """Write `table` to `path`. Raises OSError: the disk is full."""
    cells = [_CELLS.get(column.type) for column in table.columns]
    changed = [(place, cell) for place, cell in enumerate(cells) if cell is not None]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        lines = csv.writer(file, lineterminator="\r\n")
        lines.writerow([column.name for column in table.columns])
        for row in table.rows:
            values = list(record.parse(row).values())
            for place, cell in changed:
                if values[place] is not None:
                    values[place] = cell(values[place])
            lines.writerow(values)


def guard_formula(text: str, separator: str = ",") -> str:
    """A text that no spreadsheet takes for a formula, in a file with this separator.

    >>> [guard_formula(text) for text in ("=1+1", "'+33", "'t Hooft", "A=1", "x;=1")]
    ["'=1+1", "''+33", "'t Hooft", 'A=1', "x;'=1"]
    """
    if text[:1] not in _FIRST and ";" not in text and "," not in text and text.isprintable():
        return text
    return _BEGINNINGS[separator].sub("'", text)


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _texts(values: list[str]) -> str:
    return guard_formula(JOIN.join(values))


# Values of the other types are written as they are.
_CELLS: Final[Mapping[ColumnType, Callable[[Any], str]]] = {
    "text": guard_formula,
    "boolean": _truth,
    "texts": _texts,
}
