"""The table of a company's statements: a row for each line, a column for each fiscal year (E5). Pure.

The newest year comes first. The lines are the lines of the register: nothing is added up. The workbook and the web page
of a company show the same table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from serve.contract import seed_tables
from shards.codec.record import ETATS

GROUP: Final = "Consolidated"  # ends the code of a line of group accounts
_SMALL: Final = 1_000  # in the unit of the row; a row with a larger value is shown without decimals
_DETAIL: Final = "dont "  # begins the label of a part of the line above

# Statement lines as decoded JSON (`LigneComptes`).
StatementLines = Sequence[Mapping[str, Any]]

# In place of a change that means nothing, as after a loss.
NOT_SIGNIFICANT: Final = "n. s."
MOST_PERCENT: Final = 9.995  # a fraction: 999.5 %; a change from here on is shown as a multiple
_MOST_MULTIPLE: Final = 100  # a larger change has no meaning: the old figure was close to zero


def change(new: float, old: float) -> float | str:
    """The change from `old` to `new` as a fraction of `old`, or a text in its place.

    A change is not significant if `old` is zero or a loss, if `new` is a loss, or if `new` is more than 100 times
    `old`. A change that would be written as 1000 % or more is a multiple (`× 12`).

    >>> change(110, 100), change(1200, 100), change(5, -2), change(-163, 2.5), change(1, 0), change(129_022, 6)
    (0.1, '× 12', 'n. s.', 'n. s.', 'n. s.', 'n. s.')
    """
    if old <= 0 or new < 0 or new > _MOST_MULTIPLE * old:
        return NOT_SIGNIFICANT
    fraction = round(new / old - 1, 12)
    return f"× {new / old:.0f}" if fraction >= MOST_PERCENT else fraction


def describe_change(text: str, lang: str) -> str:
    """The text of a change that is not a percentage, in one language.

    >>> describe_change(NOT_SIGNIFICANT, "en"), describe_change(NOT_SIGNIFICANT, "fr"), describe_change("× 12", "en")
    ('n.m.', 'n. s.', '× 12')
    """
    return "n.m." if text == NOT_SIGNIFICANT and lang == "en" else text


@dataclass(slots=True)
class StatementRow:
    """A row of the table: the label of the newest year with this line, and the values by year."""

    etat: str
    code: str | None
    libelle: str
    ordre: int
    values: dict[int, float] = field(default_factory=dict)

    @property
    def is_aggregate(self) -> bool:
        """Whether the line is a sum of other lines, by its code or else by its label."""
        return (self.etat, self.code) in seed_tables.aggregates() or self.libelle.startswith(
            "Total"
        )

    @property
    def is_detail(self) -> bool:
        """Whether the line is a part of the line above (`dont …`)."""
        return self.libelle.startswith(_DETAIL)

    @property
    def shows_cents(self) -> bool:
        """Whether the row needs decimals: its values are small and not all whole numbers, such as a nominal value."""
        values = self.values.values()
        return any(value != int(value) for value in values) and max(map(abs, values)) < _SMALL


def rows_by_section(lines: StatementLines) -> dict[str, list[StatementRow]]:
    """Arrange `lines` as rows by section, in the order of the register. No value is lost.

    A line is identified across years by its code, or by its label if it has no code. A line that occurs twice in a
    year gets two rows.
    """
    rows: dict[tuple[str, str, int], StatementRow] = {}
    for line in sorted(lines, key=lambda line: (-line["exercice"], line["ordre"])):
        occurrence, libelle = 0, label_of(line)
        # A line of an older year joins the row of its code, unless that row already has a value for this year.
        while (key := (line["etat"], line["code"] or libelle, occurrence)) in rows:
            if line["exercice"] not in rows[key].values:
                break
            occurrence += 1
        row = rows.setdefault(key, StatementRow(line["etat"], line["code"], libelle, line["ordre"]))
        row.values[line["exercice"]] = line["valeur"]
    sections: dict[str, list[StatementRow]] = {etat: [] for etat in ETATS}
    for row in sorted(rows.values(), key=lambda row: row.ordre):
        sections[row.etat].append(row)
    return sections


def split_by_scope(lines: StatementLines) -> dict[str, StatementLines]:
    """The lines of the company (`societe`) and of its group (`groupe`); a scope without lines is left out."""
    scopes: dict[str, list[Mapping[str, Any]]] = {"societe": [], "groupe": []}
    for line in lines:
        scopes["groupe" if (line["code"] or "").endswith(GROUP) else "societe"].append(line)
    return {scope: scope_lines for scope, scope_lines in scopes.items() if scope_lines}


def label_of(line: Mapping[str, Any]) -> str:
    """The label of a line; for a line of an older build without a label, the label of its code, or the code itself.

    >>> [label_of({"code": code, "libelle": None}) for code in ("Goodwill", "X1", None)]
    ["Écart d'acquisition", 'X1', '']
    """
    code = line["code"] or ""
    label: str = line["libelle"] or seed_tables.line_labels().get(code, (code,))[0]
    return label


def currencies_of(lines: StatementLines) -> dict[int, str]:
    """The currency of each year whose lines have one; several currencies of a year are joined by ` / `."""
    currencies: dict[int, dict[str, None]] = {}
    for line in lines:
        if line["devise"] is not None:
            currencies.setdefault(line["exercice"], {})[line["devise"]] = None
    return {year: " / ".join(sorted(names)) for year, names in currencies.items()}
