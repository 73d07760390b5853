"""NDJSON: a JSON object a line, exactly as the API sends it."""

from pathlib import Path

from serve.features.export.tables.table import ExportTable


def write(table: ExportTable, path: Path, temporary: Path) -> None:
    """Write `table` to `path`. Raises OSError: the disk is full."""
    with path.open("wb") as file:
        for row in table.rows:
            file.write(row)
            file.write(b"\n")
