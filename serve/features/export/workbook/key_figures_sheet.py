"""The sheet of key figures: a row per company with a sheet, five years in euros, ratios as formulas.

Years are counted back from the last year of each company (N). A ratio is the same formula in the whole column
(company_accounts.general_formula), over cells of its own row, so it survives sorting and copying. The statement lines
that only ratios need are in collapsed columns at the right. Growth compares two years at the rate of the last year, so
it is the growth in the currency of the statements.
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

# The widths of the columns with values and of those with trends, in characters.
_VALUE_WIDTH: Final = 15
_TREND_WIDTH: Final = 16
# Ratios of growth compare this figure, the turnover of twelve months.
_TURNOVER: Final = "chiffre_affaires_annuel"
_HEADCOUNT: Final = "effectif"


def write(
    sheet: Sheet, data: ExportData, labels: Labels, companies: Sequence[CompanyAccounts]
) -> None:
    """Write the sheet of key figures, with a row for each of `companies`."""
    table = _KeyFigures(data, labels, companies, sheet)
    links = {place: company.sheet for place, company in enumerate(companies)}
    table_sheet.write(sheet, "chiffres_cles", table.columns, links)
    # Only the columns up to the first trend (that of the turnovers) are printed, because more would be unreadable.
    sheet.raw.print_area(0, 0, max(1, len(companies)), table.trends[0][1])
    for first, trend in table.trends:
        _insert_sparklines(sheet, first, trend, len(companies))
    # Excel would mark identifiers, and formulas that leave out neighbouring numbers, as errors.
    sheet.raw.ignore_errors({"number_stored_as_text": "A:C", "formula_range": "A:XFD"})


class _KeyFigures:
    """The columns of the sheet of key figures; formulas find the column of a value in `_column_of`."""

    def __init__(
        self,
        data: ExportData,
        labels: Labels,
        companies: Sequence[CompanyAccounts],
        sheet: Sheet,
    ) -> None:
        """Lay out the columns: the company, its last year, the amounts, the ratios, then the inputs of the ratios."""
        self._labels, self._companies, self._sheet = labels, companies, sheet
        rows = [company.row for company in companies]
        self.columns = [
            TableColumn.company_column(company_column(name, labels), data, rows)
            for name in (*IDENTITY, "secteur")
        ]
        # The column of a value, by name and years before the last year. -1 instead of 1 stands for the year before at
        # the rate of the last year, which only growth uses.
        self._column_of: dict[tuple[str, int], int] = {}
        # For each amount, the column of its first year and the column of its trend.
        self.trends: list[tuple[int, int]] = []
        self._add_column(
            "last_year", company_fields.YEAR, [company.last_year for company in companies], 10
        )
        self._add_column(
            "currency", company_fields.TEXT, [_last_currency(company) for company in companies], 9
        )
        for ratio in company_accounts.amounts():
            self._add_years(ratio)
        # All columns are assigned before the first formula, because formulas refer to columns on their right.
        first = len(self.columns)
        for number, ratio in enumerate(company_accounts.proper_ratios()):
            self._column_of[ratio.code, 0] = first + number
        first_input = first + len(company_accounts.proper_ratios())
        self._place_inputs(first_input)
        for ratio in company_accounts.proper_ratios():
            self._add_ratio(ratio)
        self._add_inputs()

    def _add_column(self, name: str, genre: str, values: Sequence[Any], width: float) -> None:
        """Add a column whose heading is the label `name`."""
        self.columns.append(TableColumn(self._labels(name), genre, values, width))

    def _add_years(self, ratio: Ratio) -> None:
        """Add a column for each of five years of an amount, oldest first, and an empty column for their sparkline.

        `_column_of` gets the columns of the years, for formulas; `trends` gets the first of them and that of the
        sparkline.
        """
        name = ratio.libelle[self._labels.lang]
        first = len(self.columns)
        for years_before in range(YEARS - 1, -1, -1):
            year = f"N-{years_before}" if years_before else "N"
            values = [
                company.euros(ratio.code, company.last_year - years_before)
                for company in self._companies
            ]
            self._column_of[ratio.code, years_before] = len(self.columns)
            title = f"{name} {year} (EUR)"
            self.columns.append(TableColumn(title, company_fields.AMOUNT, values, _VALUE_WIDTH))
        self.trends.append((first, len(self.columns)))
        title = self._labels("trend", figure=name)
        empty = [None] * len(self._companies)
        self.columns.append(TableColumn(title, company_fields.TEXT, empty, _TREND_WIDTH))

    def _add_ratio(self, ratio: Ratio) -> None:
        """Add the column of a ratio: a formula and its value for each company."""
        formulas = [
            (self._formula(ratio, row), _ratio_value(ratio, company))
            for row, company in enumerate(self._companies, 1)
        ]
        self.columns.append(
            TableColumn(
                ratio.libelle[self._labels.lang],
                company_fields.AMOUNT,
                formulas,
                _VALUE_WIDTH,
                self._sheet.styles.list_ratio[ratio.unite],
                is_formula=True,
            )
        )

    def _formula(self, ratio: Ratio, row: int) -> str:
        """The formula of a ratio in a row of the sheet; row 1 is the first company."""

        def cell(name: str, years_before: int) -> str:
            """The cell in this row for a value of the last year, or of the year before."""
            # The column -1 has the year before at the rate of the last year. So growth contains no change of this rate.
            col = self._column_of[name, -1 if years_before else 0]
            return f"{xl_col_to_name(col)}{row + 1}"

        return company_accounts.general_formula(ratio, cell)

    def _place_inputs(self, first: int) -> None:
        """Assign columns to the values that only ratios need, before formulas that refer to these columns are made."""
        free_columns = count(first)
        self._column_of[_HEADCOUNT, 0] = next(free_columns)
        self._column_of[_TURNOVER, 0] = next(free_columns)
        self._column_of[_TURNOVER, -1] = next(free_columns)
        for code in sorted(chart_lines()):
            self._column_of[code, 0] = next(free_columns)

    def _add_inputs(self) -> None:
        """Add the collapsed columns of values that only formulas of ratios need, in the order of `_place_inputs`."""
        labels = self._labels
        last_accounts = [company.by_year[company.last_year] for company in self._companies]
        headcounts = [company.value(_HEADCOUNT, company.last_year) for company in self._companies]
        self._add_collapsed_column(f"{labels('effectif')} N", headcounts)
        self._add_collapsed_column(
            ratios()[_TURNOVER].libelle[labels.lang] + " N",
            [company.euros(_TURNOVER, company.last_year) for company in self._companies],
        )
        self._add_collapsed_column(
            labels("turnover_before"), [_turnover_before(company) for company in self._companies]
        )
        for code in sorted(chart_lines()):
            values = [
                _multiply(
                    accounts.figures.get(code),
                    1.0 if code == MONTHS else company.rate(company.last_year),
                )
                for accounts, company in zip(last_accounts, self._companies, strict=True)
            ]
            french = seed_tables.line_labels()[code][0]
            self._add_collapsed_column(f"{label(code, french, labels.lang)} N [{code}]", values)

    def _add_collapsed_column(self, title: str, values: Sequence[float | None]) -> None:
        """Add a column of numbers to the collapsed group at the right, for formulas that refer to it."""
        self.columns.append(
            TableColumn(title, company_fields.AMOUNT, values, _VALUE_WIDTH, is_closed=True)
        )


def _last_currency(accounts: CompanyAccounts) -> str | None:
    """The currency of the last year."""
    return accounts.by_year[accounts.last_year].devise


def _ratio_value(ratio: Ratio, accounts: CompanyAccounts) -> float | None:
    """The value that the formula of a ratio gives for a company; without a rate there are no amounts, so no ratio."""
    year = accounts.last_year
    return None if accounts.rate(year) is None else accounts.value(ratio.code, year)


def _turnover_before(accounts: CompanyAccounts) -> float | None:
    """The turnover of the year before, at the rate of the last year; None if the currency changed."""
    year = accounts.last_year
    before = accounts.by_year.get(year - 1)
    if before is None or not accounts.by_year[year].has_same_currency(before):
        return None
    return _multiply(accounts.value(_TURNOVER, year - 1), accounts.rate(year))


def _multiply(value: float | None, rate: float | None) -> float | None:
    """The product, None if a factor is unknown; adding 0.0 turns -0.0 into 0.0."""
    return None if value is None or rate is None else value * rate + 0.0


def _insert_sparklines(sheet: Sheet, first: int, trend: int, rows: int) -> None:
    """Insert the trends of one amount, as one group of sparklines.

    Args:
        first: the column of the first year.
        trend: the column of the trend, next to the last year.
        rows: the number of companies.
    """
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
