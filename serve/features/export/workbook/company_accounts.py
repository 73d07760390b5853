"""The statements of the companies that get a sheet: figures and ratios by year, names of lines, formulas.

The formulas of `seeds/ratios.csv` become Excel formulas. The sheet of a company has only the lines that were filed, so
`excel_formula` writes the alternative that can be computed: `(B12-B13)/B30`. In a column of many companies all rows
have the same formula, so `general_formula` tests which lines are present; it gives "" if a line is missing or the
denominator is not positive.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from serve.contract import seed_tables
from serve.contract.statement_table import StatementLines, label_of
from serve.features.export.workbook.export_data import ExportData
from shards.codec import record
from shards.ratios import accounts
from shards.ratios.accounts import Accounts, RatioValue, euros_per_unit
from shards.ratios.ratio_table import MONTHS, YEAR_MONTHS, Formula, Ratio, Term, ratios

# The most years of a company (E5).
YEARS: Final = 5

# A function from a code (of a statement line or a ratio) and a number of years before to the cell of the value; None if
# the value was not filed.
CellLookup = Callable[[str, int], str | None]


@dataclass(frozen=True, slots=True)
class CompanyAccounts:
    """The statements of one company.

    Attributes:
        row: the row of the company in the file.
        sheet: the name of the company's sheet.
        stored: the statement lines as JSON.
        by_year: the figures of each fiscal year, the last year first.
        ratios: all rows of the table of ratios, amounts included, by fiscal year.
    """

    row: int
    sheet: str
    stored: bytes
    by_year: Accounts
    ratios: Mapping[int, Mapping[str, RatioValue]]

    @property
    def lines(self) -> StatementLines:
        """The statement lines (E5)."""
        return record.lines(self.stored)

    @property
    def last_year(self) -> int:
        """The last fiscal year."""
        return next(iter(self.by_year))

    def rate(self, year: int) -> float | None:
        """Euros per unit of the currency of a year; None without a rate or without statements."""
        figures = self.by_year.get(year)
        return euros_per_unit(figures.devise, year) if figures else None

    def value(self, code: str, year: int) -> float | None:
        """The value of a row of the table of ratios in a year; None if it cannot be computed."""
        ratio = self.ratios.get(year, {}).get(code)
        return ratio.value if ratio else None

    def euros(self, code: str, year: int) -> float | None:
        """An amount of the table of ratios in euros, at the rate of its year."""
        value, rate = self.value(code, year), self.rate(year)
        # The addition of 0.0 turns -0.0 into 0.0, so that the file has no negative zero.
        return None if value is None or rate is None else value * rate + 0.0


def accounts_of_sheets(data: ExportData, names: Mapping[int, str]) -> Sequence[CompanyAccounts]:
    """The statements of the companies with a sheet, in the order of the file; `names` has the sheets by row."""
    return [_accounts(row, names[row], stored) for row, stored in data.comptes.items()]


def amounts() -> Sequence[Ratio]:
    """The rows of the table of ratios that are amounts of money as filed, not converted to twelve months."""
    return [ratio for ratio in ratios().values() if ratio.unite == "montant" and not ratio.annual]


def proper_ratios() -> Sequence[Ratio]:
    """The rows of the table of ratios that are not amounts."""
    return [ratio for ratio in ratios().values() if not ratio.is_amount]


def line_label(line: Mapping[str, Any], lang: str) -> str:
    """The name of a line: in French as served; in English from the chart of accounts, if the chart has the code.

    >>> line_label({"code": "Debtors", "libelle": "Créances"}, "en")
    'Debtors'
    """
    return label(line["code"], label_of(line), lang)


def label(code: str | None, libelle: str, lang: str) -> str:
    """The name of a line: `libelle` in French; in English from the chart of accounts, if the chart has the code."""
    names = seed_tables.line_labels().get(code or "")
    return names[1] if names and lang == "en" else libelle


def _accounts(row: int, sheet: str, stored: bytes) -> CompanyAccounts:
    """The statements of one company, decoded, with the figures and ratios of each year."""
    by_year = accounts.accounts_by_year(record.lines(stored))
    return CompanyAccounts(row, sheet, stored, by_year, accounts.values(by_year))


def excel_formula(ratio: Ratio, cell: CellLookup) -> str | None:
    """The formula of a ratio of one company, such as `(B12-B13)/B30`; None if the company did not file a needed line.

    The sheet has no cells for the amounts of the table of ratios, so the formula has the sums of their lines instead.
    """
    numerator = _first_computable(ratio.numerator, cell)
    if numerator is None or ratio.denominator is None:
        return numerator
    denominator = _first_computable(ratio.denominator, cell)
    if denominator is None:
        return None
    return (
        f"{_factor(ratio)}{_parenthesized(numerator)}/{_parenthesized(denominator)}"
        f"{_annual_factor(ratio, cell(MONTHS, 0))}"
    )


def general_formula(ratio: Ratio, cell: Callable[[str, int], str]) -> str:
    """The formula of a ratio over cells that can be empty; all rows of a column have it, with their own row number."""
    numerator = _first_present(ratio.numerator.alternatives, cell)
    if ratio.denominator is None:
        return numerator
    denominator = _first_present(ratio.denominator.alternatives, cell)
    months = f"IF(N({cell(MONTHS, 0)})>0,{cell(MONTHS, 0)},{YEAR_MONTHS})" if ratio.annual else None
    # In a comparison, a text is greater than any number; as a divisor it is an error, which IFERROR catches.
    return (
        f"IFERROR(IF({denominator}>0,{_factor(ratio)}{numerator}/{denominator}"
        f'{_annual_factor(ratio, months)},""),"")'
    )


def _first_computable(formula: Formula, cell: CellLookup) -> str | None:
    """The Excel formula of the first alternative whose required terms have cells; None if no alternative has them."""
    for terms in formula.alternatives:
        texts = [(term, _formula_text(term, cell)) for term in terms]
        if all(text is not None or term.optional for term, text in texts):
            return _sum_formula([(term, text) for term, text in texts if text is not None])
    return None


def _formula_text(term: Term, cell: CellLookup) -> str | None:
    """The cell of a term, or the formula of an amount without a cell; None if it cannot be computed."""
    text = cell(term.name, term.years_before)
    row = ratios().get(term.name)
    if text is not None or row is None or not row.is_amount:
        return text
    inner = _first_computable(row.numerator, lambda name, _: cell(name, term.years_before))
    return (
        None
        if inner is None
        else f"{_parenthesized(inner)}{_annual_factor(row, cell(MONTHS, term.years_before))}"
    )


def _first_present(alternatives: Sequence[Sequence[Term]], cell: Callable[[str, int], str]) -> str:
    """A formula that computes the first alternative whose required cells are numbers; "" if there is none.

    The cell of an optional term is inside `N()`, so that an empty cell counts as 0.
    """
    terms, *further_alternatives = alternatives
    needed = [cell(term.name, term.years_before) for term in terms if not term.optional]
    cells = [
        (term, f"N({text})" if term.optional else text)
        for term in terms
        for text in [cell(term.name, term.years_before)]
    ]
    otherwise = _first_present(further_alternatives, cell) if further_alternatives else '""'
    return f"IF(COUNT({','.join(needed)})={len(needed)},{_sum_formula(cells)},{otherwise})"


def _sum_formula(terms: Sequence[tuple[Term, str]]) -> str:
    """The sum of the terms with their factors, as a formula."""
    text = ""
    for term, cell in terms:
        size = abs(term.factor)
        text += ("-" if term.factor < 0 else "+") + ("" if size == 1 else f"{size:g}*") + cell
    return text.removeprefix("+")


def _annual_factor(ratio: Ratio, months: str | None) -> str:
    """The factor that converts the flow of a ratio to twelve months; "" without a flow or a number of months.

    `ratio.annual` is 1 if the flow is the numerator, -1 if it is the denominator.
    """
    if not ratio.annual or months is None:
        return ""
    return f"*{YEAR_MONTHS}/{months}" if ratio.annual > 0 else f"*{months}/{YEAR_MONTHS}"


def _factor(ratio: Ratio) -> str:
    """The constant factor of a ratio and `*`; "" for 1."""
    return "" if ratio.factor == 1 else f"{ratio.factor:g}*"


def _parenthesized(text: str) -> str:
    """`text` as one operand of a formula: in parentheses, unless it is a cell or a number."""
    return text if text.isalnum() else f"({text})"
