"""The registers that a generation is made of: licences, files and their dates (X9 of the extensions).

An import writes `sources.json` beside its tables, by the path of the table. A build carries the entries into the
generation, by country; the server reads them there. The time of an import is in these files and in no table, so the
same files give the same tables whenever they are imported.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final, Literal

import orjson

from shards.generations.manifest import make_entry

SOURCES: Final = "sources.json"
COMPANIES: Final = "companies"  # a table

# How the date of a file is known: from the file itself, from its name, as the operator said; or it is not known.
# The time at which a file was copied is no date of it.
DateOrigin = Literal["contenu", "nom", "indiquee", "inconnue"]
_COPIED: Final = "modification"  # an origin of older imports: the time of the copy


@dataclass(frozen=True, slots=True)
class RegisterFile:
    """A published file that an import read.

    Attributes:
        date: ISO 8601, to the day or, where no more is known, to the month or the year; None if unknown.
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
        source: its name in `python -m pipeline import`.
        table: what it gives: `companies` or `comptes`.
        adresse: where its files are published; "" where they have no fixed address.
        attribution: the words that the licence demands, in French; `attribution_en` in English.
        complement: the countries whose own register it only completes, `*` for all.
        importe: the time of the import (ISO 8601, UTC).
        lignes: the rows in the table; in a generation those of one country.
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
        """The date of the edition: the oldest of its files; None if no file tells one."""
        return min((file.date for file in self.fichiers if file.date), default=None)

    def completes(self, iso2: str) -> bool:
        """Whether it only completes the register of a country."""
        return iso2 in self.complement or "*" in self.complement


# By the path of the table in an input folder, by country in a generation.
Imports = Mapping[str, Sequence[RegisterImport]]


def country_date(imports: Sequence[RegisterImport], iso2: str) -> str | None:
    """The oldest date among the files of the companies of a country; None where none is known.

    A source that completes another does not count beside it.
    """
    own = [one for one in imports if one.table == COMPANIES]
    own = [one for one in own if not one.completes(iso2)] or own
    return min((one.date for one in own if one.date), default=None)


def country_dates(generation: Path) -> dict[str, str | None]:
    """`country_date` of each country of a generation; none where its folder has no sources that can be read."""
    try:
        imports = load((generation / SOURCES).read_bytes())
    except (OSError, ValueError):
        return {}
    return {iso2: country_date(known, iso2) for iso2, known in imports.items()}


def dump(imports: Imports) -> bytes:
    """The bytes of a `sources.json`; equal imports give equal bytes, whatever their order."""
    document = {
        key: [asdict(one) for one in sorted(imports[key], key=_place)] for key in sorted(imports)
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def load(packed: bytes) -> dict[str, tuple[RegisterImport, ...]]:
    """The imports that these bytes encode.

    Raises:
        ValueError: the bytes are no `sources.json`.
    """
    try:
        document: dict[str, Any] = orjson.loads(packed)
        return {key: tuple(map(_import, entries)) for key, entries in document.items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no sources of registers: {error}") from error


def _import(entry: Mapping[str, Any]) -> RegisterImport:
    return make_entry(RegisterImport, {**entry, "fichiers": tuple(map(_file, entry["fichiers"]))})


def _file(entry: Mapping[str, Any]) -> RegisterFile:
    if entry["origine_date"] == _COPIED:
        entry = {**entry, "date": None, "origine_date": "inconnue"}
    file = make_entry(RegisterFile, entry)
    if file.date is not None:
        date.fromisoformat(file.date + "0001-01-01"[len(file.date) :])
    return file


def _place(register: RegisterImport) -> tuple[str, str, str]:
    return register.source, register.importe, repr(register)
