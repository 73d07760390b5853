"""The registers that a generation is made of: licences, files and their dates (X9 of the extensions).

An import writes `sources.json` to the folder of its tables, with entries by the path of a table. A build copies the
entries into the generation, by country, where the server reads them. The time of an import is in these files and in no
table, so the same files give the same tables at any time of import.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final, Literal

import orjson

from shards.generations.manifest import make_entry

SOURCES: Final = "sources.json"
COMPANIES: Final = "companies"  # the name of the table of companies

# The origin of the date of a file: the file itself, its name, the operator, or unknown. The time at which a file was
# copied is not its date.
DateOrigin = Literal["contenu", "nom", "indiquee", "inconnue"]
# Older imports wrote this origin, and as the date the time of the copy. Such a date is read as unknown.
_COPIED: Final = "modification"


@dataclass(frozen=True, slots=True)
class RegisterFile:
    """A published file that an import read.

    Attributes:
        date: ISO 8601, to the day, else to the month or the year; None if unknown.
        octets: its size in bytes; `blake3` is its digest in hexadecimal.
    """

    nom: str
    date: str | None
    origine_date: DateOrigin
    octets: int
    blake3: str


@dataclass(frozen=True, slots=True)
class RegisterImport:
    """One import of a register; the names of the attributes are those of the JSON.

    Attributes:
        source: the name of the register in `python -m pipeline import`.
        table: the table that it writes: `companies` or `comptes`.
        adresse: the address where its files are published; "" if they have no fixed address.
        attribution: the attribution that the licence requires, in French; `attribution_en` in English.
        complement: the countries whose register this import only completes, `*` for all.
        importe: the time of the import (ISO 8601, UTC).
        lignes: the rows in the table; in a generation the rows of one country.
    """

    source: str
    table: str
    registre: str
    adresse: str
    licence: str
    licence_adresse: str
    attribution: str
    attribution_en: str
    complement: tuple[str, ...]
    fichiers: tuple[RegisterFile, ...]
    importe: str
    lignes: int

    @property
    def date(self) -> str | None:
        """The date of the edition: the oldest date of its files; None if no file has a date."""
        return min((file.date for file in self.fichiers if file.date), default=None)

    def completes(self, iso2: str) -> bool:
        """Whether this import only completes the register of a country."""
        return iso2 in self.complement or "*" in self.complement


# By the path of the table in an input folder, by country in a generation.
Imports = Mapping[str, Sequence[RegisterImport]]


def country_date(imports: Sequence[RegisterImport], iso2: str) -> str | None:
    """The oldest date of the files with the companies of a country; None if no date is known.

    A source that only completes the register is ignored, unless there is no other source.
    """
    registers = [register for register in imports if register.table == COMPANIES]
    registers = [register for register in registers if not register.completes(iso2)] or registers
    return min((register.date for register in registers if register.date), default=None)


def country_dates(generation: Path) -> dict[str, str | None]:
    """`country_date` of each country of a generation; empty if its sources cannot be read."""
    try:
        imports = load((generation / SOURCES).read_bytes())
    except (OSError, ValueError):
        return {}
    return {iso2: country_date(registers, iso2) for iso2, registers in imports.items()}


def dump(imports: Imports) -> bytes:
    """The bytes of a `sources.json`; equal imports give equal bytes, whatever their order."""
    document = {
        key: [asdict(register) for register in sorted(imports[key], key=_sort_key)]
        for key in sorted(imports)
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def load(packed: bytes) -> dict[str, tuple[RegisterImport, ...]]:
    """The imports that these bytes encode.

    Raises:
        ValueError: the bytes are not the content of a `sources.json`.
    """
    try:
        document: dict[str, Any] = orjson.loads(packed)
        return {key: tuple(map(_make_import, entries)) for key, entries in document.items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no sources of registers: {error}") from error


def _make_import(entry: Mapping[str, Any]) -> RegisterImport:
    """The import that a JSON object describes."""
    return make_entry(
        RegisterImport, {**entry, "fichiers": tuple(map(_make_file, entry["fichiers"]))}
    )


def _make_file(entry: Mapping[str, Any]) -> RegisterFile:
    """The file that a JSON object describes; its date must be valid."""
    if entry["origine_date"] == _COPIED:  # the time of a copy is not the date of the file
        entry = {**entry, "date": None, "origine_date": "inconnue"}
    file = make_entry(RegisterFile, entry)
    if file.date is not None:
        # `fromisoformat` reads complete days only, so a month or a year is completed to its first day.
        date.fromisoformat(file.date + "0001-01-01"[len(file.date) :])
    return file


def _sort_key(register: RegisterImport) -> tuple[str, str, str]:
    """The sort key of imports; `repr` makes the order total, so that equal imports give equal bytes."""
    return register.source, register.importe, repr(register)
