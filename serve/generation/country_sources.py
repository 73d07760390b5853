"""The sources of the served companies, by country: registers, licences, dates of files, counts of fields (X9).

The sources are read from `sources.json` and `quality.json` when a generation is opened. The age of the data is the age
of the registers' files, not of the build.
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

# The counted fields: the fields of a company, and its statements.
COUNTED: Final = (*FIELDS, "comptes")


@dataclass(frozen=True, slots=True)
class CountrySources:
    """The sources of one country.

    Attributes:
        n_societes: the number of its companies; 0 for a country without data.
        imports: the imports of companies, complements and statements; empty if none is declared.
        filled: the number of companies with each field of COUNTED; empty if the build did not count them.
    """

    iso2: str
    n_societes: int
    imports: tuple[RegisterImport, ...]
    filled: Mapping[str, int]

    @property
    def date(self) -> str | None:
        """The oldest date of the files with companies of the country (ISO 8601); None if no date is known."""
        return register_sources.country_date(self.imports, self.iso2)


def read(generation: Generation) -> dict[str, CountrySources]:
    """The sources of every country, in the order of the reference lists.

    Raises:
        ValueError: a file of the generation is damaged.
    """
    imports = register_sources.load(_json_bytes(generation, register_sources.SOURCES))
    quality = orjson.loads(_json_bytes(generation, generation_files.QUALITY)).get("pays", {})
    sources = {}
    for pays in generation.reference.pays:
        counts = quality.get(pays.iso2, {}).get("renseignees", {})
        country_imports = imports.get(pays.iso2, ())
        sources[pays.iso2] = CountrySources(
            pays.iso2,
            generation.manifest.counts[pays.iso2],
            _order_imports(country_imports, pays.iso2),
            {name: counts[name] for name in COUNTED if name in counts},
        )
    return sources


def _order_imports(imports: Iterable[RegisterImport], iso2: str) -> tuple[RegisterImport, ...]:
    """The imports of companies first, then of other tables; for each table kind, complements come last."""
    return tuple(
        sorted(
            imports,
            key=lambda source_import: (
                source_import.table != COMPANIES,
                source_import.completes(iso2),
            ),
        )
    )


def date_range(countries: Iterable[CountrySources]) -> tuple[str, str] | None:
    """The oldest and the newest date of these countries; None if no source is declared."""
    dates = [country.date for country in countries if country.date]
    return (min(dates), max(dates)) if dates else None


def two_largest(countries: Iterable[CountrySources]) -> list[CountrySources]:
    """The two countries with the most companies, among countries with a known date."""
    dated = [country for country in countries if country.date and country.n_societes]
    return sorted(dated, key=lambda country: -country.n_societes)[:2]


def edition_dates(countries: Iterable[CountrySources]) -> dict[str, datetime]:
    """The edition date of each source that has one, as its first moment (UTC).

    The newest import of a source counts; the date of an import is the date of its oldest file.
    """
    dates: dict[str, datetime] = {}
    for country in countries:
        for source_import in country.imports:
            if source_import.date is not None:
                moment = _first_moment(source_import.date)
                dates[source_import.source] = max(moment, dates.get(source_import.source, moment))
    return dates


def _first_moment(date: str) -> datetime:
    """The first moment of a day, a month or a year."""
    # A missing month or day is 01.
    first_day = date + "0001-01-01"[len(date) :]
    return datetime.fromisoformat(first_day).replace(tzinfo=UTC)


def attributions(countries: Iterable[CountrySources]) -> list[RegisterImport]:
    """An import for each distinct attribution that the licences of these countries demand, in order of country."""
    imports: dict[str, RegisterImport] = {}
    for country in countries:
        for source_import in country.imports:
            imports.setdefault(source_import.attribution, source_import)
    return list(imports.values())


def _json_bytes(generation: Generation, name: str) -> Any:
    """The bytes of a JSON file of the generation; `{}` if the generation does not have the file."""
    path = generation.folder / name
    return path.read_bytes() if name in generation.manifest.files else b"{}"
