"""The sheet of key figures: a row per company with a sheet, five years in euros, ratios as formulas.

Years are counted back from the last one of each company (N). A ratio is one formula for the whole column
(company_accounts.general_formula), over cells of its own row: it survives sorting and copying. The lines that only
ratios need stand in closed columns at the right. Growth compares at the rate of the last year, in the
currency of the accounts.
"""

from collections.abc import Sequence
from itertools import count
from typing import Any, Final

from xlsxwriter.utility import xl_col_to_name, xl_rowcol_to_cell

from serve.contract import company_fields, seed_tables
from serve.features.export.workbook import company_accounts, table_sheet
from serve.features.export.workbook.company_accounts import YEARS, CompanyAccounts, label
from serve.features.export.workbook.export_data import ExportData
from serve.features.export.workbook.labels import Labels
from serve.features.export.workbook.sheet import ACCENT, Sheet, link_target
from serve.features.export.workbook.table_sheet import IDENTITY, TableColumn, company_column
from shards.ratios.ratio_table import MONTHS, Ratio, chart_lines, ratios

_WIDTH: Final = 15
_TREND: Final = 16
# What growth compares: the turnover of twelve months.
_TURNOVER: Final = "chiffre_affaires_annuel"
_HEADCOUNT: Final = "effectif"


def write(
    sheet: Sheet, data: ExportData, labels: Labels, companies: Sequence[CompanyAccounts]
) -> None:
    """Write the sheet."""
    table = _KeyFigures(data, labels, companies, sheet)
    links = {place: one.sheet for place, one in enumerate(companies)}
    table_sheet.write(sheet, "chiffres_cles", table.columns, links)
    # Printed are the turnovers, the first amount of the table of ratios: all columns would be specks.
    sheet.raw.print_area(0, 0, max(1, len(companies)), table.trends[0][1])
    for first, trend in table.trends:
        _sparklines(sheet, first, trend, len(companies))
    sheet.raw.ignore_errors({"number_stored_as_text": "A:C", "formula_range": "A:XFD"})


