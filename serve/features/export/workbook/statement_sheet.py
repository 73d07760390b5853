"""One company's annual accounts (§4.6, E5): one row per line, one column per fiscal year, ratios, a chart.

The newest year comes first. The lines are those of the register: nothing is added up, and the
aggregates that it publishes are bold. A currency is never guessed: if years differ, each column
names its own. Changes, amounts in euros and ratios are formulas over these cells.
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

_HEAD: Final = 5  # the row of the years
# The amounts that the chart shows, where there are some: of the first line with two known ones.
_CHARTED: Final = (("chiffre_affaires", "resultat"), ("total_actif", "capitaux_propres"))
_LABEL_WIDTH: Final = 56
_YEAR_WIDTH: Final = 16
_CHANGE_WIDTH: Final = 21


def write(sheet: Sheet, data: ExportData, accounts: CompanyAccounts, labels: Labels) -> None:
    """Write the accounts of a company that has some."""
    lines = accounts.lines
    years = sorted(accounts.by_year, reverse=True)
    currencies = currencies_of(lines)
    _head(sheet, data, accounts.row, labels, sorted(set(currencies.values())))
    sheet.widths(_LABEL_WIDTH, *[_YEAR_WIDTH] * len(years), _CHANGE_WIDTH, _YEAR_WIDTH, 3)
    look = sheet.styles
    sheet.text(_HEAD, 0, labels("line"), look.header)
    for col, year in enumerate(years, 1):
        sheet.raw.write_number(_HEAD, col, year, look.header_right)
    if len(years) > 1:
        span = f"{years[1]}–{years[0]}"
        sheet.text(_HEAD, len(years) + 1, labels("change", span=span), look.header_right)
        sheet.text(_HEAD, len(years) + 2, labels("change_percent"), look.header_right)
    top = _HEAD
    if len(set(currencies.values())) > 1:
        top += 1
        sheet.text(top, 0, labels("currency"), look.label)
        for col, year in enumerate(years, 1):
            sheet.text(top, col, currencies.get(year, ""), look.label)
    sheet.raw.freeze_panes(top + 1, 1)
    sheet.raw.repeat_rows(_HEAD, top)
    body = _Body(sheet, accounts, labels, years, top + 1)
    for etat, section in rows_by_section(lines).items():
        if section:
            body.section(labels(etat), section)
    body.euros()
    body.ratios()
    _chart(sheet, accounts, body, years, labels)


def _head(
    sheet: Sheet, data: ExportData, row: int, labels: Labels, currencies: Sequence[str]
) -> None:
    look = sheet.styles
    names = country_names(data.reference, labels)
    company = {name: values[row] for name, values in data.columns.items()}
    about = [company["id"], names[company["iso2"]], company["ville"], company["forme"]]
    unit = (
        labels("unit", currencies=", ".join(currencies)) if currencies else labels("unit_unknown")
    )
    sheet.title(0, company["nom"])
    sheet.text(1, 0, " · ".join(part for part in about if part), look.subtitle)
    sheet.text(2, 0, unit, look.subtitle)
    sheet.link(3, 0, link_target(labels("list")), labels("back"), look.bare_link)
    sheet.link(3, 1, link_target(labels("index")), labels("index"), look.bare_link)


@dataclass(slots=True)
class _Style:
    """The formats of a row: of its label, its amounts, and its change in percent."""

    label: Format
    amount: Format
    share: Format


class _Body:
    """The rows below the header, and the cells of the values by line of the chart and year."""

    def __init__(
        self,
        sheet: Sheet,
        accounts: CompanyAccounts,
        labels: Labels,
        years: Sequence[int],
        first: int,
    ) -> None:
        self.amounts: dict[str, int] = {}  # the rows (1, 2, …) of the amounts in euros, by code
        self._sheet, self._accounts, self._labels, self._years = sheet, accounts, labels, years
        self._next = first
        self._letters = {year: xl_col_to_name(col) for col, year in enumerate(years, 1)}
        self._cells: dict[tuple[str, int], str] = {}

    @property
    def _row(self) -> int:
        """The number of the next row, as formulas have it."""
        return self._next + 1

    def section(self, title: str, section: Sequence[StatementRow]) -> None:
        """The rows of a statement."""
        self._heading(title)
        look = self._sheet.styles
        bold_cents = _Style(look.bold_text, look.bold_cents, look.bold_share)
        bold = _Style(look.bold_text, look.bold_whole, look.bold_share)
        for line in section:
            if line.is_aggregate:
                style = bold_cents if line.shows_cents else bold
            else:
                text = look.indented if line.is_detail else look.text
                style = _Style(text, look.cents if line.shows_cents else look.whole, look.share)
            name = label(line.code, line.libelle, self._labels.lang)
            if line.code is not None:
                for year in line.values:
                    self._cells.setdefault((line.code, year), f"{self._letters[year]}{self._row}")
            self._line(name, line.values, style)
        self._next += 1

    def euros(self) -> None:
        """The amounts in euros: the rate of each year, and formulas that multiply by it."""
        rates = {year: self._accounts.rate(year) for year in self._years}
        amounts = [
            ratio
            for ratio in company_accounts.amounts()
            if any(self._accounts.euros(ratio.code, year) is not None for year in self._years)
        ]
        if not amounts:
            return
        look = self._sheet.styles
        self._heading(self._labels("in_euros"))
        rate_row = self._row
        self._values(self._labels("rate_of_year"), rates, look.text, look.rate)
        for ratio in amounts:
            self.amounts[ratio.code] = self._row
            formulas = {
                year: (f"{text}*{self._letters[year]}{rate_row}", value)
                for year in self._years
                if (value := self._accounts.euros(ratio.code, year)) is not None
                and (text := self._expression(ratio, year)) is not None
            }
            self._formulas(ratio.libelle[self._labels.lang], formulas, look.whole)
        self._next += 1
        self._cells |= {("", year): f"{self._letters[year]}{rate_row}" for year in self._years}

    def ratios(self) -> None:
        """The ratios that have a value in some year (`seeds/ratios.csv`)."""
        valued_ratios = []
        for ratio in company_accounts.proper_ratios():
            values = {year: self._accounts.value(ratio.code, year) for year in self._years}
            known = {year: value for year, value in values.items() if value is not None}
            if known:
                valued_ratios.append((ratio, known))
        if not valued_ratios:
            return
        self._heading(self._labels("ratios"))
        for ratio, known in valued_ratios:
            for year in known:
                self._cells[ratio.code, year] = f"{self._letters[year]}{self._row}"
            formulas = {
                year: (text, value)
                for year, value in known.items()
                if (text := self._expression(ratio, year)) is not None
            }
            style = self._sheet.styles.ratio[ratio.unite]
            self._formulas(ratio.libelle[self._labels.lang], formulas, style)

    def _expression(self, ratio: Ratio, year: int) -> str | None:
        text = company_accounts.excel_formula(
            ratio, lambda name, before: self._cells.get((name, year - before))
        )
        if text is None or ratio.unite not in ("EUR", "montant"):
            return text
        if ratio.unite == "EUR":
            return f"{text}*{self._cells['', year]}"
        return text if text.isalnum() else f"({text})"

    def _heading(self, title: str) -> None:
        self._sheet.section(self._next, title, len(self._years))
        self._next += 1

    def _line(self, name: str, values: Mapping[int, float | None], style: _Style) -> None:
        """A row of values, and its change between the last two years."""
        self._sheet.text(self._next, 0, name, style.label)
        self._numbers(values, style.amount)
        if len(self._years) > 1:
            new, old = (values.get(year) for year in self._years[:2])
            col, row = len(self._years) + 1, self._row
            if new is not None and old is not None:
                self._sheet.formula(self._next, col, f"B{row}-C{row}", new - old, style.amount)
                part = statement_table.change(new, old)
                if isinstance(part, str):
                    words = statement_table.in_words(part, self._labels.lang)
                    self._sheet.text(self._next, col + 1, words, style.share)
                else:
                    self._sheet.formula(self._next, col + 1, f"B{row}/C{row}-1", part, style.share)
        self._next += 1

    def _values(
        self, name: str, values: Mapping[int, float | None], text: Format, number: Format
    ) -> None:
        self._sheet.text(self._next, 0, name, text)
        self._numbers(values, number)
        self._next += 1

    def _formulas(
        self, name: str, formulas: Mapping[int, tuple[str, float]], style: Format
    ) -> None:
        self._sheet.text(self._next, 0, name, self._sheet.styles.text)
        for col, year in enumerate(self._years, 1):
            if year in formulas:
                self._sheet.formula(self._next, col, *formulas[year], style)
            else:
                self._sheet.raw.write_blank(self._next, col, None, style)
        self._next += 1

    def _numbers(self, values: Mapping[int, float | None], style: Format) -> None:
        for col, year in enumerate(self._years, 1):
            value = values.get(year)
            if value is None:
                self._sheet.raw.write_blank(self._next, col, None, style)
            else:
                self._sheet.raw.write_number(self._next, col, value, style)


def _chart(
    sheet: Sheet, accounts: CompanyAccounts, body: _Body, years: Sequence[int], labels: Labels
) -> None:
    """A chart of turnover and result in euros, or of assets and equity, beside the lines."""
    for codes in _CHARTED:
        shown = [code for code in codes if code in body.amounts]
        if codes[0] in shown:
            break
    else:
        return
    rows = {code: body.amounts[code] for code in shown}
    known = {code: [accounts.euros(code, year) for year in years] for code in shown}
    names = {ratio.code: ratio.libelle[labels.lang] for ratio in company_accounts.amounts()}
    series = [(names[code], rows[code] - 1, known[code]) for code in shown]
    chart_table.columns(sheet, (_HEAD, len(years) + 4), _HEAD, years, series)
