"""A sheet of financial statements (§4.6, E5): a line a row, a fiscal year a column, newest first.

Lines are those of the register, untouched: nothing is added up, and the aggregates that it
publishes are in bold. A currency is never guessed: where years differ, each column says its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from serve.workbook import filters, tables
from serve.workbook.content import AT, Content, Values
from serve.workbook.links import within
from serve.workbook.sheet import Sheet
from serve.workbook.words import Words

SECTIONS: Final = ("bilan_actif", "bilan_passif", "compte_resultat", "annexe")

_SMALL: Final = 1_000
_DETAIL: Final = "dont "  # a line that is a part of the one above it

Lines = Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class Line:
    """A row of the sheet: its label in the newest year that has it, its values by year."""

    etat: str
    code: str
    libelle: str
    ordre: int
    values: dict[int, float] = field(default_factory=dict)

    @property
    def is_aggregate(self) -> bool:
        return (self.etat, self.code) in tables.aggregates() or self.libelle.startswith("Total")

    @property
    def shows_cents(self) -> bool:
        """Would rounding for display hide something: a nominal value, half a post?"""
        values = self.values.values()
        return any(value != int(value) for value in values) and max(map(abs, values)) < _SMALL


def arranged(lines: Lines) -> dict[str, list[Line]]:
    """The rows of each section, in its order; no value of `lines` is lost.

    A line is known from year to year by its code. One that a year has twice gets a row for each.
    """
    rows: dict[tuple[str, str, int], Line] = {}
    for line in sorted(lines, key=lambda line: (-line["exercice"], line["ordre"])):
        again = 0
        while (key := (line["etat"], line["code"], again)) in rows:
            if line["exercice"] not in rows[key].values:
                break
            again += 1
        row = rows.setdefault(key, Line(*key[:2], line["libelle"], line["ordre"]))
        row.values[line["exercice"]] = line["valeur"]
    found: dict[str, list[Line]] = {etat: [] for etat in SECTIONS}
    for row in sorted(rows.values(), key=lambda row: row.ordre):
        found[row.etat].append(row)
    return found


def write(sheet: Sheet, content: Content, row: int, words: Words) -> None:
    """Write the statements of the company in that row of the file."""
    lines: Lines = orjson.loads(content.comptes[row])
    values = content.rows[row]
    years = sorted({line["exercice"] for line in lines}, reverse=True)
    currencies = _currencies(lines)
    _head(sheet, content, values, words, sorted(set(currencies.values())))
    sheet.widths(56, *[16] * len(years))
    look = sheet.styles
    top = 5
    sheet.text(top, 0, words("line"), look.header)
    for col, year in enumerate(years, 1):
        sheet.raw.write_number(top, col, year, look.header_right)
    if len(set(currencies.values())) > 1:
        top += 1
        sheet.text(top, 0, words("currency"), look.label)
        for col, year in enumerate(years, 1):
            sheet.text(top, col, currencies.get(year, ""), look.label)
    sheet.raw.freeze_panes(top + 1, 1)
    sheet.raw.repeat_rows(5, top)
    at = top + 1
    for etat, section in arranged(lines).items():
        if section:
            at = _section(sheet, at, words(etat), section, years)


def _head(
    sheet: Sheet, content: Content, values: Values, words: Words, currencies: Sequence[str]
) -> None:
    look = sheet.styles
    names = filters.country_names(content.reference, words)
    about = [values[AT["id"]], names[values[AT["iso2"]]], values[AT["ville"]], values[AT["forme"]]]
    unit = words("unit", currencies=", ".join(currencies)) if currencies else words("unit_unknown")
    sheet.link(0, 0, within(words("list")), words("back"), look.bare_link)
    sheet.title(1, values[AT["nom"]])
    sheet.text(2, 0, " · ".join(part for part in about if part), look.subtitle)
    sheet.text(3, 0, unit, look.subtitle)


def _section(
    sheet: Sheet, at: int, title: str, section: Sequence[Line], years: Sequence[int]
) -> int:
    """A title and its lines from row `at` on; returns the row after a blank one."""
    look, number = sheet.styles, sheet.raw.write_number
    sheet.section(at, title, len(years))
    for line in section:
        at += 1
        bold = line.is_aggregate
        detail = line.libelle.startswith(_DETAIL)
        plain = look.indented if detail else look.text
        sheet.text(at, 0, line.libelle, look.bold_text if bold else plain)
        if line.shows_cents:
            style = look.bold_cents if bold else look.cents
        else:
            style = look.bold_whole if bold else look.whole
        for col, year in enumerate(years, 1):
            value = line.values.get(year)
            if value is None:
                sheet.raw.write_blank(at, col, None, style)
            else:
                number(at, col, value, style)
    return at + 2


def _currencies(lines: Lines) -> dict[int, str]:
    """The currency of each year; several of one year stand side by side."""
    found: dict[int, dict[str, None]] = {}
    for line in lines:
        if line["devise"] is not None:
            found.setdefault(line["exercice"], {})[line["devise"]] = None
    return {year: " / ".join(sorted(names)) for year, names in found.items()}
