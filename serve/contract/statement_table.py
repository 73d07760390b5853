"""The table of a company's statements: one row per line, one column per fiscal year (E5). Pure.

The newest year comes first. The lines are those of the register: nothing is added up. The workbook
and the web page of a company show the same table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from serve.contract import seed_tables
from shards.codec.record import ETATS

GROUP: Final = "Consolidated"  # ends the code of a line of group accounts
_SMALL: Final = 1_000
_DETAIL: Final = "dont "  # a line that is a part of the one above it

Lines = Sequence[Mapping[str, Any]]

NOT_SIGNIFICANT: Final = "n. s."
MOST_PERCENT: Final = 9.995  # 999 %, rounded; above it the multiple is said
_MOST_MULTIPLE: Final = 100  # above it the figure of before was next to nothing


def change(new: float, old: float) -> float | str:
    """The change from `old` to `new`, in parts of `old`, or the words that stand for it.

    A share of nothing or of a loss says nothing, nor does a change through zero or by more than 100 times; a long
    percentage is said as a multiple.

    >>> change(110, 100), change(1200, 100), change(5, -2), change(-163, 2.5), change(1, 0), change(129_022, 6)
    (0.1, '× 12', 'n. s.', 'n. s.', 'n. s.', 'n. s.')
    """
    if old <= 0 or new < 0 or new > _MOST_MULTIPLE * old:
        return NOT_SIGNIFICANT
    part = round(new / old - 1, 12)
    return f"× {new / old:.0f}" if part >= MOST_PERCENT else part


def in_words(part: str, lang: str) -> str:
    """A change that is no percentage, in the language of its reader.

    >>> in_words(NOT_SIGNIFICANT, "en"), in_words(NOT_SIGNIFICANT, "fr"), in_words("× 12", "en")
    ('n.m.', 'n. s.', '× 12')
    """
    return "n.m." if part == NOT_SIGNIFICANT and lang == "en" else part


@dataclass(slots=True)
class StatementRow:
    """One row: its label in the newest year that has it, its values by year."""

    etat: str
    code: str | None
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
        """Would whole numbers hide something: a nominal value, half a position?"""
        values = self.values.values()
        return any(value != int(value) for value in values) and max(map(abs, values)) < _SMALL


def rows_by_section(lines: Lines) -> dict[str, list[StatementRow]]:
    """Arrange `lines` as rows by section, in the order of the register; no value is lost.

    The code identifies a line from year to year, or its label where it has none. One that a year has twice
    gets two rows.
    """
    rows: dict[tuple[str, str, int], StatementRow] = {}
    for line in sorted(lines, key=lambda line: (-line["exercice"], line["ordre"])):
        again, libelle = 0, label_of(line)
        while (key := (line["etat"], line["code"] or libelle, again)) in rows:
            if line["exercice"] not in rows[key].values:
                break
            again += 1
        row = rows.setdefault(key, StatementRow(line["etat"], line["code"], libelle, line["ordre"]))
        row.values[line["exercice"]] = line["valeur"]
    sections: dict[str, list[StatementRow]] = {etat: [] for etat in ETATS}
    for row in sorted(rows.values(), key=lambda row: row.ordre):
        sections[row.etat].append(row)
    return sections


def by_scope(lines: Lines) -> dict[str, Lines]:
    """The lines of the company (`societe`) and those of its group (`groupe`); a scope without a line is left out."""
    scopes: dict[str, list[Mapping[str, Any]]] = {"societe": [], "groupe": []}
    for line in lines:
        scopes["groupe" if (line["code"] or "").endswith(GROUP) else "societe"].append(line)
    return {scope: own for scope, own in scopes.items() if own}


def label_of(line: Mapping[str, Any]) -> str:
    """The label of a line; of one without, as a build before the present one left it, what its code means.

    >>> [label_of({"code": code, "libelle": None}) for code in ("Goodwill", "X1", None)]
    ["Écart d'acquisition", 'X1', '']
    """
    code = line["code"] or ""
    named: str = line["libelle"] or seed_tables.line_labels().get(code, (code,))[0]
    return named


def currencies_of(lines: Lines) -> dict[int, str]:
    """The currency of each year that states one; several are joined by ` / `."""
    found: dict[int, dict[str, None]] = {}
    for line in lines:
        if line["devise"] is not None:
            found.setdefault(line["exercice"], {})[line["devise"]] = None
    return {year: " / ".join(sorted(names)) for year, names in found.items()}
