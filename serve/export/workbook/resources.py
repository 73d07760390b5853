"""The sheets Méthodologie and Journal: what the figures mean, and how this file came about.

The Journal is the only sheet that a second export of the same scope would not repeat to the letter.
"""

import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import xlsxwriter

from serve.contract import seed_tables
from serve.export.workbook.content import AT, Content
from serve.export.workbook.filter_lines import country_names
from serve.export.workbook.labels import Labels
from serve.export.workbook.sheet import Sheet, naive
from shards.format import FORMAT_VERSION

API_VERSION: Final = "1.0.0"  # §9
_LIMITS: Final = ("limit_total", "limit_null", "limit_dissolved", "limit_comptes",
                  "limit_columns", "limit_text")  # fmt: skip

Facts = Iterable[tuple[str, Any]]


def methodology(sheet: Sheet, content: Content, words: Labels) -> None:
    """Limits, sources, rates, fields."""
    look = sheet.styles
    sheet.widths(30, 24, 112)
    sheet.title(0, words("method"))
    sheet.section(2, words("limits"), 2)
    row = 3
    cap = content.asked.plan.societes_avec_comptes_par_export
    for name in _LIMITS:
        sheet.across(row, 0, 2, words(name, cap=cap), look.prose)
        row += 1
    names = country_names(content.reference, words)
    known = {place.iso2 for place in content.census.counts}
    sources = [
        (names[one.iso2], one.devise, one.registre)
        for one in content.reference.pays
        if one.iso2 in known
    ]
    heads = (words("country"), words("currency"), words("register"))
    row = _rows(sheet, row + 1, words("sources"), heads, sources)
    rates = list(_rates(content, words))
    heads = (words("currency_year"), words("rate"), words("source"))
    row = _rows(sheet, row, words("rates"), heads, rates)
    columns = [(one.title[words.lang], one.champ, one.definition[words.lang])
               for one in seed_tables.fields()]  # fmt: skip
    heads = (words("column"), words("field"), words("definition"))
    _rows(sheet, row, words("fields"), heads, columns)


def journal(sheet: Sheet, content: Content, words: Labels, seconds: Mapping[str, float]) -> None:
    """Parameters, plan, counts, timings, versions. `seconds`: what each step took so far."""
    asked, look = content.asked, sheet.styles
    plan = asked.plan
    sheet.widths(52, 60)
    sheet.title(0, words("log_head"))
    sheet.text(2, 0, words("made"), look.label)
    sheet.raw.write_datetime(2, 1, naive(asked.now), look.moment)
    row = _facts(sheet, 3, words("request"), [
        (words("request_id"), asked.request_id),
        (words("plan"), plan.nom_en if words.lang == "en" else plan.nom),
        (words("cap_rows"), plan.lignes_par_export),
        (words("cap_comptes"), plan.societes_avec_comptes_par_export),
        (words("with_contacts"), words("yes" if plan.coordonnees else "no")),
        (words("lang"), asked.lang),
    ])  # fmt: skip
    given = asked.given or (("—", words("none")),)
    row = _facts(sheet, row, words("parameters"), given)
    row = _facts(sheet, row, words("counts"), [
        (words("total"), content.census.total),
        (words("rows"), len(content.rows)),
        (words("comptes_sheets"), len(content.comptes)),
        (words("altered_texts"), sheet.book.altered.texts),
        (words("altered_links"), sheet.book.altered.links),
    ])  # fmt: skip
    steps = [(words(name), round(spent, 3)) for name, spent in seconds.items()]
    row = _facts(sheet, row, words("timings"), steps)
    _facts(sheet, row, words("versions"), [
        (words("version"), asked.folder.name),
        (words("format"), FORMAT_VERSION),
        (words("api"), API_VERSION),
        ("xlsxwriter", xlsxwriter.__version__),
        ("Python", platform.python_version()),
    ])  # fmt: skip


def _rates(content: Content, words: Labels) -> Iterable[tuple[str, float, str]]:
    """The rates of the currencies and years of the turnovers in the file."""
    used = {(values[AT["ca_devise"]], values[AT["ca_year"]]) for values in content.rows
            if values[AT["ca_eur"]] is not None}  # fmt: skip
    for (devise, annee), rate in seed_tables.rates().items():
        if (devise, annee) in used:
            yield f"{devise} {annee}", rate.taux, words(rate.source)


def _rows(
    sheet: Sheet, row: int, title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]
) -> int:
    """A titled table of texts and numbers, if it has rows; returns where the next one begins."""
    if not rows:
        return row
    sheet.section(row, title, len(heads) - 1)
    sheet.texts(row + 1, heads, sheet.styles.header)
    row += 2
    for values in rows:
        for col, value in enumerate(values):
            _value(sheet, row, col, value)
        row += 1
    return row + 1


def _facts(sheet: Sheet, row: int, title: str, facts: Facts) -> int:
    look = sheet.styles
    row += 1
    sheet.section(row, title, 1)
    for label, value in facts:
        row += 1
        sheet.text(row, 0, label, look.label)
        _value(sheet, row, 1, value)
    return row + 1


def _value(sheet: Sheet, row: int, col: int, value: str | int | float) -> None:
    look = sheet.styles
    if isinstance(value, str):
        sheet.across(row, col, col, value, look.wrapped)
    else:
        sheet.raw.write_number(row, col, value, look.fact)
