"""Files for users, of any feature: formats, columns of tables (extensions X7), file names, guarded cells of CSV, and a
user's list that a workbook shows. Pure.

A table has a column for each key of the JSON objects, in their order: companies as `Societe` (§2.1), statement lines
as in contract E5, after the country and the identifier of the company. The columns do not depend on the plan; the
columns of contacts are empty without the right to them. Column types are those of the canonical schema of `pipeline`.

The name of an exported file has its filters and its day, so that a user can tell many files apart.

A spreadsheet reads a text that begins with `=`, `+`, `-`, `@`, a tab or a line break as a formula; some do so for the
full-width forms of these characters too. Such a text gets an apostrophe in front, as OWASP advises ("CSV Injection"). A
text with apostrophes or quotes before such a character gets one too. Some spreadsheets split a line at semicolons,
others at tabs, even inside quotes. So the text after a semicolon, a tab or a line break inside a cell is guarded in the
same way. To restore the original, remove the first apostrophe of each run of apostrophes before such a character.
Numbers are not changed.
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

# The formats of files, as the parameter `format` names them.
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
# The media type of an export of companies, statement lines and licences in one file.
ZIP: Final = "application/zip"

# The media types of Accept for each format, the registered type first.
ACCEPTED: Final[Mapping[str, str]] = {
    **{media_type.partition(";")[0]: name for name, media_type in MEDIA_TYPES.items()},
    "application/ndjson": NDJSON,
    "application/jsonl": NDJSON,
    "application/x-parquet": PARQUET,
}

# The type of the values of a column; `texts` is a list of texts.
ColumnType = Literal["text", "integer", "number", "boolean", "texts"]

# The type of a column by the JSON type of its values.
_TYPES: Final[Mapping[str, ColumnType]] = {
    "string": "text",  # of some dates only the year or the month is known
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "array": "texts",
}

_MOST_COUNTRIES: Final = 5  # in a file name; for more countries the name says `europe`
_LONGEST_PART: Final = 40  # characters of a sector, a searched text or a list in a file name
# Characters that a part of a file name does not have: they become a hyphen.
_NOT_IN_A_NAME: Final = re.compile(r"[\W_]+")

# The characters that begin a formula, for a set in a regular expression.
_FORMULA: Final = r"=+\-@\uff1d\uff0b\uff0d\uff20"
_SEPARATORS: Final = (",", ";", "\t", "|")
# By separator of the file: the places where a spreadsheet can begin a cell, even if it splits at another separator.
_BEGINNINGS: Final = {
    separator: re.compile(
        rf"^(?=['\"]*[{_FORMULA}\t\r\n])"
        rf"|(?<=[{',;'.replace(separator, '')}\t\r\n])(?=['\"]*[{_FORMULA}])"
    )
    for separator in _SEPARATORS
}
# The first characters of texts that the patterns of `_BEGINNINGS` can match. The patterns match no text with another
# first character and without separators inside, so most texts need no search.
_FIRST_CHARACTERS: Final = frozenset("'\"=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """A column of a table: the name of a key, and the type of its values. Any value may be null."""

    name: str
    type: ColumnType


# The columns of statement lines: the company, then the keys of a line (E5).
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
    """The name of an exported file: the countries if they are few, a single sector, the searched text, and the day.

    >>> file_name(Query(pays=("FR",), secteurs=("56",)), date(2026, 11, 22), ".xlsx")
    'societes-FR-restauration-2026-11-22.xlsx'
    >>> file_name(Query(q="Żabka & C°"), date(2026, 11, 22), ".xlsx")
    'societes-europe-żabka-c-2026-11-22.xlsx'
    """
    are_few = 0 < len(query.pays) <= _MOST_COUNTRIES
    parts = ["societes", *(query.pays if are_few else ("europe",))]
    if query.ids is not None:
        parts.append("liste")
    if len(query.secteurs) == 1:
        parts.append(_shorten(_sector_slugs()[query.secteurs[0]]))
    if query.q and (text := _shorten(_NOT_IN_A_NAME.sub("-", query.q.lower()).strip("-"))):
        parts.append(text)
    return "-".join([*parts, f"{day:%Y-%m-%d}"]) + ending


def list_name(name: str, day: date, ending: str) -> str:
    """The file name of a list: its name, and the day.

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
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(name, safe='')}"


def _shorten(text: str) -> str:
    """A part of a file name; if it has more than _LONGEST_PART characters, it is cut, at a hyphen if possible."""
    if len(text) <= _LONGEST_PART:
        return text
    return text[: _LONGEST_PART + 1].rpartition("-")[0] or text[:_LONGEST_PART]


def _sector_slugs() -> dict[str, str]:
    """The slug of each sector, by its NACE division."""
    return {row["nace_division"]: row["slug"] for row in seed_tables.rows("secteurs.csv")}


def guard_formula(text: str, separator: str = ",") -> str:
    """Guard a cell of a file with this separator, so that no spreadsheet reads it as a formula.

    >>> [guard_formula(text) for text in ("=1+1", "'+33", "'t Hooft", "A=1", "x;=1")]
    ["'=1+1", "''+33", "'t Hooft", 'A=1', "x;'=1"]
    """
    # Most texts cannot match the pattern, and this test is faster than a search.
    if (
        text[:1] not in _FIRST_CHARACTERS
        and ";" not in text
        and "," not in text
        and text.isprintable()
    ):
        return text
    return _BEGINNINGS[separator].sub("'", text)


class OwnLine(NamedTuple):
    """A line of a user's list, with a cell for each heading; `note` is the score of the chosen `company`."""

    cells: list[str]
    verdict: str
    note: float | None
    choice: str
    company: tuple[str, str] | None
    error: str


class OwnList(NamedTuple):
    """A user's list, to be written as a workbook.

    Attributes:
        packed: the lines as JSON, which crosses the pipe to the worker faster than separate values.
        unused: the positions of the columns that are not known fields; these columns may have numbers.
    """

    name: str
    headings: tuple[str, ...]
    packed: bytes
    unused: tuple[int, ...] = ()

    def lines(self) -> list[OwnLine]:
        """The client's lines, unpacked, in the order of the file."""
        lines = (OwnLine(*line) for line in orjson.loads(self.packed))
        # JSON has no tuples: the tuple `company` (country and identifier) was stored as a list.
        return [
            line._replace(company=(line.company[0], line.company[1]) if line.company else None)
            for line in lines
        ]
