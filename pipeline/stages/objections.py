"""Objections of persons to the publication of data, which every build honours.

The file of `--objections` is a CSV with the columns of COLUMNS: country, identifier, fields (separated by blanks; empty
for the whole company), date and reference of the objection, and the date of its withdrawal, if it is withdrawn. A build
keeps the objections that it honours in `DATA/.objections.csv`, which is not part of a generation. The next build
honours them with or without a file: only a date in `retrait` ends an objection; the removal of its line
does not.

An objection to the whole company removes its rows before any other stage sees them, from the register and from
complements. An objection to a field sets the field to null after all stages that could fill it.
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

# The columns of the file.
COLUMNS: Final = ("pays", "identifiant", "champs", "date", "reference", "retrait")
STORED_FILE: Final = ".objections.csv"  # the file in DATA with the objections that builds honour
# The fields that an objection can name. Identity and figures are left out only together with the whole company.
FIELDS: Final = (
    *("activite", "description", "adresse", "code_postal", "ville", "region"),
    *("site_web", "domaine", "email", "telephone", "url_registre", "noms_anterieurs"),
)
# An objection to one of these fields hides both, because each can be derived from the other.
_HIDDEN_TOGETHER: Final = frozenset({"site_web", "domaine"})
# In the quality report: the reason of rows that are left out, and the key of companies that are left out completely.
LEFT_OUT: Final = "opposition d'une personne"
WHOLE_COMPANY: Final = "société"


class ObjectionsError(BuildError):
    """The file of objections cannot be used; the message has the line, the value and the remedy."""


@dataclass(frozen=True, slots=True)
class Objection:
    """A line of the file. Empty `champs` mean the whole company; an empty `retrait` an objection in force."""

    pays: str
    identifiant: str
    champs: tuple[str, ...]
    date: str
    reference: str
    retrait: str

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        """Country, identifier and fields: a line of a new file replaces the stored line with the same key."""
        return self.pays, self.identifiant, self.champs


# The hidden fields of each company of a country, by identifier; None if the whole company is hidden.
Hidden = Mapping[str, frozenset[str] | None]


@dataclass(frozen=True, slots=True)
class Objections:
    """All objections of a build.

    Attributes:
        fresh: the keys of the objections that no build has honoured yet.
    """

    entries: tuple[Objection, ...] = ()
    fresh: frozenset[tuple[str, str, tuple[str, ...]]] = frozenset()

    def hidden_values(self, iso2: str, *, fresh: bool = False) -> Hidden:
        """The hidden fields of each company of a country; with `fresh`, only those of new objections."""
        hidden: dict[str, frozenset[str] | None] = {}
        for objection in self.entries:
            if (
                objection.pays != iso2
                or objection.retrait
                or (fresh and objection.key not in self.fresh)
            ):
                continue
            before = hidden.get(objection.identifiant, frozenset())
            fields = frozenset(objection.champs)
            if fields & _HIDDEN_TOGETHER:
                fields |= _HIDDEN_TOGETHER
            # None, the whole company, if this objection names no field, or an earlier objection named none.
            hidden[objection.identifiant] = (
                before | fields if before is not None and fields else None
            )
        return hidden

    def left_out(self) -> dict[str, int]:
        """The number of companies that new objections leave out completely, by country."""
        hidden = {iso2: self.hidden_values(iso2, fresh=True) for iso2 in self.countries}
        return {
            iso2: sum(names is None for names in values.values()) for iso2, values in hidden.items()
        }

    @property
    def countries(self) -> frozenset[str]:
        """The countries of the new objections."""
        return frozenset(iso2 for iso2, _, _ in self.fresh)


def collect(out: Path, given: Path | None, seeds: Seeds) -> Objections:
    """The objections stored in DATA, updated by the file `given`: its lines replace stored lines with the same key.

    Raises:
        ObjectionsError: a file cannot be read, or has an unknown value.
    """
    stored = out / STORED_FILE
    before = (
        {objection.key: objection for objection in read(stored, seeds)} if stored.exists() else {}
    )
    after = before | (
        {objection.key: objection for objection in read(given, seeds)} if given else {}
    )
    active = {key for key, objection in before.items() if not objection.retrait}
    fresh = {key for key, objection in after.items() if not objection.retrait} - active
    return Objections(tuple(after[key] for key in sorted(after)), frozenset(fresh))


def keep(out: Path, objections: Objections) -> None:
    """Write the objections to DATA, into a file that only the user of the build can read."""
    if not objections.entries and not (out / STORED_FILE).exists():
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for objection in objections.entries:
        iso2, identifier, champs, *other_values = astuple(objection)
        writer.writerow((iso2, identifier, " ".join(champs), *other_values))
    atomic_files.write(out / STORED_FILE, text.getvalue().encode())
    (out / STORED_FILE).chmod(0o600)


def read(path: Path, seeds: Seeds) -> tuple[Objection, ...]:
    """The objections in a file.

    Raises:
        ObjectionsError: the file cannot be read, or has an unknown value; the message has the line.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            # Cells without a column get the column "", which `_objection` refuses.
            rows = list(csv.DictReader(file, restkey="", strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ObjectionsError(
            f"{path} is not a readable CSV in UTF-8 ({error}); save it as one"
        ) from error
    countries = {country.iso2 for country in seeds.pays}
    return tuple(
        _objection(row, f"{path} line {number}", countries)
        for number, row in enumerate(rows, start=2)
    )


def _objection(row: Mapping[str, str], where: str, countries: Iterable[str]) -> Objection:
    """The objection of one row of the file; `where` is the file and line, for errors."""
    if set(row) not in (set(COLUMNS), set(COLUMNS[:-1])) or None in row.values():
        raise ObjectionsError(
            f"{where}: the columns are {','.join(map(str, row))}; write {','.join(COLUMNS)}, of which the"
            " last may be left out"
        )
    values = {name: row.get(name, "").strip() for name in COLUMNS}
    iso2 = SPELLINGS.get(values["pays"], values["pays"])
    if iso2 not in countries:
        raise ObjectionsError(
            f"{where}: unknown country {values['pays']!r}; known: {', '.join(sorted(countries))}"
        )
    champs = tuple(sorted(set(values["champs"].split())))
    if unknown := [name for name in champs if name not in FIELDS]:
        raise ObjectionsError(
            f"{where}: unknown field {unknown[0]!r}; known: {', '.join(FIELDS)}; no field means the"
            " whole company"
        )
    for name in ("identifiant", "reference"):
        if not values[name]:
            raise ObjectionsError(f"{where}: no {name}; give one")
    for name in ("date", "retrait"):
        if values[name] or name == "date":
            _check_day(values[name], f"{where}: {name}")
    return Objection(
        iso2, values["identifiant"], champs, values["date"], values["reference"], values["retrait"]
    )


def _check_day(text: str, where: str) -> None:
    """Raise ObjectionsError if a text is not a day; `where` is the line and column, for the message."""
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ObjectionsError(f"{where}: {text!r} is not a day; write it as 2026-11-01") from None


def key_lines(hidden: Hidden) -> Sequence[str]:
    """The hidden fields as sorted lines, which are a part of the key of a receipt; `*` is the whole company."""
    return sorted(
        f"{identifier} {sorted(names) if names is not None else '*'}"
        for identifier, names in hidden.items()
    )


# -- the rows of a build -------------------------------------------------------------


def hidden_companies(hidden: Hidden) -> list[str]:
    """The identifiers of the companies that are left out."""
    return sorted(identifier for identifier, names in hidden.items() if names is None)


def leave_out_companies(companies: pl.LazyFrame, hidden: Hidden) -> pl.LazyFrame:
    """The rows without the companies that are left out."""
    left_out = hidden_companies(hidden)
    return (
        companies.filter(~pl.col("id").is_in(left_out).fill_null(False)) if left_out else companies
    )


def clear_fields(companies: pl.LazyFrame, hidden: Hidden) -> pl.LazyFrame:
    """Replace the fields that `hidden` has for a company with null; the company itself stays."""
    by_field: dict[str, list[str]] = {}
    for identifier, names in hidden.items():
        for name in names or ():
            by_field.setdefault(name, []).append(identifier)
    return companies.with_columns(
        pl.when(~pl.col("id").is_in(ids)).then(name).alias(name) for name, ids in by_field.items()
    )


def count_hidden(hidden: Hidden, present: Collection[str]) -> dict[str, int]:
    """The number of companies of `present` that lose each field; those left out completely count as WHOLE_COMPANY."""
    counts: dict[str, int] = {}
    for identifier in present:
        names = hidden[identifier]
        for name in (WHOLE_COMPANY,) if names is None else names:
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def rows_per_company(companies: pl.LazyFrame, hidden: Hidden) -> dict[str, int]:
    """The number of input rows of each company in `hidden`; a company without rows has no entry."""
    identifier = pl.col("id").str.replace_all(text_cleaning.INVISIBLE_ENDS, "")
    counts = companies.filter(identifier.is_in(sorted(hidden))).group_by(identifier).len()
    return dict(counts.sort("id").collect(engine="streaming").iter_rows())
