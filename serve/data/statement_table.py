"""Statement lines as a table: a line a row, a fiscal year a column, newest first (E5). Pure.

Lines are those of the register, untouched: nothing is added up. The workbook and the page of a
company show the same table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from serve.contract import seed_tables

SECTIONS: Final = ("bilan_actif", "bilan_passif", "compte_resultat", "annexe")

_SMALL: Final = 1_000
_DETAIL: Final = "dont "  # a line that is a part of the one above it

Lines = Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class StatementRow:
    """A row of the sheet: its label in the newest year that has it, its values by year."""

    etat: str
    code: str
    libelle: str
    ordre: int
    values: dict[int, float] = field(default_factory=dict)

    @property
    def is_aggregate(self) -> bool:
        return (self.etat, self.code) in seed_tables.aggregates() or self.libelle.startswith(
            "Total"
        )

    @property
    def is_detail(self) -> bool:
        return self.libelle.startswith(_DETAIL)

    @property
    def shows_cents(self) -> bool:
        """Would rounding for display hide something: a nominal value, half a post?"""
        values = self.values.values()
        return any(value != int(value) for value in values) and max(map(abs, values)) < _SMALL


def arranged(lines: Lines) -> dict[str, list[StatementRow]]:
    """The rows of each section, in its order; no value of `lines` is lost.

    A line is known from year to year by its code. One that a year has twice gets a row for each.
    """
    rows: dict[tuple[str, str, int], StatementRow] = {}
    for line in sorted(lines, key=lambda line: (-line["exercice"], line["ordre"])):
        again = 0
        while (key := (line["etat"], line["code"], again)) in rows:
            if line["exercice"] not in rows[key].values:
                break
            again += 1
        row = rows.setdefault(key, StatementRow(*key[:2], line["libelle"], line["ordre"]))
        row.values[line["exercice"]] = line["valeur"]
    found: dict[str, list[StatementRow]] = {etat: [] for etat in SECTIONS}
    for row in sorted(rows.values(), key=lambda row: row.ordre):
        found[row.etat].append(row)
    return found


def currencies_of(lines: Lines) -> dict[int, str]:
    """The currency of each year, where it is stated; several of one year stand side by side."""
    found: dict[int, dict[str, None]] = {}
    for line in lines:
        if line["devise"] is not None:
            found.setdefault(line["exercice"], {})[line["devise"]] = None
    return {year: " / ".join(sorted(names)) for year, names in found.items()}
