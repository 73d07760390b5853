"""A sheet of financial statements (§4.6, E5): one row per line, one column per fiscal year.

The newest year comes first. The lines are those of the register: nothing is added up, and the
aggregates that it publishes are bold. A currency is never guessed: if years differ, each column
names its own.
"""

from collections.abc import Sequence

import orjson

from serve.data.statement_table import Lines, StatementRow, arranged, currencies_of
from serve.export.workbook import filter_lines
from serve.export.workbook.cell_values import within
from serve.export.workbook.export_data import AT, ExportData, Values
from serve.export.workbook.labels import Labels
from serve.export.workbook.sheet import Sheet


def write(sheet: Sheet, data: ExportData, row: int, labels: Labels) -> None:
    """Write the statements of the company in `row` of the file."""
    lines: Lines = orjson.loads(data.comptes[row])
    values = data.rows[row]
    years = sorted({line["exercice"] for line in lines}, reverse=True)
    currencies = currencies_of(lines)
    _head(sheet, data, values, labels, sorted(set(currencies.values())))
    sheet.widths(56, *[16] * len(years))
    look = sheet.styles
    top = 5
    sheet.text(top, 0, labels("line"), look.header)
    for col, year in enumerate(years, 1):
        sheet.raw.write_number(top, col, year, look.header_right)
    if len(set(currencies.values())) > 1:
        top += 1
        sheet.text(top, 0, labels("currency"), look.label)
        for col, year in enumerate(years, 1):
            sheet.text(top, col, currencies.get(year, ""), look.label)
    sheet.raw.freeze_panes(top + 1, 1)
    sheet.raw.repeat_rows(5, top)
    at = top + 1
    for etat, section in arranged(lines).items():
        if section:
            at = _section(sheet, at, labels(etat), section, years)


def _head(
    sheet: Sheet, data: ExportData, values: Values, labels: Labels, currencies: Sequence[str]
) -> None:
    look = sheet.styles
    names = filter_lines.country_names(data.reference, labels)
    about = [values[AT["id"]], names[values[AT["iso2"]]], values[AT["ville"]], values[AT["forme"]]]
    unit = (
        labels("unit", currencies=", ".join(currencies)) if currencies else labels("unit_unknown")
    )
    sheet.link(0, 0, within(labels("list")), labels("back"), look.bare_link)
    sheet.title(1, values[AT["nom"]])
    sheet.text(2, 0, " · ".join(part for part in about if part), look.subtitle)
    sheet.text(3, 0, unit, look.subtitle)


def _section(
    sheet: Sheet, at: int, title: str, section: Sequence[StatementRow], years: Sequence[int]
) -> int:
    """Write a title and its lines from row `at` on; return the row after a blank one."""
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
