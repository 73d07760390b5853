"""Parquet: typed columns, zstd, and the licences of the data in the metadata of the file.

arro3 (arrow-rs) reads the rows as NDJSON, typed by the columns, and writes them in batches. The result is collected in
memory, a few hundred bytes a company at most, since arro3 panics where it cannot write to a disk.
"""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Final

from arro3.core import DataType, Field, Schema
from arro3.io import read_json, write_parquet

from serve.contract.export_tables import ColumnType
from serve.features.export.tables import ndjson_table
from serve.features.export.tables.table import ExportTable

LICENCES: Final = "licences"  # the key in the metadata of a file
# Rows that are decoded at a time.
_BATCH: Final = 1_024

_TYPES: Final[Mapping[ColumnType, DataType]] = {
    "text": DataType.utf8(),
    "integer": DataType.int64(),
    "number": DataType.float64(),
    "boolean": DataType.bool(),
    "texts": DataType.list(Field("element", DataType.utf8(), nullable=True)),
}


def write(table: ExportTable, path: Path, temporary: Path) -> None:
    """Write `table` to `path`. Raises OSError: the disk is full."""
    lines = temporary / f"{table.name}.rows"
    packed = BytesIO()
    schema = Schema([Field(one.name, _TYPES[one.type], nullable=True) for one in table.columns])
    try:
        ndjson_table.write(table, lines, temporary)
        write_parquet(
            read_json(lines, schema, batch_size=_BATCH),
            packed,
            compression="zstd(3)",
            # One entry: several would come in another order each time.
            key_value_metadata={LICENCES: table.licences},
        )
    finally:
        lines.unlink(missing_ok=True)
    path.write_bytes(packed.getbuffer())
