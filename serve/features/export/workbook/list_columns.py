"""The columns of the sheet Liste: the fields that the request names (X7), or always the same.

Then first come those that are printed, then the other public fields in the order of `Societe`, then the raw
values of which others are made: amounts before they are multiplied, codes, texts that another column
has in words. The raw ones are grouped and closed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import Any, Final, NamedTuple

from serve.contract import company_fields, notation, seed_tables
from serve.features.export.workbook.export_data import ExportData
from serve.features.export.workbook.labels import Labels
from shards.codec import bands
from shards.ratios import accounts

# The kind of a headcount: a number, a Band, or a text.
HEADCOUNT: Final = "effectif"

# The columns that identify a company; they stay in view on all lists.
IDENTITY: Final = ("iso2", "id", "nom")
PRINTED: Final = (*IDENTITY, "feuille", "etat", "secteur", "ville", "effectif_ou_tranche",
                  "ca_eur", "ca_year", "total_actif_eur", "exercice_actif", "date_creation")  # fmt: skip
# The columns that the list has beside the fields of a company, with the kinds of their values.
MADE: Final = {
    "feuille": company_fields.TEXT,
    "effectif_ou_tranche": HEADCOUNT,
    "capital_social_eur": company_fields.AMOUNT,
    "total_actif_eur": company_fields.AMOUNT,
    "ca_publie": company_fields.AMOUNT,
    "total_actif": company_fields.AMOUNT,
    "forme_libelle": company_fields.TEXT,
    "tranche_libelle": company_fields.TEXT,
}
RAW: Final = ("effectif", "ca_last", "ca_mult", "total_actif_last", "unite_mult",
              "tranche_effectif")  # fmt: skip
# The columns that stand after a field, among those that are not printed.
_AFTER: Final = {
    "forme": "forme_libelle",
    "effectif": "tranche_libelle",
    "capital_devise": "capital_social_eur",
    "ca_eur": "ca_publie",
    "exercice_actif": "total_actif",
}

# A function from a language, an export and some of its rows to the values of a column.
Values = Callable[[str, ExportData, range], Sequence[Any]]


class Band(NamedTuple):
    """A band in place of a number: its lower bound, which the cell holds, and the words that it shows."""

    least: int
    words: str

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True)
class ListColumn:
    """One column: its name (a field of `Societe`, or one of MADE), the kind of its values, its heading.

    Attributes:
        is_raw: whether other columns have its values ready for use.
    """

    name: str
    genre: str
    title: str
    definition: str
    values: Callable[[ExportData, range], Sequence[Any]]
    is_raw: bool = False


def columns(labels: Labels, wanted: Sequence[str] = ()) -> list[ListColumn]:
    """The columns of Liste, in order: the fields that are wanted, or all."""
    if wanted:
        return [replace(company_column(name, labels), is_raw=False) for name in wanted]
    # In French the legal form in words is a field of its own; Excel repairs a table with a heading twice.
    after = {**_AFTER, "forme": "forme_fr"} if labels.lang == "fr" else _AFTER
    rest = []
    for field in company_fields.public_fields():
        rest.append(field.champ)
        if field.champ in after:
            rest.append(after[field.champ])
    ordered = dict.fromkeys([*PRINTED, *(name for name in rest if name not in RAW), *RAW])
    return [company_column(name, labels) for name in ordered]


def company_column(name: str, labels: Labels) -> ListColumn:
    """The column of a field, or of one of MADE."""
    lang = labels.lang
    values = _OWN_VALUES.get(name) or partial(_stored_values, name)
    if name in MADE:
        title, definition = labels(f"col_{name}"), labels(f"def_{name}")
        return ListColumn(name, MADE[name], title, definition, partial(values, lang))
    field = next(one for one in company_fields.fields() if one.champ == name)
    title, definition = field.title[lang], field.definition[lang]
    return ListColumn(name, field.genre, title, definition, partial(values, lang), name in RAW)


def _stored_values(name: str, _: str, data: ExportData, rows: range) -> Sequence[Any]:
    return data.columns[name][rows.start : rows.stop]


def _has_sheet(lang: str, data: ExportData, rows: range) -> Sequence[str]:
    labels = Labels(lang)
    return [labels("yes" if row in data.comptes else "no") for row in rows]


def _assets_in_euros(_: str, data: ExportData, rows: range) -> Sequence[float | None]:
    return data.assets[rows.start : rows.stop]


def _capital_in_euros(lang: str, data: ExportData, rows: range) -> Sequence[float | None]:
    """At the rate of the year of the turnover, else of the assets, else of the newest year (contract B31)."""
    names = ("capital_social", "capital_devise", "ca_year", "exercice_actif")
    known = zip(*(_stored_values(name, lang, data, rows) for name in names), strict=True)
    return [None if capital is None else _in_euros(capital, *facts) for capital, *facts in known]


def _in_euros(capital: float, devise: str | None, *years: int | None) -> float | None:
    year = next((one for one in years if one is not None), None)
    if year is None:
        year = accounts.newest_year(devise or "")
    rate = accounts.euros_per_unit(devise, year)
    euros = None if rate is None else capital * rate + 0.0
    return euros if euros is not None and isfinite(euros) else None


def _units(
    amount: str, multiplier: str, lang: str, data: ExportData, rows: range
) -> Sequence[float | None]:
    """An amount as published, in units: a multiplier that is not stated counts as 1 (§2.1)."""
    pairs = zip(
        _stored_values(amount, lang, data, rows),
        _stored_values(multiplier, lang, data, rows),
        strict=True,
    )
    return [None if value is None else value * (by or 1) for value, by in pairs]


def _states(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    stored = _stored_values("etat", lang, data, rows)
    words = {etat: etat and seed_tables.label("etat", "", etat, lang) for etat in set(stored)}
    return [words[etat] for etat in stored]


def _forms(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    known: dict[tuple[str, str | None], str | None] = {}
    found = []
    for iso2, forme in zip(
        _stored_values("iso2", lang, data, rows),
        _stored_values("forme", lang, data, rows),
        strict=True,
    ):
        if (iso2, forme) not in known:
            known[iso2, forme] = forme and seed_tables.label("forme", iso2, forme, lang)
        found.append(known[iso2, forme])
    return found


def _bands(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    return [
        notation.headcount_band(code, lang)
        for code in _stored_values("tranche_effectif", lang, data, rows)
    ]


def _headcounts(lang: str, data: ExportData, rows: range) -> Sequence[int | Band | str | None]:
    """The number, else the published band; a band that names no numbers is a text."""
    codes = _stored_values("tranche_effectif", lang, data, rows)
    shown: dict[str | None, Band | str | None] = {}
    for code in set(codes):
        words = notation.headcount_band(code, lang)
        bounds = bands.published_bounds(code or "")
        shown[code] = Band(bounds[0], words) if bounds and words else words
    numbers = _stored_values("effectif", lang, data, rows)
    return [
        shown[code] if number is None else number
        for number, code in zip(numbers, codes, strict=True)
    ]


def _sectors(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    if lang == "fr":
        return _stored_values("secteur", lang, data, rows)
    names = {one.code: one.secteur_en for one in data.reference.secteurs}
    return [names.get(place.secteur or "") for place in data.places[rows.start : rows.stop]]


def _sections(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    stored = _stored_values("grand_secteur", lang, data, rows)
    names = seed_tables.sections_in_english() if lang == "en" else {}
    return [names.get(name, name) for name in stored]


def _sub_sectors(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    stored = _stored_values("sous_secteur", lang, data, rows)
    return stored if lang == "fr" else _in_english(data.groups[rows.start : rows.stop], stored)


def _activities(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    stored = _stored_values("nace_libelle", lang, data, rows)
    return (
        stored
        if lang == "fr"
        else _in_english(_stored_values("nace_code", lang, data, rows), stored)
    )


def _in_english(codes: Sequence[str | None], stored: Sequence[str | None]) -> Sequence[str | None]:
    """The labels of NACE codes; a label whose code is in no table stays as it is stored."""
    known = seed_tables.nace_labels()
    return [
        known[code][1] if code and name and code in known else name
        for code, name in zip(codes, stored, strict=True)
    ]


_OWN_VALUES: Final[Mapping[str, Values]] = {
    "feuille": _has_sheet,
    "total_actif_eur": _assets_in_euros,
    "capital_social_eur": _capital_in_euros,
    "ca_publie": partial(_units, "ca_last", "ca_mult"),
    "total_actif": partial(_units, "total_actif_last", "unite_mult"),
    "forme_libelle": _forms,
    "tranche_libelle": _bands,
    "effectif_ou_tranche": _headcounts,
    "etat": _states,
    "secteur": _sectors,
    "grand_secteur": _sections,
    "sous_secteur": _sub_sectors,
    "nace_libelle": _activities,
}
