"""A table of an export: its columns, and its rows as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from serve.contract.export_tables import ExportColumn


@dataclass(frozen=True, slots=True)
class ExportTable:
    """A table that is written once.

    Attributes:
        name: of its file, without extension.
        rows: read as they are written; each a JSON object of exactly the columns, in their order.
        licences: the attributions of the data, for the formats that have a place for them.
    """

    name: str
    columns: Sequence[ExportColumn]
    rows: Iterator[bytes]
    licences: str
