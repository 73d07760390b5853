"""The key figures of a company by year, from its statements: values, changes, shares. Pure.

The lines behind a figure are those of `seeds/ratios.csv`. A change is that of a year to the year before, in one
currency; without it there is none.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from serve.contract import seed_tables, statement_table
from serve.contract.statement_table import Lines, StatementRow
from shards.ratios import accounts
from shards.ratios.accounts import AnnualAccounts

Figures = Mapping[int, float]

# The figures in the order in which they are shown, with their names.
NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "chiffre_affaires": ("Chiffre d’affaires", "Turnover"),
    "resultat": ("Résultat", "Result"),
    "capitaux_propres": ("Capitaux propres", "Equity"),
    "total_actif": ("Total de l’actif", "Total assets"),
}
# The end of the label of a line of group accounts, as the build writes it; their heading says the same.
_OF_GROUP: Final = " (comptes consolidés)"
_BALANCE: Final = ("bilan_actif", "bilan_passif")


class KeyFigure(NamedTuple):
    """A figure of the last year, its change in parts of one, and its values of all years, oldest first."""

    code: str
    year: int
    value: float
    devise: str | None
    change: float | str | None
    values: Sequence[float]


class KeyFigures:
    """The key figures of a company.

    Attributes:
        by_code: the values of each figure by year.
        years: of the statements, the last one first.
    """

    def __init__(self, lines: Lines) -> None:
        self._accounts: Mapping[int, AnnualAccounts] = accounts.by_year(lines)
        self.years = tuple(self._accounts)
        by_code: dict[str, dict[int, float]] = {code: {} for code in NAMES}
        for year, found in accounts.values(self._accounts).items():
            for code, own in by_code.items():
                if (value := found[code].value) is not None:
                    own[year] = value
        self.by_code: Mapping[str, Figures] = by_code

    def latest_figures(self) -> Sequence[KeyFigure]:
        """Each figure that a year has, of the last such year."""
        found = []
        for code, own in self.by_code.items():
            if own:
                year = max(own)
                values = [own[one] for one in sorted(own)]
                devise = self._accounts[year].devise
                found.append(KeyFigure(code, year, own[year], devise, self.change(own), values))
        return found

    def change(self, own: Figures) -> float | str | None:
        """The change of the last of these values to that of the year before, as `statement_table.change` says it."""
        if not own:
            return None
        year = max(own)
        before = own.get(year - 1)
        if before is None or not self._accounts[year].joins(self._accounts[year - 1]):
            return None
        return statement_table.change(own[year], before)

    def share(self, row: StatementRow) -> float | None:
        """A line of the last year in parts of total assets, or of turnover in the income statement."""
        if not self.years or row.etat not in (*_BALANCE, "compte_resultat"):
            return None
        whole = self.by_code["total_actif" if row.etat in _BALANCE else "chiffre_affaires"]
        year = self.years[0]
        if year not in row.values or not whole.get(year):
            return None
        return row.values[year] / whole[year]

    def line_change(self, row: StatementRow) -> float | str | None:
        """The change of a line in the last year of the statements."""
        return self.change(row.values) if self.years and self.years[0] in row.values else None


def english_label(row: StatementRow) -> str | None:
    """The English label of a line of the chart of accounts; None for a line of the register's own."""
    labels = seed_tables.line_labels().get((row.code or "").removesuffix(statement_table.GROUP))
    return labels[1] if labels else None


def french_label(row: StatementRow) -> str:
    """The label as published, without the words that head the lines of a group.

    >>> french_label(StatementRow("bilan_actif", "AssetsConsolidated", "Actif (comptes consolidés)", 1))
    'Actif'
    """
    return row.libelle.removesuffix(_OF_GROUP)
