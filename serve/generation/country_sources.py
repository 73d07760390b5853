"""The sources of the companies that are served, by country: registers, licences, dates of files, known fields (X9).

They are read from `sources.json` and `quality.json` of a generation, once when it is opened. The age of the data is
everywhere that of the registers' files, never that of the build.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from shards.codec.record import FIELDS
from shards.generations import generation_files, register_sources
from shards.generations.generation_files import Generation
from shards.generations.register_sources import COMPANIES, RegisterImport

# The fields that are counted: those of a company, and whether it has statements.
COUNTED: Final = (*FIELDS, "comptes")


@dataclass(frozen=True, slots=True)
class CountrySources:
    """The sources of one country.

    Attributes:
        n_societes: its companies; 0 for a country without data.
        imports: what was imported: companies, their complements, statements; empty where none is declared.
        filled: how many companies have each field of COUNTED; empty where the build did not count.
    """

    iso2: str
    n_societes: int
    imports: tuple[RegisterImport, ...]
    filled: Mapping[str, int]

    @property
    def date(self) -> str | None:
        """The oldest date among the files of its companies (ISO 8601); None where none is known."""
        return register_sources.country_date(self.imports, self.iso2)


def read(generation: Generation) -> dict[str, CountrySources]:
    """The sources of every country, in the order of the reference lists.

    Raises:
        ValueError: a file of the generation is damaged.
    """
    imports = register_sources.load(_document(generation, register_sources.SOURCES))
    quality = orjson.loads(_document(generation, generation_files.QUALITY)).get("pays", {})
    sources = {}
    for pays in generation.reference.pays:
        counts = quality.get(pays.iso2, {}).get("renseignees", {})
        own = imports.get(pays.iso2, ())
        sources[pays.iso2] = CountrySources(
            pays.iso2,
            generation.manifest.counts[pays.iso2],
            _order(own, pays.iso2),
            {name: counts[name] for name in COUNTED if name in counts},
        )
    return sources


def _order(imports: Iterable[RegisterImport], iso2: str) -> tuple[RegisterImport, ...]:
    return tuple(sorted(imports, key=lambda one: (one.table != COMPANIES, one.completes(iso2))))


def period(countries: Iterable[CountrySources]) -> tuple[str, str] | None:
    """The oldest and the newest date of these countries; None if no source is declared."""
    days = [one.date for one in countries if one.date]
    return (min(days), max(days)) if days else None


def heaviest(countries: Iterable[CountrySources]) -> list[CountrySources]:
    """The two countries with the most companies among those whose date is known."""
    dated = [country for country in countries if country.date and country.n_societes]
    return sorted(dated, key=lambda country: -country.n_societes)[:2]


def edition_dates(countries: Iterable[CountrySources]) -> dict[str, datetime]:
    """The date of the edition of each source that tells one, at its first moment (UTC).

    Of several imports of a source the newest counts; one import is as old as its oldest file.
    """
    found: dict[str, datetime] = {}
    for country in countries:
        for one in country.imports:
            if one.date is not None:
                moment = _first_moment(one.date)
                found[one.source] = max(moment, found.get(one.source, moment))
    return found


def _first_moment(date: str) -> datetime:
    """The first moment of a day, a month or a year."""
    first = date + "0001-01-01"[len(date) :]
    return datetime.fromisoformat(first).replace(tzinfo=UTC)


def attributions(countries: Iterable[CountrySources]) -> list[RegisterImport]:
    """One import for each attribution that the licences of these countries demand, in the order of the countries."""
    found: dict[str, RegisterImport] = {}
    for country in countries:
        for one in country.imports:
            found.setdefault(one.attribution, one)
    return list(found.values())


def _document(generation: Generation, name: str) -> Any:
    path = generation.folder / name
    return path.read_bytes() if name in generation.manifest.files else b"{}"
