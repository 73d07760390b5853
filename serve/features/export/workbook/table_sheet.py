"""A long list as a sheet: its columns, a header, rows, and the Excel table over header and rows.

The columns of the sheet Liste are the fields that the request names (X7), or always the same: first those that are
printed, then the other public fields in the order of `Societe`, then the raw values of which others are made: amounts
before they are multiplied, codes, texts that another column has in words. The raw columns are grouped and closed.

The kind of a column chooses the function that writes its cells, once for all rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from math import isfinite
from typing import Any, Final, NamedTuple, Self

from xlsxwriter.format import Format
from xlsxwriter.utility import xl_range

from serve.contract import company_fields, notation, seed_tables
from serve.features.export.workbook.export_data import ExportData
from serve.features.export.workbook.labels import Labels
from serve.features.export.workbook.sheet import Sheet, day_serial, is_page, link_target
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

_JOIN: Final = "; "  # between the texts of a list
# Bands that have a number format; Excel takes some 200 in a workbook. Others are texts.
_BANDS: Final = 100
# The width of a column follows the longest value in the first rows, within these bounds.
_SAMPLE: Final = 300
_NARROWEST: Final = 8.0
_WIDEST: Final = 44.0
_WIDTHS: Final = {company_fields.AMOUNT: 18.0, company_fields.DATE: 11.0, company_fields.LINK: 30.0,
                  HEADCOUNT: 16.0}  # fmt: skip
_RIGHT: Final = (company_fields.WHOLE, company_fields.AMOUNT, company_fields.YEAR, HEADCOUNT)
# Names of companies lead to their sheets.
NAME: Final = "nom"

# A function from a language, an export and some of its rows to the values of a column.
Values = Callable[[str, ExportData, range], Sequence[Any]]
# A function that writes the values of a column below the header; None is no cell.
ColumnWriter = Callable[[Sheet, int, Sequence[Any]], None]


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


def list_columns(labels: Labels, wanted: Sequence[str] = ()) -> list[ListColumn]:
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


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a list.

    Attributes:
        genre: the kind of its values; NAME for names that are links.
        values: one per row, or a function from a range of rows to theirs.
        style: the format of numbers; None for that of the kind.
        identifies: whether it says which company a row is.
        is_closed: whether it belongs to the closed group at the right.
        is_formula: whether the values are pairs of a formula and its value.
    """

    title: str
    genre: str
    values: Sequence[Any] | Callable[[range], Sequence[Any]]
    width: float
    style: Format | None = None
    is_closed: bool = False
    is_formula: bool = False
    identifies: bool = False

    @classmethod
    def of_company(
        cls, column: ListColumn, data: ExportData, rows: Sequence[int] | None = None
    ) -> Self:
        """A column of the list of companies; `rows`: the company of each row, all by default."""
        count = data.count
        width = _width(column, column.values(data, range(min(_SAMPLE, count))))
        genre = NAME if column.name == NAME else column.genre
        values: Sequence[Any] | Callable[[range], Sequence[Any]] = partial(column.values, data)
        if rows is not None:
            known = {
                row: column.values(data, range(row, row + 1))[0] for row in dict.fromkeys(rows)
            }
            values = [known[row] for row in rows]
        return cls(
            column.title, genre, values, width,
            is_closed=column.is_raw, identifies=column.name in IDENTITY,
        )  # fmt: skip

    def part(self, rows: range) -> Sequence[Any]:
        """The values of some rows."""
        return self.values(rows) if callable(self.values) else self.values[rows.start : rows.stop]


def write(
    sheet: Sheet,
    name: str,
    columns: Sequence[TableColumn],
    links: Mapping[int, str] | None = None,
    count: int | None = None,
) -> None:
    """Write a list: its header, then its rows.

    Args:
        name: of the Excel table, unique in the workbook.
        links: the sheets to which names lead, by row of the list (0, 1, …).
        count: the rows, where no column has its values as a sequence.
    """
    if count is None:
        count = next(len(one.values) for one in columns if not callable(one.values))
    last, last_col = max(1, count), len(columns) - 1
    table = {"name": name, "style": "TableStyleLight1", "columns": _heads(sheet, columns)}
    sheet.raw.add_table(0, 0, last, last_col, table)
    for col, column in enumerate(columns):
        _write_column(sheet, col, column, column.part(range(count)), links or {})
    sheet.raw.hide_gridlines(1)  # on paper only
    frozen = _frozen_columns(columns)
    sheet.raw.freeze_panes(1, frozen)
    sheet.raw.repeat_rows(0)
    if frozen:
        sheet.raw.repeat_columns(0, frozen - 1)
    # Excel marks digits stored as text as a mistake; identifiers and codes are meant as text.
    sheet.raw.ignore_errors({"number_stored_as_text": xl_range(0, 0, last, len(columns))})


def _frozen_columns(columns: Sequence[TableColumn]) -> int:
    """How many columns stay in view: the first ones that identify a company."""
    return sum(1 for _ in takewhile(lambda column: column.identifies, columns))


