"""A long list as a sheet: columns, a header, rows, and the Excel table over header and rows.

The columns of the sheet Liste are the fields that the request names (X7). If it names none, the columns are always the
same: the printed columns, then the other public fields in the order of `Societe`, then the raw values from which other
columns are computed (amounts before they are multiplied, codes, texts that another column has in words). The raw
columns are in a collapsed group.

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
from serve.features.export.workbook.sheet import Sheet, can_be_link, day_serial, link_target
from shards.codec import bands
from shards.ratios import accounts

# The kind of a headcount: a number, a Band, or a text.
HEADCOUNT: Final = "effectif"

# The columns that identify a company. Long lists freeze these columns, so that they stay visible.
IDENTITY: Final = ("iso2", "id", "nom")
# The first columns of Liste, which are also the printed columns.
PRINTED: Final = (*IDENTITY, "feuille", "etat", "secteur", "ville", "effectif_ou_tranche",
                  "ca_eur", "ca_year", "total_actif_eur", "exercice_actif", "date_creation")  # fmt: skip
# The columns of the list that are not fields of a company, with the kinds of their values.
COMPUTED: Final = {
    "feuille": company_fields.TEXT,
    "effectif_ou_tranche": HEADCOUNT,
    "capital_social_eur": company_fields.AMOUNT,
    "total_actif_eur": company_fields.AMOUNT,
    "ca_publie": company_fields.AMOUNT,
    "total_actif": company_fields.AMOUNT,
    "forme_libelle": company_fields.TEXT,
    "tranche_libelle": company_fields.TEXT,
}
# The fields from which other columns are computed (module docstring).
RAW: Final = ("effectif", "ca_last", "ca_mult", "total_actif_last", "unite_mult",
              "tranche_effectif")  # fmt: skip
# The column that follows a field, among the columns that are not printed.
_FOLLOWING: Final = {
    "forme": "forme_libelle",
    "effectif": "tranche_libelle",
    "capital_devise": "capital_social_eur",
    "ca_eur": "ca_publie",
    "exercice_actif": "total_actif",
}

_LIST_SEPARATOR: Final = "; "  # between the texts of a list
# The most headcount bands that get their own number format, as Excel accepts about 200 formats in a workbook. Further
# bands are written as texts.
_MOST_BAND_FORMATS: Final = 100
# The width of a column, in characters: that of the longest value in the first rows, within two bounds. Columns of the
# kinds in `_WIDTHS` have the width there, or more if the heading needs it.
_SAMPLE_ROWS: Final = 300
_NARROWEST: Final = 8.0
_WIDEST: Final = 44.0
_WIDTHS: Final = {company_fields.AMOUNT: 18.0, company_fields.DATE: 11.0, company_fields.LINK: 30.0,
                  HEADCOUNT: 16.0}  # fmt: skip
# The kinds whose headings are at the right, above the numbers.
_RIGHT_ALIGNED: Final = (
    company_fields.WHOLE,
    company_fields.AMOUNT,
    company_fields.YEAR,
    HEADCOUNT,
)
# The kind of company names, which link to the sheet of their company.
NAME: Final = "nom"

# A function from a language, an export and a range of its rows to the values of a column.
ColumnReader = Callable[[str, ExportData, range], Sequence[Any]]
# A function that writes the values of a column below the header. It writes no cell for None.
ColumnWriter = Callable[[Sheet, int, Sequence[Any]], None]


class Band(NamedTuple):
    """A band in place of a number: its lower bound is the value of the cell, its words are shown."""

    least: int
    words: str

    def __str__(self) -> str:
        """The words, from which the width of the column is computed."""
        return self.words


@dataclass(frozen=True, slots=True)
class ListColumn:
    """One column: its name (a field of `Societe` or a column of COMPUTED), the kind of its values, its heading.

    Attributes:
        values: reads the values of a range of rows of the file.
        is_raw: whether other columns are computed from these values.
    """

    name: str
    genre: str
    title: str
    definition: str
    values: Callable[[ExportData, range], Sequence[Any]]
    is_raw: bool = False


def list_columns(labels: Labels, names: Sequence[str] = ()) -> list[ListColumn]:
    """The columns of Liste, in order: the fields `names`, or all columns if `names` is empty."""
    if names:
        return [replace(company_column(name, labels), is_raw=False) for name in names]
    # In French, `forme_fr` replaces `forme_libelle`, because both have the same heading, which Excel reports as damage.
    following = {**_FOLLOWING, "forme": "forme_fr"} if labels.lang == "fr" else _FOLLOWING
    unprinted = []
    for field in company_fields.public_fields():
        unprinted.append(field.champ)
        if field.champ in following:
            unprinted.append(following[field.champ])
    ordered = dict.fromkeys([*PRINTED, *(name for name in unprinted if name not in RAW), *RAW])
    return [company_column(name, labels) for name in ordered]


def company_column(name: str, labels: Labels) -> ListColumn:
    """The column of a field of companies, or of a value that is computed from fields (COMPUTED)."""
    lang = labels.lang
    values = _COLUMN_READERS.get(name) or partial(_stored_values, name)
    if name in COMPUTED:
        title, definition = labels(f"col_{name}"), labels(f"def_{name}")
        return ListColumn(name, COMPUTED[name], title, definition, partial(values, lang))
    field = next(field for field in company_fields.fields() if field.champ == name)
    title, definition = field.title[lang], field.definition[lang]
    return ListColumn(name, field.genre, title, definition, partial(values, lang), name in RAW)


def _stored_values(name: str, _: str, data: ExportData, rows: range) -> Sequence[Any]:
    """The values of the field `name` as stored, whatever the language."""
    return data.columns[name][rows.start : rows.stop]


def _has_sheet(lang: str, data: ExportData, rows: range) -> Sequence[str]:
    """Whether the company of each row has a sheet of statements, as a word in the language."""
    labels = Labels(lang)
    return [labels("yes" if row in data.comptes else "no") for row in rows]


def _assets_in_euros(_: str, data: ExportData, rows: range) -> Sequence[float | None]:
    """The total assets in euros."""
    return data.assets[rows.start : rows.stop]


def _capital_in_euros(lang: str, data: ExportData, rows: range) -> Sequence[float | None]:
    """Share capital at the rate of the year of the turnover, else of the assets, else at the newest (contract B31)."""
    names = ("capital_social", "capital_devise", "ca_year", "exercice_actif")
    facts_by_row = zip(*(_stored_values(name, lang, data, rows) for name in names), strict=True)
    return [
        None if capital is None else _convert_to_euros(capital, *facts)
        for capital, *facts in facts_by_row
    ]


def _convert_to_euros(capital: float, devise: str | None, *years: int | None) -> float | None:
    """An amount in euros at the rate of the first known year, else the newest; None without a rate or if infinite."""
    year = next((year for year in years if year is not None), None)
    if year is None:
        year = accounts.newest_year(devise or "")
    rate = accounts.euros_per_unit(devise, year)
    # The addition of 0.0 turns -0.0 into 0.0, so that the file has no negative zero.
    euros = None if rate is None else capital * rate + 0.0
    return euros if euros is not None and isfinite(euros) else None


def _amounts_in_units(
    amount: str, multiplier: str, lang: str, data: ExportData, rows: range
) -> Sequence[float | None]:
    """An amount as published, in units; a multiplier that is not published counts as 1 (§2.1)."""
    pairs = zip(
        _stored_values(amount, lang, data, rows),
        _stored_values(multiplier, lang, data, rows),
        strict=True,
    )
    return [None if value is None else value * (factor or 1) for value, factor in pairs]


def _states(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    """The states of the companies in words."""
    stored = _stored_values("etat", lang, data, rows)
    words = {etat: etat and seed_tables.label("etat", "", etat, lang) for etat in set(stored)}
    return [words[etat] for etat in stored]


def _forms(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    """The labels of the legal forms, which depend on the country."""
    labels: dict[tuple[str, str | None], str | None] = {}
    forms = []
    for iso2, forme in zip(
        _stored_values("iso2", lang, data, rows),
        _stored_values("forme", lang, data, rows),
        strict=True,
    ):
        if (iso2, forme) not in labels:
            labels[iso2, forme] = forme and seed_tables.label("forme", iso2, forme, lang)
        forms.append(labels[iso2, forme])
    return forms


def _bands(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    """The headcount bands in words."""
    return [
        notation.headcount_band(code, lang)
        for code in _stored_values("tranche_effectif", lang, data, rows)
    ]


def _headcounts(lang: str, data: ExportData, rows: range) -> Sequence[int | Band | str | None]:
    """The headcount of each row, else its published band, or the words of the band if it has no bounds."""
    codes = _stored_values("tranche_effectif", lang, data, rows)
    bands_by_code: dict[str | None, Band | str | None] = {}
    for code in set(codes):
        words = notation.headcount_band(code, lang)
        bounds = bands.published_bounds(code or "")
        bands_by_code[code] = Band(bounds[0], words) if bounds and words else words
    numbers = _stored_values("effectif", lang, data, rows)
    return [
        bands_by_code[code] if number is None else number
        for number, code in zip(numbers, codes, strict=True)
    ]


def _sectors(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    """The names of the sectors in the language."""
    if lang == "fr":
        return _stored_values("secteur", lang, data, rows)
    names = {sector.code: sector.secteur_en for sector in data.reference.secteurs}
    return [names.get(facet.secteur or "") for facet in data.places[rows.start : rows.stop]]


def _sections(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    """The sections of NACE in the language."""
    stored = _stored_values("grand_secteur", lang, data, rows)
    names = seed_tables.sections_in_english() if lang == "en" else {}
    return [names.get(name, name) for name in stored]


def _sub_sectors(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    """The names of the sub-sectors in the language."""
    stored = _stored_values("sous_secteur", lang, data, rows)
    return (
        stored if lang == "fr" else _translate_labels(data.groups[rows.start : rows.stop], stored)
    )


def _activities(lang: str, data: ExportData, rows: range) -> Sequence[str | None]:
    """The labels of the NACE classes in the language."""
    stored = _stored_values("nace_libelle", lang, data, rows)
    return (
        stored
        if lang == "fr"
        else _translate_labels(_stored_values("nace_code", lang, data, rows), stored)
    )


def _translate_labels(
    codes: Sequence[str | None], stored: Sequence[str | None]
) -> Sequence[str | None]:
    """The English labels of NACE codes; a label whose code is not in the tables stays as stored."""
    labels = seed_tables.nace_labels()
    return [
        labels[code][1] if code and name and code in labels else name
        for code, name in zip(codes, stored, strict=True)
    ]


# The readers of the columns that are not written as stored, by the name of the column.
_COLUMN_READERS: Final[Mapping[str, ColumnReader]] = {
    "feuille": _has_sheet,
    "total_actif_eur": _assets_in_euros,
    "capital_social_eur": _capital_in_euros,
    "ca_publie": partial(_amounts_in_units, "ca_last", "ca_mult"),
    "total_actif": partial(_amounts_in_units, "total_actif_last", "unite_mult"),
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
    """A column of a list, ready to be written.

    Attributes:
        genre: the kind of the values; NAME for names that are links.
        values: one value per row, or a function from a range of rows to their values.
        style: the format of the numbers; None for the format of the kind.
        identifies: whether the column identifies the company of a row.
        is_closed: whether the column is in the collapsed group at the right.
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
    def company_column(
        cls, column: ListColumn, data: ExportData, rows: Sequence[int] | None = None
    ) -> Self:
        """The column of a list of companies. `rows` are the rows of the file to list, None for all rows in order."""
        count = data.count
        width = _width(column, column.values(data, range(min(_SAMPLE_ROWS, count))))
        genre = NAME if column.name == NAME else column.genre
        values: Sequence[Any] | Callable[[range], Sequence[Any]] = partial(column.values, data)
        if rows is not None:
            value_of_row = {
                row: column.values(data, range(row, row + 1))[0] for row in dict.fromkeys(rows)
            }
            values = [value_of_row[row] for row in rows]
        return cls(
            column.title, genre, values, width,
            is_closed=column.is_raw, identifies=column.name in IDENTITY,
        )  # fmt: skip

    def part(self, rows: range) -> Sequence[Any]:
        """The values of a range of rows."""
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
        name: the name of the Excel table, unique in the workbook.
        links: the sheets that names link to, by row of the list (0, 1, …).
        count: the number of rows, needed if every column has a function for its values.
    """
    if count is None:
        count = next(len(column.values) for column in columns if not callable(column.values))
    # An Excel table needs a row below its header, even if the list is empty.
    last_row, last_col = max(1, count), len(columns) - 1
    table = {"name": name, "style": "TableStyleLight1", "columns": _headings(sheet, columns)}
    sheet.raw.add_table(0, 0, last_row, last_col, table)
    for col, column in enumerate(columns):
        _write_column(sheet, col, column, column.part(range(count)), links or {})
    sheet.raw.hide_gridlines(1)  # on paper only
    frozen = _frozen_columns(columns)
    sheet.raw.freeze_panes(1, frozen)
    sheet.raw.repeat_rows(0)
    if frozen:
        sheet.raw.repeat_columns(0, frozen - 1)
    # Excel marks digits stored as text as an error; identifiers and codes are texts on purpose.
    sheet.raw.ignore_errors({"number_stored_as_text": xl_range(0, 0, last_row, len(columns))})


def _frozen_columns(columns: Sequence[TableColumn]) -> int:
    """The number of columns that stay in view: the leading columns that identify a company."""
    return sum(1 for _ in takewhile(lambda column: column.identifies, columns))


def _headings(sheet: Sheet, columns: Sequence[TableColumn]) -> list[dict[str, Any]]:
    """Set the widths of the columns; return their headings, for the Excel table."""
    styles = sheet.styles
    sheet.raw.set_row(0, 32)  # points
    sheet.widths(*(column.width for column in columns))
    headings = []
    for col, column in enumerate(columns):
        is_right = column.genre in _RIGHT_ALIGNED
        title, style = sheet.fit(column.title, styles.header_right if is_right else styles.header)
        headings.append({"header": title, "header_format": style})
        if column.is_closed:
            options = {"level": 1, "hidden": True}
            sheet.raw.set_column(col, col, column.width, None, options)
    if any(column.is_closed for column in columns):
        # Excel shows the button that opens the hidden columns above the next column.
        sheet.raw.set_column(len(columns), len(columns), None, None, {"collapsed": True})
    return headings


def _write_column(
    sheet: Sheet, col: int, column: TableColumn, values: Sequence[Any], links: Mapping[int, str]
) -> None:
    """Write the cells of a column with the function for its kind."""
    if column.is_formula:
        assert column.style is not None
        _write_formulas(sheet, col, values, column.style)
    elif column.genre == NAME:
        _write_names(sheet, col, values, links)
    elif column.style is not None:
        _write_numbers(sheet, col, values, column.style)
    else:
        _COLUMN_WRITERS[column.genre](sheet, col, values)


def _write_texts(sheet: Sheet, col: int, values: Sequence[str | None], style: Format) -> None:
    """Write texts below the header; None leaves the cell empty."""
    for row, value in enumerate(values, 1):
        if value is not None:
            sheet.text(row, col, value, style)


def _write_numbers(sheet: Sheet, col: int, values: Sequence[float | None], style: Format) -> None:
    """Write numbers below the header."""
    write = sheet.raw.write_number  # looked up once, for speed in long lists
    for row, value in enumerate(values, 1):
        if value is not None:
            write(row, col, value, style)


def _write_formulas(
    sheet: Sheet, col: int, pairs: Sequence[tuple[str, float | None]], style: Format
) -> None:
    """Write formulas with their values below the header."""
    for row, (formula, value) in enumerate(pairs, 1):
        sheet.formula(row, col, formula, value, style)


def _write_names(
    sheet: Sheet, col: int, values: Sequence[str | None], links: Mapping[int, str]
) -> None:
    """Write names; a name links to the sheet that `links` has for its row of the list."""
    styles = sheet.styles
    for row, value in enumerate(values, 1):
        if value is not None and row - 1 in links:
            sheet.link(row, col, link_target(links[row - 1]), value, styles.list_link)
        elif value is not None:
            sheet.text(row, col, value, styles.list_text)


def _write_headcounts(sheet: Sheet, col: int, values: Sequence[int | Band | str | None]) -> None:
    """Write numbers. A band is written as its lower bound, shown as its words, so that it sorts among the numbers."""
    styles = sheet.styles
    bands = dict.fromkeys(value for value in values if isinstance(value, Band))
    formats = {
        band: styles.palette.make(num_format=f'"{band.words}"', align="right")
        for band in list(bands)[:_MOST_BAND_FORMATS]
    }
    for row, value in enumerate(values, 1):
        if isinstance(value, int):
            sheet.raw.write_number(row, col, value, styles.list_whole)
        elif isinstance(value, Band) and value in formats:
            sheet.raw.write_number(row, col, value.least, formats[value])
        elif value is not None:
            sheet.text(row, col, str(value), styles.list_text)


def _write_dates(sheet: Sheet, col: int, values: Sequence[str | None]) -> None:
    """Write dates, as Excel dates where possible, else as texts."""
    styles = sheet.styles
    for row, value in enumerate(values, 1):
        if value is None:
            continue
        day = day_serial(value)
        if day is None:
            sheet.text(row, col, value, styles.list_text)
        else:
            sheet.raw.write_number(row, col, day, styles.list_date)


def _write_web_addresses(sheet: Sheet, col: int, values: Sequence[str | None]) -> None:
    """Write web addresses, as links if they are valid."""
    styles = sheet.styles
    for row, value in enumerate(values, 1):
        if value is not None and can_be_link(value):
            sheet.link(row, col, value, value, styles.list_link)
        elif value is not None:
            sheet.text(row, col, value, styles.list_text)


def _write_booleans(sheet: Sheet, col: int, values: Sequence[bool | None]) -> None:
    """Write TRUE or FALSE below the header; None leaves the cell empty."""
    for row, value in enumerate(values, 1):
        if value is not None:
            sheet.raw.write_boolean(row, col, value, sheet.styles.list_truth)


def _write_joined(sheet: Sheet, col: int, values: Sequence[list[str] | None]) -> None:
    """Write lists of texts, each joined to one text."""
    joined = [None if value is None else _LIST_SEPARATOR.join(value) for value in values]
    _write_texts(sheet, col, joined, sheet.styles.list_text)


# The writers of columns, by the kind of the values.
_COLUMN_WRITERS: Final[Mapping[str, ColumnWriter]] = {
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
    company_fields.LINK: _write_web_addresses,
    company_fields.TRUTH: _write_booleans,
    company_fields.TEXTS: _write_joined,
}


def _width(column: ListColumn, values: Sequence[Any]) -> float:
    """The width of a column, from its heading, its kind and its first values."""
    least = max(len(word) for word in column.title.split()) + 3  # room for the filter button
    if column.genre in _WIDTHS:
        return max(_WIDTHS[column.genre], least)
    texts = [
        _LIST_SEPARATOR.join(value) if isinstance(value, list) else str(value)
        for value in values
        if value is not None
    ]
    longest = max(map(len, texts), default=0)
    return min(_WIDEST, max(_NARROWEST, least, longest + 2))
