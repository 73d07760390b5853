"""The annual accounts of the companies that get a sheet: figures and ratios by year, names of lines. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from serve.contract import seed_tables
from serve.contract.statement_table import Lines, label_of
from serve.features.export.workbook.export_data import ExportData
from shards.codec import record
from shards.ratios import accounts
from shards.ratios.accounts import Accounts, RatioValue, euros_per_unit
from shards.ratios.ratio_table import Ratio, ratios

# Years of a company at most (E5).
YEARS: Final = 5


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


def of_sheets(data: ExportData, names: Mapping[int, str]) -> Sequence[CompanyAccounts]:
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
