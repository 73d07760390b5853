"""The formats of an export, and the columns of its tables (extensions X7).

A table has a column per key of the wire objects, in their order: companies as `Societe` (§2.1), statement lines as
contract E5 after the country and the identifier of their company. The columns are the same whatever the plan; those
of contacts are empty without the right to them. Their types are those of the canonical schema of `pipeline`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from serve.contract import company_fields

WORKBOOK: Final = "xlsx"
CSV: Final = "csv"
NDJSON: Final = "ndjson"
PARQUET: Final = "parquet"

# The media type of each format; the first one is the default.
MEDIA_TYPES: Final[Mapping[str, str]] = {
    WORKBOOK: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    CSV: "text/csv; charset=utf-8; header=present",
    NDJSON: "application/x-ndjson",
    PARQUET: "application/vnd.apache.parquet",
}
FORMATS: Final = tuple(MEDIA_TYPES)
# Companies, statement lines and licences as one file.
ZIP: Final = "application/zip"

# What an Accept header may say for each format, the registered type first.
ACCEPTED: Final[Mapping[str, str]] = {
    **{media_type.partition(";")[0]: name for name, media_type in MEDIA_TYPES.items()},
    "application/ndjson": NDJSON,
    "application/jsonl": NDJSON,
    "application/x-parquet": PARQUET,
}

ColumnType = Literal["text", "integer", "number", "boolean", "texts"]

_TYPES: Final[Mapping[str, ColumnType]] = {
    "string": "text",  # of some dates only the year or the month is known
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "array": "texts",
}


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """A column of a table: the name of a key, and the type of its values, any of which may be null."""

    name: str
    type: ColumnType


STATEMENT_COLUMNS: Final = (
    ExportColumn("iso2", "text"),
    ExportColumn("id", "text"),
    ExportColumn("etat", "text"),
    ExportColumn("code", "text"),
    ExportColumn("libelle", "text"),
    ExportColumn("valeur", "number"),
    ExportColumn("devise", "text"),
    ExportColumn("exercice", "integer"),
    ExportColumn("ordre", "integer"),
)


@cache
def company_columns() -> Mapping[str, ExportColumn]:
    """The columns of the companies by name, in the order of `Societe`."""
    return {
        field.champ: ExportColumn(field.champ, _TYPES[field.json_type])
        for field in company_fields.fields()
    }
