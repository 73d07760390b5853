"""A sheet of financial statements (§4.6, E5): a line a row, a fiscal year a column, newest first.

Lines are those of the register, untouched: nothing is added up, and the aggregates that it
publishes are in bold. A currency is never guessed: where years differ, each column says its own.
"""

from collections.abc import Sequence

import orjson

from serve.data.statement_table import Lines, StatementRow, arranged, currencies_of
from serve.export.workbook import filter_lines
from serve.export.workbook.cell_values import within
from serve.export.workbook.content import AT, Content, Values
from serve.export.workbook.labels import Labels
from serve.export.workbook.sheet import Sheet


def write(sheet: Sheet, content: Content, row: int, words: Labels) -> None:
    """Write the statements of the company in that row of the file."""
    lines: Lines = orjson.loads(content.comptes[row])
    values = content.rows[row]
    years = sorted({line["exercice"] for line in lines}, reverse=True)
    currencies = currencies_of(lines)
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
    sheet: Sheet, content: Content, values: Values, words: Labels, currencies: Sequence[str]
) -> None:
    look = sheet.styles
    names = filter_lines.country_names(content.reference, words)
    about = [values[AT["id"]], names[values[AT["iso2"]]], values[AT["ville"]], values[AT["forme"]]]
    unit = words("unit", currencies=", ".join(currencies)) if currencies else words("unit_unknown")
    sheet.link(0, 0, within(words("list")), words("back"), look.bare_link)
    sheet.title(1, values[AT["nom"]])
    sheet.text(2, 0, " · ".join(part for part in about if part), look.subtitle)
    sheet.text(3, 0, unit, look.subtitle)


def _section(
    sheet: Sheet, at: int, title: str, section: Sequence[StatementRow], years: Sequence[int]
) -> int:
    """A title and its lines from row `at` on; returns the row after a blank one."""
    look, number = sheet.styles, sheet.raw.write_number
    sheet.section(at, title, len(years))
    for line in section:
        at += 1
        bold = line.is_aggregate
        detail = line.is_detail
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
