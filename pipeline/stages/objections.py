"""Objections: what persons do not want to be published, honoured by every build from the first on.

The file of `--objections` is a CSV with the columns of COLUMNS: country, identifier, fields (separated by blanks; none
for the whole company), date and reference of the objection, and the date of its withdrawal, if there is one. A build
that has honoured objections keeps them in `DATA/.objections.csv`, which is no part of a generation, and the next build
honours them whether it is given a file or not: an objection ends by a date in `retrait`, never by a line that is gone.

A company is left out before anything else is done with its rows, of its register and of complements. A field is made
null when all stages that could fill it are done.
"""

import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import date
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.errors import BuildError
from pipeline.seeds import Seeds
from pipeline.stages import text_cleaning
from shards.codec.folding import SPELLINGS
from shards.generations import atomic_files

COLUMNS: Final = ("pays", "identifiant", "champs", "date", "reference", "retrait")
KEPT: Final = ".objections.csv"
# Fields that may be left out alone. What a company is, and its figures, go with the whole company.
FIELDS: Final = (
    *("activite", "description", "adresse", "code_postal", "ville", "region"),
    *("site_web", "domaine", "email", "telephone", "url_registre", "noms_anterieurs"),
)
# Each of these is made of the other.
_TOGETHER: Final = frozenset({"site_web", "domaine"})
LEFT_OUT: Final = "opposition d'une personne"
WHOLE_COMPANY: Final = "société"


class ObjectionsError(BuildError):
    """The file of objections cannot be used; the message names the line, the value and the remedy."""


@dataclass(frozen=True, slots=True)
class Objection:
    """A line of the file; no `champs` is the whole company, an empty `retrait` is an objection that holds."""

    pays: str
    identifiant: str
    champs: tuple[str, ...]
    date: str
    reference: str
    retrait: str

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        return self.pays, self.identifiant, self.champs


# What is left out of each company of a country, by identifier: some fields, or None for the whole company.
Hidden = Mapping[str, frozenset[str] | None]


@dataclass(frozen=True, slots=True)
class Objections:
    """All objections that a build knows.

    Attributes:
        fresh: the keys of those that no build has honoured yet.
    """

    known: tuple[Objection, ...] = ()
    fresh: frozenset[tuple[str, str, tuple[str, ...]]] = frozenset()

    def hidden_values(self, iso2: str, *, fresh: bool = False) -> Hidden:
        """What is left out of the companies of a country; `fresh`: by objections that are new."""
        found: dict[str, frozenset[str] | None] = {}
        for one in self.known:
            if one.pays != iso2 or one.retrait or (fresh and one.key not in self.fresh):
                continue
            before = found.get(one.identifiant, frozenset())
            wanted = frozenset(one.champs)
            if wanted & _TOGETHER:
                wanted |= _TOGETHER
            found[one.identifiant] = before | wanted if before is not None and wanted else None
        return found

    def left_out(self) -> dict[str, int]:
        """How many companies new objections take out whole, by country."""
        hidden = {iso2: self.hidden_values(iso2, fresh=True) for iso2 in self.countries}
        return {
            iso2: sum(names is None for names in found.values()) for iso2, found in hidden.items()
        }

    @property
    def countries(self) -> frozenset[str]:
        """The countries of the new objections."""
        return frozenset(iso2 for iso2, _, _ in self.fresh)


def collect(out: Path, given: Path | None, seeds: Seeds) -> Objections:
    """The objections in DATA and in the file `given`, which may withdraw some of the first.

    Raises:
        ObjectionsError: a file that cannot be read, or a value that is unknown.
    """
    kept = out / KEPT
    before = {one.key: one for one in read(kept, seeds)} if kept.exists() else {}
    after = before | ({one.key: one for one in read(given, seeds)} if given else {})
    held = {key for key, one in before.items() if not one.retrait}
    fresh = {key for key, one in after.items() if not one.retrait} - held
    return Objections(tuple(after[key] for key in sorted(after)), frozenset(fresh))


