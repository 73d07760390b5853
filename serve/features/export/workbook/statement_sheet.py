"""The sheet of one company's statements (§4.6, E5): a row per line, a column per fiscal year, ratios, a chart.

The newest year is first. The lines are those of the register: no sum is added, and the aggregates that the register
publishes are bold. A currency is never guessed: if years have different currencies, each column states its currency.
Changes, amounts in euros and ratios are formulas over these cells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from xlsxwriter.format import Format
from xlsxwriter.utility import xl_col_to_name

from serve.contract import statement_table
from serve.contract.statement_table import StatementRow, currencies_of, rows_by_section
from serve.features.export.workbook import chart_table, company_accounts
from serve.features.export.workbook.company_accounts import CompanyAccounts, label
from serve.features.export.workbook.export_data import ExportData
from serve.features.export.workbook.labels import Labels, country_names
from serve.features.export.workbook.sheet import Sheet, link_target
from shards.ratios.ratio_table import Ratio

_YEARS_ROW: Final = 5  # the row of the years
# Pairs of amounts; the chart shows the first pair whose first amount has values.
_CHARTED: Final = (("chiffre_affaires", "resultat"), ("total_actif", "capitaux_propres"))
# The widths of the columns, in characters.
_LABEL_WIDTH: Final = 56
_YEAR_WIDTH: Final = 16
_CHANGE_WIDTH: Final = 21


def write(sheet: Sheet, data: ExportData, accounts: CompanyAccounts, labels: Labels) -> None:
    """Write the sheet of one company: its statement lines, the amounts in euros, the ratios and a chart.

    There is a column per year, the newest first. If there are several years, two columns show the change between the
    last two; if the years have different currencies, a row names them.
    """
    lines = accounts.lines
    years = sorted(accounts.by_year, reverse=True)
    currencies = currencies_of(lines)
    _write_heading(sheet, data, accounts.row, labels, sorted(set(currencies.values())))
    sheet.widths(_LABEL_WIDTH, *[_YEAR_WIDTH] * len(years), _CHANGE_WIDTH, _YEAR_WIDTH, 3)
    styles = sheet.styles
    sheet.text(_YEARS_ROW, 0, labels("line"), styles.header)
    for col, year in enumerate(years, 1):
        sheet.raw.write_number(_YEARS_ROW, col, year, styles.header_right)
    if len(years) > 1:
        span = f"{years[1]}–{years[0]}"
        sheet.text(_YEARS_ROW, len(years) + 1, labels("change", span=span), styles.header_right)
        sheet.text(_YEARS_ROW, len(years) + 2, labels("change_percent"), styles.header_right)
    last_header_row = _YEARS_ROW
    if len(set(currencies.values())) > 1:
        last_header_row += 1
        sheet.text(last_header_row, 0, labels("currency"), styles.label)
        for col, year in enumerate(years, 1):
            sheet.text(last_header_row, col, currencies.get(year, ""), styles.label)
    sheet.raw.freeze_panes(last_header_row + 1, 1)
    sheet.raw.repeat_rows(_YEARS_ROW, last_header_row)
    body = _Body(sheet, accounts, labels, years, last_header_row + 1)
    for etat, section in rows_by_section(lines).items():
        if section:
            body.write_section(labels(etat), section)
    body.write_euros()
    body.write_ratios()
    _insert_chart(sheet, accounts, body, years, labels)


def _write_heading(
    sheet: Sheet, data: ExportData, row: int, labels: Labels, currencies: Sequence[str]
) -> None:
    """Write the name of the company, its place, the currencies, and links to the lists."""
    styles = sheet.styles
    names = country_names(data.reference, labels)
    company = {name: values[row] for name, values in data.columns.items()}
    about = [company["id"], names[company["iso2"]], company["ville"], company["forme"]]
    unit = (
        labels("unit", currencies=", ".join(currencies)) if currencies else labels("unit_unknown")
    )
    sheet.title(0, company["nom"])
    sheet.text(1, 0, " · ".join(part for part in about if part), styles.subtitle)
    sheet.text(2, 0, unit, styles.subtitle)
    sheet.link(3, 0, link_target(labels("list")), labels("back"), styles.bare_link)
    sheet.link(3, 1, link_target(labels("index")), labels("index"), styles.bare_link)


@dataclass(slots=True)
class _RowFormats:
    """The formats of a row: for its label, its amounts, and its change in percent."""

    label: Format
    amount: Format
    share: Format


class _Body:
    """The rows below the header, and the cells of their values by code and year."""

    def __init__(
        self,
        sheet: Sheet,
        accounts: CompanyAccounts,
        labels: Labels,
        years: Sequence[int],
        first: int,
    ) -> None:
        """Begin at the row `first` (counted from 0), without rows; `years` are the years of the columns."""
        self.amounts: dict[str, int] = {}  # the rows (1, 2, …) of the amounts in euros, by code
        self._sheet, self._accounts, self._labels, self._years = sheet, accounts, labels, years
        self._next_row = first
        self._letters = {year: xl_col_to_name(col) for col, year in enumerate(years, 1)}
        # The cells by code and year; the code "" stands for the exchange rate of the year.
        self._cells: dict[tuple[str, int], str] = {}

    @property
    def _row_number(self) -> int:
        """The number of the next row in formulas, which count from 1."""
        return self._next_row + 1

    def write_section(self, title: str, section: Sequence[StatementRow]) -> None:
        """Write one statement, such as the balance sheet: a heading and rows, to whose cells later formulas refer."""
        self._write_section_heading(title)
        styles = self._sheet.styles
        bold_cents = _RowFormats(styles.bold_text, styles.bold_cents, styles.bold_share)
        bold = _RowFormats(styles.bold_text, styles.bold_whole, styles.bold_share)
        for line in section:
            if line.is_aggregate:
                style = bold_cents if line.shows_cents else bold
            else:
                text = styles.indented if line.is_detail else styles.text
                style = _RowFormats(
                    text, styles.cents if line.shows_cents else styles.whole, styles.share
                )
            name = label(line.code, line.libelle, self._labels.lang)
            if line.code is not None:
                for year in line.values:
                    self._cells.setdefault(
                        (line.code, year), f"{self._letters[year]}{self._row_number}"
                    )
            self._write_line(name, line.values, style)
        self._next_row += 1

    def write_euros(self) -> None:
        """Write the amounts in euros: the rate of each year, and formulas that multiply by the rate.

        `amounts` gets the rows, for the chart, and `_cells` the cells of the rates, for ratios in euros. If no amount
        is known in euros, nothing is written.
        """
        rates = {year: self._accounts.rate(year) for year in self._years}
        amounts = [
            ratio
            for ratio in company_accounts.amounts()
            if any(self._accounts.euros(ratio.code, year) is not None for year in self._years)
        ]
        if not amounts:
            return
        styles = self._sheet.styles
        self._write_section_heading(self._labels("in_euros"))
        rate_row = self._row_number
        self._write_values(self._labels("rate_of_year"), rates, styles.text, styles.rate)
        for ratio in amounts:
            self.amounts[ratio.code] = self._row_number
            formulas = {
                year: (f"{text}*{self._letters[year]}{rate_row}", value)
                for year in self._years
                if (value := self._accounts.euros(ratio.code, year)) is not None
                and (text := self._expression(ratio, year)) is not None
            }
            self._write_formulas(ratio.libelle[self._labels.lang], formulas, styles.whole)
        self._next_row += 1
        self._cells |= {("", year): f"{self._letters[year]}{rate_row}" for year in self._years}

    def write_ratios(self) -> None:
        """Write the ratios of `seeds/ratios.csv` that have a value in some year, as formulas over the cells above."""
        valued_ratios = []
        for ratio in company_accounts.proper_ratios():
            values = {year: self._accounts.value(ratio.code, year) for year in self._years}
            present = {year: value for year, value in values.items() if value is not None}
            if present:
                valued_ratios.append((ratio, present))
        if not valued_ratios:
            return
        self._write_section_heading(self._labels("ratios"))
        for ratio, present in valued_ratios:
            for year in present:
                self._cells[ratio.code, year] = f"{self._letters[year]}{self._row_number}"
            formulas = {
                year: (text, value)
                for year, value in present.items()
                if (text := self._expression(ratio, year)) is not None
            }
            style = self._sheet.styles.ratio[ratio.unite]
            self._write_formulas(ratio.libelle[self._labels.lang], formulas, style)

    def _expression(self, ratio: Ratio, year: int) -> str | None:
        """The formula of a ratio in a year; a ratio in euros is multiplied by the rate of the year."""
        text = company_accounts.excel_formula(
            ratio, lambda name, before: self._cells.get((name, year - before))
        )
        if text is None or ratio.unite not in ("EUR", "montant"):
            return text
        if ratio.unite == "EUR":
            return f"{text}*{self._cells['', year]}"
        # `write_euros` multiplies this formula by the rate, so a formula of more than one cell needs parentheses.
        return text if text.isalnum() else f"({text})"

    def _write_section_heading(self, title: str) -> None:
        """Write the heading of a section into the next row."""
        self._sheet.section(self._next_row, title, len(self._years))
        self._next_row += 1

    def _write_line(
        self, name: str, values: Mapping[int, float | None], style: _RowFormats
    ) -> None:
        """Write a row of values, and its change between the last two years."""
        self._sheet.text(self._next_row, 0, name, style.label)
        self._write_numbers(values, style.amount)
        if len(self._years) > 1:
            # The newest year is in column B of the sheet, the year before in column C.
            new, old = (values.get(year) for year in self._years[:2])
            col, row = len(self._years) + 1, self._row_number
            if new is not None and old is not None:
                self._sheet.formula(self._next_row, col, f"B{row}-C{row}", new - old, style.amount)
                change = statement_table.change(new, old)
                if isinstance(change, str):
                    words = statement_table.describe_change(change, self._labels.lang)
                    self._sheet.text(self._next_row, col + 1, words, style.share)
                else:
                    self._sheet.formula(
                        self._next_row, col + 1, f"B{row}/C{row}-1", change, style.share
                    )
        self._next_row += 1

    def _write_values(
        self, name: str, values: Mapping[int, float | None], text: Format, number: Format
    ) -> None:
        """Write a row with a name and a number for each year; `text` and `number` are the formats of the cells."""
        self._sheet.text(self._next_row, 0, name, text)
        self._write_numbers(values, number)
        self._next_row += 1

    def _write_formulas(
        self, name: str, formulas: Mapping[int, tuple[str, float]], style: Format
    ) -> None:
        """Write a row with a name and a formula with its value for each year; other years are blank."""
        self._sheet.text(self._next_row, 0, name, self._sheet.styles.text)
        for col, year in enumerate(self._years, 1):
            if year in formulas:
                self._sheet.formula(self._next_row, col, *formulas[year], style)
            else:
                self._sheet.raw.write_blank(self._next_row, col, None, style)
        self._next_row += 1

    def _write_numbers(self, values: Mapping[int, float | None], style: Format) -> None:
        """Write the number of each year into the next row; a year without a value is blank."""
        for col, year in enumerate(self._years, 1):
            value = values.get(year)
            if value is None:
                self._sheet.raw.write_blank(self._next_row, col, None, style)
            else:
                self._sheet.raw.write_number(self._next_row, col, value, style)


def _insert_chart(
    sheet: Sheet, accounts: CompanyAccounts, body: _Body, years: Sequence[int], labels: Labels
) -> None:
    """Insert a chart of turnover and result in euros, or of assets and equity, to the right of the lines.

    Without a row of turnover or of total assets in euros there is no chart.
    """
    for codes in _CHARTED:
        charted = [code for code in codes if code in body.amounts]
        if codes[0] in charted:
            break
    else:
        return
    rows = {code: body.amounts[code] for code in charted}
    amounts = {code: [accounts.euros(code, year) for year in years] for code in charted}
    names = {ratio.code: ratio.libelle[labels.lang] for ratio in company_accounts.amounts()}
    # The rows of `amounts` count from 1, those of the chart from 0.
    series = [(names[code], rows[code] - 1, amounts[code]) for code in charted]
    # Between the years and the chart are the two columns of changes and an empty column.
    chart_table.insert_year_chart(sheet, (_YEARS_ROW, len(years) + 4), _YEARS_ROW, years, series)