class _KeyFigures:
    """The columns of the sheet, and where the cells of the formulas are."""

    def __init__(
        self,
        data: ExportData,
        labels: Labels,
        companies: Sequence[CompanyAccounts],
        sheet: Sheet,
    ) -> None:
        self._labels, self._companies, self._sheet = labels, companies, sheet
        rows = [company.row for company in companies]
        self.columns = [
            TableColumn.of_company(company_column(name, labels), data, rows)
            for name in (*IDENTITY, "secteur")
        ]
        # The columns of the values by (name, years before), as `general_formula` asks for them.
        self._places: dict[tuple[str, int], int] = {}
        self.trends: list[tuple[int, int]] = []
        self._add_column(
            "last_year", company_fields.YEAR, [company.last_year for company in companies], 10
        )
        self._add_column(
            "currency", company_fields.TEXT, [_currency(company) for company in companies], 9
        )
        for ratio in company_accounts.amounts():
            self._years(ratio)
        first = len(self.columns)
        for place, ratio in enumerate(company_accounts.proper_ratios()):
            self._places[ratio.code, 0] = first + place
        inputs = first + len(company_accounts.proper_ratios())
        self._place_inputs(inputs)
        for ratio in company_accounts.proper_ratios():
            self._ratio(ratio)
        self._inputs()

    def _add_column(self, name: str, genre: str, values: Sequence[Any], width: float) -> None:
        self.columns.append(TableColumn(self._labels(name), genre, values, width))

    def _years(self, ratio: Ratio) -> None:
        """Five years of an amount, oldest first, and their sparkline."""
        name = ratio.libelle[self._labels.lang]
        first = len(self.columns)
        for before in range(YEARS - 1, -1, -1):
            year = f"N-{before}" if before else "N"
            values = [one.euros(ratio.code, one.last_year - before) for one in self._companies]
            self._places[ratio.code, before] = len(self.columns)
            title = f"{name} {year} (EUR)"
            self.columns.append(TableColumn(title, company_fields.AMOUNT, values, _WIDTH))
        self.trends.append((first, len(self.columns)))
        title = self._labels("trend", figure=name)
        empty = [None] * len(self._companies)
        self.columns.append(TableColumn(title, company_fields.TEXT, empty, _TREND))

    def _ratio(self, ratio: Ratio) -> None:
        formulas = [
            (self._formula(ratio, row), _ratio_value(ratio, one))
            for row, one in enumerate(self._companies, 1)
        ]
        self.columns.append(
            TableColumn(
                ratio.libelle[self._labels.lang],
                company_fields.AMOUNT,
                formulas,
                _WIDTH,
                self._sheet.styles.list_ratio[ratio.unite],
                is_formula=True,
            )
        )

    def _formula(self, ratio: Ratio, row: int) -> str:
        def cell(name: str, before: int) -> str:
            # The year before at the rate of this one: growth is that of the accounts, not of the currency.
            place = self._places[name, -1 if before else 0]
            return f"{xl_col_to_name(place)}{row + 1}"

        return company_accounts.general_formula(ratio, cell)

    def _place_inputs(self, first: int) -> None:
        """Fix the columns of the closed values, before the formulas that refer to them."""
        place = count(first)
        self._places[_HEADCOUNT, 0] = next(place)
        self._places[_TURNOVER, 0] = next(place)
        self._places[_TURNOVER, -1] = next(place)
        for code in sorted(chart_lines()):
            self._places[code, 0] = next(place)

    def _inputs(self) -> None:
        """The closed columns, in the order of `_place_inputs`."""
        labels = self._labels
        known = [company.by_year[company.last_year] for company in self._companies]
        headcounts = [company.value(_HEADCOUNT, company.last_year) for company in self._companies]
        self._write_closing(f"{labels('effectif')} N", headcounts)
        self._write_closing(
            ratios()[_TURNOVER].libelle[labels.lang] + " N",
            [company.euros(_TURNOVER, company.last_year) for company in self._companies],
        )
        self._write_closing(
            labels("turnover_before"), [_turnover_before(company) for company in self._companies]
        )
        for code in sorted(chart_lines()):
            values = [
                _times(
                    accounts.figures.get(code),
                    1.0 if code == MONTHS else company.rate(company.last_year),
                )
                for accounts, company in zip(known, self._companies, strict=True)
            ]
            french = seed_tables.line_labels()[code][0]
            self._write_closing(f"{label(code, french, labels.lang)} N [{code}]", values)

    def _write_closing(self, title: str, values: Sequence[float | None]) -> None:
        self.columns.append(
            TableColumn(title, company_fields.AMOUNT, values, _WIDTH, is_closed=True)
        )


def _currency(accounts: CompanyAccounts) -> str | None:
    return accounts.by_year[accounts.last_year].devise


def _ratio_value(ratio: Ratio, accounts: CompanyAccounts) -> float | None:
    """The value of the formula: without a rate there are no amounts, hence no ratio."""
    year = accounts.last_year
    return None if accounts.rate(year) is None else accounts.value(ratio.code, year)


def _turnover_before(accounts: CompanyAccounts) -> float | None:
    """The turnover of the year before at the rate of the last year; None if the currency changed."""
    year = accounts.last_year
    before = accounts.by_year.get(year - 1)
    if before is None or not accounts.by_year[year].joins(before):
        return None
    return _times(accounts.value(_TURNOVER, year - 1), accounts.rate(year))


def _times(value: float | None, rate: float | None) -> float | None:
    return None if value is None or rate is None else value * rate + 0.0


def _sparklines(sheet: Sheet, first: int, trend: int, rows: int) -> None:
    """The trends of one amount, as one group of sparklines."""
    if not rows:
        return
    start, stop = xl_col_to_name(first), xl_col_to_name(trend - 1)
    name = link_target(sheet.name, "").removeprefix("internal:")
    options = {
        "location": [xl_rowcol_to_cell(row, trend) for row in range(1, rows + 1)],
        "range": [f"{name}{start}{row + 1}:{stop}{row + 1}" for row in range(1, rows + 1)],
        "series_color": ACCENT,
        "negative_points": True,
        "last_point": True,
        "axis": True,
        "show_hidden": True,
    }
    sheet.raw.add_sparkline(1, trend, options)
