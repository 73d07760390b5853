"""CSV as RFC 4180 has it: commas, CRLF, quotes where needed, names in the first line; UTF-8 with a BOM for Excel.

An absent value is an empty cell, a truth value `true` or `false`, a list its texts with `|` between them.

A text that a spreadsheet would take for a formula is guarded (`serve/contract/files.py`).
"""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from serve.contract.export_tables import ColumnType
from serve.contract.files import guard_formula
from serve.features.export.tables.table import ExportTable
from shards.codec import record

JOIN: Final = "|"


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
