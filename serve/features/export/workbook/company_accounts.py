"""The annual accounts of the companies that get a sheet: figures and ratios by year, names of lines, formulas. Pure.

The formulas of `seeds/ratios.csv` become formulas of cells. On the sheet of a company the lines that were filed are
known, so `excel_formula` writes the alternative that holds: `(B12-B13)/B30`. In a column of many companies all rows
have one formula, so `general_formula` tests for itself which lines are there; it gives "" where a line lacks or the
denominator is not positive.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from serve.contract import seed_tables
from serve.contract.statement_table import Lines, label_of
from serve.features.export.workbook.export_data import ExportData
from shards.codec import record
from shards.ratios import accounts
from shards.ratios.accounts import Accounts, RatioValue, euros_per_unit
from shards.ratios.ratio_table import MONTHS, YEAR_MONTHS, Formula, Ratio, Term, ratios

# Years of a company at most (E5).
YEARS: Final = 5

# The cell of a line of the chart or a row of the table of ratios, so many years before; None: not filed.
Cell = Callable[[str, int], str | None]


@dataclass(frozen=True, slots=True)
class CompanyAccounts:
    """The accounts of one company.

    Attributes:
        row: the place of the company in the file.
        sheet: the name of its sheet.
        stored: its lines as JSON.
        by_year: the figures of each year, the last year first.
        ratios: every row of the table of ratios, amounts included, for every year.
    """

    row: int
    sheet: str
    stored: bytes
    by_year: Accounts
    ratios: Mapping[int, Mapping[str, RatioValue]]

    @property
    def lines(self) -> Lines:
        """The statement lines (E5)."""
        return record.lines(self.stored)

    @property
    def last_year(self) -> int:
        """The last fiscal year."""
        return next(iter(self.by_year))

    def rate(self, year: int) -> float | None:
        """Euros per unit of the currency of a year; None without a rate or without accounts."""
        found = self.by_year.get(year)
        return euros_per_unit(found.devise, year) if found else None

    def value(self, code: str, year: int) -> float | None:
        """A row of the table of ratios in a year."""
        found = self.ratios.get(year, {}).get(code)
        return found.value if found else None

    def euros(self, code: str, year: int) -> float | None:
        """An amount of the table of ratios in euros, at the rate of the year."""
        value, rate = self.value(code, year), self.rate(year)
        return None if value is None or rate is None else value * rate + 0.0


def accounts_of_sheets(data: ExportData, names: Mapping[int, str]) -> Sequence[CompanyAccounts]:
    """The accounts of the companies with a sheet, in the order of the file; `names` by row."""
    return [_accounts(row, names[row], stored) for row, stored in data.comptes.items()]


def amounts() -> Sequence[Ratio]:
    """The rows of the table of ratios that are amounts of money, as filed."""
    return [ratio for ratio in ratios().values() if ratio.unite == "montant" and not ratio.annual]


def proper_ratios() -> Sequence[Ratio]:
    """The rows of the table of ratios that are no amounts."""
    return [ratio for ratio in ratios().values() if not ratio.is_amount]


def line_label(line: Mapping[str, Any], lang: str) -> str:
    """The name of a line: as served in French, that of the chart in English where it has the code.

    >>> line_label({"code": "Debtors", "libelle": "Créances"}, "en")
    'Debtors'
    """
    return label(line["code"], label_of(line), lang)


def label(code: str | None, libelle: str, lang: str) -> str:
    """The same for a code and the French name."""
    known = seed_tables.line_labels().get(code or "")
    return known[1] if known and lang == "en" else libelle


def _accounts(row: int, sheet: str, stored: bytes) -> CompanyAccounts:
    by_year = accounts.by_year(record.lines(stored))
    return CompanyAccounts(row, sheet, stored, by_year, accounts.values(by_year))


def excel_formula(ratio: Ratio, cell: Cell) -> str | None:
    """The formula over the cells that are filled; None if a line lacks.

    Amounts of the table, which have no cell, are written out as the lines of which they are sums.
    """
    top = _first_computable(ratio.numerator, cell)
    if top is None or ratio.denominator is None:
        return top
    below = _first_computable(ratio.denominator, cell)
    if below is None:
        return None
    return f"{_factor(ratio)}{_group(top)}/{_group(below)}{_annual_factor(ratio, cell(MONTHS, 0))}"


def general_formula(ratio: Ratio, cell: Callable[[str, int], str]) -> str:
    """The formula over cells that may be empty."""
    top = _choice(ratio.numerator.alternatives, cell)
    if ratio.denominator is None:
        return top
    below = _choice(ratio.denominator.alternatives, cell)
    months = f"IF(N({cell(MONTHS, 0)})>0,{cell(MONTHS, 0)},{YEAR_MONTHS})" if ratio.annual else None
    # In a comparison a text is greater than any number; as a divisor it is an error, and caught.
    return (
        f'IFERROR(IF({below}>0,{_factor(ratio)}{top}/{below}{_annual_factor(ratio, months)},""),"")'
    )


def _first_computable(formula: Formula, cell: Cell) -> str | None:
    for terms in formula.alternatives:
        found = [(term, _formula_text(term, cell)) for term in terms]
        if all(text is not None or term.optional for term, text in found):
            return _sum([(term, text) for term, text in found if text is not None])
    return None


def _formula_text(term: Term, cell: Cell) -> str | None:
    text = cell(term.name, term.years_before)
    row = ratios().get(term.name)
    if text is not None or row is None or not row.is_amount:
        return text
    inner = _first_computable(row.numerator, lambda name, _: cell(name, term.years_before))
    return (
        None
        if inner is None
        else f"{_group(inner)}{_annual_factor(row, cell(MONTHS, term.years_before))}"
    )


def _choice(alternatives: Sequence[Sequence[Term]], cell: Callable[[str, int], str]) -> str:
    terms, *rest = alternatives
    needed = [cell(term.name, term.years_before) for term in terms if not term.optional]
    cells = [
        (term, f"N({text})" if term.optional else text)
        for term in terms
        for text in [cell(term.name, term.years_before)]
    ]
    otherwise = _choice(rest, cell) if rest else '""'
    return f"IF(COUNT({','.join(needed)})={len(needed)},{_sum(cells)},{otherwise})"


def _sum(terms: Sequence[tuple[Term, str]]) -> str:
    text = ""
    for term, cell in terms:
        size = abs(term.factor)
        text += ("-" if term.factor < 0 else "+") + ("" if size == 1 else f"{size:g}*") + cell
    return text.removeprefix("+")


def _annual_factor(ratio: Ratio, months: str | None) -> str:
    """The factor that makes a flow one of twelve months; none where the months are not stated."""
    if not ratio.annual or months is None:
        return ""
    return f"*{YEAR_MONTHS}/{months}" if ratio.annual > 0 else f"*{months}/{YEAR_MONTHS}"


def _factor(ratio: Ratio) -> str:
    return "" if ratio.factor == 1 else f"{ratio.factor:g}*"


def _group(text: str) -> str:
    """`text` as one operand."""
    return text if text.isalnum() else f"({text})"