def keep(out: Path, objections: Objections) -> None:
    """Keep in DATA what a build has honoured; only the user of the build may read it."""
    if not objections.known and not (out / KEPT).exists():
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in objections.known:
        iso2, identifier, champs, *rest = astuple(one)
        writer.writerow((iso2, identifier, " ".join(champs), *rest))
    atomic_files.write(out / KEPT, text.getvalue().encode())
    (out / KEPT).chmod(0o600)


def read(path: Path, seeds: Seeds) -> tuple[Objection, ...]:
    """The objections in a file.

    Raises:
        ObjectionsError: naming the line and the value.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, restkey="", strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ObjectionsError(
            f"{path} is no CSV in UTF-8 that can be read ({error}); save it as one"
        ) from error
    countries = {country.iso2 for country in seeds.pays}
    return tuple(
        _objection(row, f"{path} line {number}", countries)
        for number, row in enumerate(rows, start=2)
    )


def _objection(row: Mapping[str, str], where: str, countries: Iterable[str]) -> Objection:
    if set(row) not in (set(COLUMNS), set(COLUMNS[:-1])) or None in row.values():
        raise ObjectionsError(
            f"{where}: the columns are {','.join(map(str, row))}; write {','.join(COLUMNS)}, of which the"
            " last may be left out"
        )
    said = {name: row.get(name, "").strip() for name in COLUMNS}
    iso2 = SPELLINGS.get(said["pays"], said["pays"])
    if iso2 not in countries:
        raise ObjectionsError(
            f"{where}: unknown country {said['pays']!r}; known: {', '.join(sorted(countries))}"
        )
    champs = tuple(sorted(set(said["champs"].split())))
    if unknown := [name for name in champs if name not in FIELDS]:
        raise ObjectionsError(
            f"{where}: unknown field {unknown[0]!r}; known: {', '.join(FIELDS)}; none stands for the"
            " whole company"
        )
    for name in ("identifiant", "reference"):
        if not said[name]:
            raise ObjectionsError(f"{where}: no {name}; give one")
    for name in ("date", "retrait"):
        if said[name] or name == "date":
            _check_day(said[name], f"{where}: {name}")
    return Objection(
        iso2, said["identifiant"], champs, said["date"], said["reference"], said["retrait"]
    )


def _check_day(text: str, where: str) -> None:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ObjectionsError(f"{where}: {text!r} is no day; write it as 2026-11-01") from None


def lines_of(hidden: Hidden) -> Sequence[str]:
    """What is hidden as sorted lines, for a digest."""
    return sorted(
        f"{key} {sorted(names) if names is not None else '*'}" for key, names in hidden.items()
    )


# -- the rows of a build -------------------------------------------------------------


def hidden_companies(hidden: Hidden) -> list[str]:
    """The identifiers of the companies that are left out."""
    return sorted(identifier for identifier, names in hidden.items() if names is None)


def leave_out_companies(companies: pl.LazyFrame, hidden: Hidden) -> pl.LazyFrame:
    """The rows without those of the companies that are left out."""
    left = hidden_companies(hidden)
    return companies.filter(~pl.col("id").is_in(left).fill_null(False)) if left else companies


def clear_fields(companies: pl.LazyFrame, hidden: Hidden) -> pl.LazyFrame:
    """Make the fields null that are left out."""
    by_field: dict[str, list[str]] = {}
    for identifier, names in hidden.items():
        for name in names or ():
            by_field.setdefault(name, []).append(identifier)
    return companies.with_columns(
        pl.when(~pl.col("id").is_in(ids)).then(name).alias(name) for name, ids in by_field.items()
    )


def count_hidden(hidden: Hidden, present: Collection[str]) -> dict[str, int]:
    """The companies of `present` that are left out, and those that lack each field."""
    counts: dict[str, int] = {}
    for identifier in present:
        names = hidden[identifier]
        for name in (WHOLE_COMPANY,) if names is None else names:
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def rows_per_company(companies: pl.LazyFrame, hidden: Hidden) -> dict[str, int]:
    """How many of the input rows `companies` each company has that `hidden` names; none has none."""
    identifier = pl.col("id").str.replace_all(text_cleaning.INVISIBLE_ENDS, "")
    found = companies.filter(identifier.is_in(sorted(hidden))).group_by(identifier).len()
    return dict(found.sort("id").collect(engine="streaming").iter_rows())
