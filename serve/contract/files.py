"""Files for readers, whichever feature writes them: their formats, the columns of their tables (extensions X7), their
names, guarded cells of CSV, a list of the reader. Pure.

A table has a column per key of the wire objects, in their order: companies as `Societe` (§2.1), statement lines as
contract E5 after the country and the identifier of their company. The columns are the same whatever the plan; those
of contacts are empty without the right to them. Their types are those of the canonical schema of `pipeline`.

The name of an exported file has its scope and its day, for people who keep many.

A spreadsheet takes a text that begins with `=`, `+`, `-`, `@`, tab or line break for a formula, and some take the
full-width forms of these characters. Such a text gets an apostrophe in front, as OWASP advises ("CSV Injection"); so
does one that has apostrophes or quotes before such a character. Spreadsheets of many countries divide a line at
semicolons, others at tabs, whatever the quotes say: what follows one inside a text, or a line break, is guarded alike.
To read the original, remove the first apostrophe wherever such ones stand there before such a character. Numbers are
never changed.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Final, Literal, NamedTuple
from urllib.parse import quote

import orjson

from serve.contract import company_fields, seed_tables
from shards.query import Query

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

# Countries that a name lists, and characters of a sector or of a searched text.
_NAMED: Final = 5
_LONGEST: Final = 40
_NOT_IN_A_NAME: Final = re.compile(r"[\W_]+")

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


def file_name(query: Query, day: date, ending: str) -> str:
    """The countries, if they are few, the sector, if it is one, the searched text, and the day.

    >>> file_name(Query(pays=("FR",), secteurs=("56",)), date(2026, 11, 22), ".xlsx")
    'societes-FR-restauration-2026-11-22.xlsx'
    >>> file_name(Query(q="Żabka & C°"), date(2026, 11, 22), ".xlsx")
    'societes-europe-żabka-c-2026-11-22.xlsx'
    """
    few = 0 < len(query.pays) <= _NAMED
    parts = ["societes", *(query.pays if few else ("europe",))]
    if query.ids is not None:
        parts.append("liste")
    if len(query.secteurs) == 1:
        parts.append(_shorten(_slugs()[query.secteurs[0]]))
    if query.q and (text := _shorten(_NOT_IN_A_NAME.sub("-", query.q.lower()).strip("-"))):
        parts.append(text)
    return "-".join([*parts, f"{day:%Y-%m-%d}"]) + ending


def list_name(name: str, day: date, ending: str) -> str:
    """The name of the file of a list, after the name that its owner gave it.

    >>> list_name("Clients Żabka 2026", date(2026, 11, 22), ".csv"), list_name("?", date(2026, 11, 22), ".csv")
    ('clients-żabka-2026-2026-11-22.csv', 'liste-2026-11-22.csv')
    """
    text = _shorten(_NOT_IN_A_NAME.sub("-", name.lower()).strip("-"))
    return f"{text or 'liste'}-{day:%Y-%m-%d}{ending}"


def attachment(name: str) -> str:
    """The value of Content-Disposition: the name in ASCII, and in full (RFC 6266, RFC 8187).

    >>> attachment("lefèvre.xlsx")
    'attachment; filename="lefevre.xlsx"; filename*=UTF-8\\'\\'lef%C3%A8vre.xlsx'
    """
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return f"attachment; filename=\"{letters}\"; filename*=UTF-8''{quote(name, safe='')}"


def _shorten(text: str) -> str:
    """`text` cut at a hyphen, if it is long."""
    if len(text) <= _LONGEST:
        return text
    return text[: _LONGEST + 1].rpartition("-")[0] or text[:_LONGEST]


def _slugs() -> dict[str, str]:
    return {row["nace_division"]: row["slug"] for row in seed_tables.rows("secteurs.csv")}


def guard_formula(text: str, separator: str = ",") -> str:
    """A text that no spreadsheet takes for a formula, in a file with this separator.

    >>> [guard_formula(text) for text in ("=1+1", "'+33", "'t Hooft", "A=1", "x;=1")]
    ["'=1+1", "''+33", "'t Hooft", 'A=1', "x;'=1"]
    """
    if text[:1] not in _FIRST and ";" not in text and "," not in text and text.isprintable():
        return text
    return _BEGINNINGS[separator].sub("'", text)


class OwnLine(NamedTuple):
    """A line of a reader's list; `cells` are as many as it has headings, `company` is a country and an identifier."""

    cells: list[str]
    verdict: str
    note: float | None
    choice: str
    company: tuple[str, str] | None
    error: str


class OwnList(NamedTuple):
    """A reader's list whose workbook is made.

    Attributes:
        packed: its lines as JSON, which cross the pipe faster than a hundred thousand values.
        unused: the places of the columns in which no field was recognised, which may be of numbers.
    """

    name: str
    headings: tuple[str, ...]
    packed: bytes
    unused: tuple[int, ...] = ()

    def lines(self) -> list[OwnLine]:
        """The lines, in their order."""
        lines = (OwnLine(*line) for line in orjson.loads(self.packed))
        return [
            line._replace(company=(line.company[0], line.company[1]) if line.company else None)
            for line in lines
        ]