def _heads(sheet: Sheet, columns: Sequence[TableColumn]) -> list[dict[str, Any]]:
    """Set the widths of the columns; return their headings for the table."""
    look = sheet.styles
    sheet.raw.set_row(0, 32)
    sheet.widths(*(column.width for column in columns))
    heads = []
    for col, column in enumerate(columns):
        right = column.genre in _RIGHT
        title, style = sheet.fit(column.title, look.header_right if right else look.header)
        heads.append({"header": title, "header_format": style})
        if column.is_closed:
            options = {"level": 1, "hidden": True}
            sheet.raw.set_column(col, col, column.width, None, options)
    if any(column.is_closed for column in columns):
        sheet.raw.set_column(len(columns), len(columns), None, None, {"collapsed": True})
    return heads


def _write_column(
    sheet: Sheet, col: int, column: TableColumn, values: Sequence[Any], links: Mapping[int, str]
) -> None:
    if column.is_formula:
        assert column.style is not None
        _write_formulas(sheet, col, values, column.style)
    elif column.genre == NAME:
        _write_names(sheet, col, values, links)
    elif column.style is not None:
        _write_numbers(sheet, col, values, column.style)
    else:
        _WRITERS[column.genre](sheet, col, values)


def _write_texts(sheet: Sheet, col: int, values: Sequence[str | None], style: Format) -> None:
    for row, value in enumerate(values, 1):
        if value is not None:
            sheet.text(row, col, value, style)


def _write_numbers(sheet: Sheet, col: int, values: Sequence[float | None], style: Format) -> None:
    write = sheet.raw.write_number
    for row, value in enumerate(values, 1):
        if value is not None:
            write(row, col, value, style)


def _write_formulas(
    sheet: Sheet, col: int, pairs: Sequence[tuple[str, float | None]], style: Format
) -> None:
    for row, (formula, value) in enumerate(pairs, 1):
        sheet.formula(row, col, formula, value, style)


def _write_names(
    sheet: Sheet, col: int, values: Sequence[str | None], links: Mapping[int, str]
) -> None:
    """Names, which link to the sheet that `links` has for their row of the list."""
    look = sheet.styles
    for row, value in enumerate(values, 1):
        if value is not None and row - 1 in links:
            sheet.link(row, col, link_target(links[row - 1]), value, look.list_link)
        elif value is not None:
            sheet.text(row, col, value, look.list_text)


def _write_headcounts(sheet: Sheet, col: int, values: Sequence[int | Band | str | None]) -> None:
    """Numbers; a band is its lower bound in a format that shows its words, so it sorts among them."""
    look = sheet.styles
    bands = dict.fromkeys(value for value in values if isinstance(value, Band))
    formats = {
        band: look.palette.make(num_format=f'"{band.words}"', align="right")
        for band in list(bands)[:_BANDS]
    }
    for row, value in enumerate(values, 1):
        if isinstance(value, int):
            sheet.raw.write_number(row, col, value, look.list_whole)
        elif isinstance(value, Band) and value in formats:
            sheet.raw.write_number(row, col, value.least, formats[value])
        elif value is not None:
            sheet.text(row, col, str(value), look.list_text)


def _write_dates(sheet: Sheet, col: int, values: Sequence[str | None]) -> None:
    """Real dates if Excel has that day, else the text."""
    look = sheet.styles
    for row, value in enumerate(values, 1):
        if value is None:
            continue
        day = day_serial(value)
        if day is None:
            sheet.text(row, col, value, look.list_text)
        else:
            sheet.raw.write_number(row, col, day, look.list_date)


def _write_pages(sheet: Sheet, col: int, values: Sequence[str | None]) -> None:
    """Web addresses, as links if they are valid."""
    look = sheet.styles
    for row, value in enumerate(values, 1):
        if value is not None and is_page(value):
            sheet.link(row, col, value, value, look.list_link)
        elif value is not None:
            sheet.text(row, col, value, look.list_text)


def _write_truths(sheet: Sheet, col: int, values: Sequence[bool | None]) -> None:
    for row, value in enumerate(values, 1):
        if value is not None:
            sheet.raw.write_boolean(row, col, value, sheet.styles.list_truth)


def _write_joined(sheet: Sheet, col: int, values: Sequence[list[str] | None]) -> None:
    """Lists of texts, as one text."""
    joined = [None if value is None else _JOIN.join(value) for value in values]
    _write_texts(sheet, col, joined, sheet.styles.list_text)


_WRITERS: Final[Mapping[str, ColumnWriter]] = {
    company_fields.TEXT: lambda sheet, col, values: _write_texts(
        sheet, col, values, sheet.styles.list_text
    ),
    company_fields.WHOLE: lambda sheet, col, values: _write_numbers(
        sheet, col, values, sheet.styles.list_whole
    ),
    company_fields.AMOUNT: lambda sheet, col, values: _write_numbers(
        sheet, col, values, sheet.styles.list_whole
    ),
    company_fields.YEAR: lambda sheet, col, values: _write_numbers(
        sheet, col, values, sheet.styles.list_year
    ),
    HEADCOUNT: _write_headcounts,
    company_fields.DATE: _write_dates,
    company_fields.LINK: _write_pages,
    company_fields.TRUTH: _write_truths,
    company_fields.TEXTS: _write_joined,
}


def _width(column: ListColumn, values: Sequence[Any]) -> float:
    least = max(len(word) for word in column.title.split()) + 3  # the button of the filter
    if column.genre in _WIDTHS:
        return max(_WIDTHS[column.genre], least)
    texts = [
        _JOIN.join(one) if isinstance(one, list) else str(one) for one in values if one is not None
    ]
    longest = max(map(len, texts), default=0)
    return min(_WIDEST, max(_NARROWEST, least, longest + 2))
