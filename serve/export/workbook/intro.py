"""The sheet Intro: what this file is, of which scope and data, and what stands where."""

from collections.abc import Mapping
from typing import Final

from serve.export.workbook import filter_lines, scope
from serve.export.workbook.cell_values import within
from serve.export.workbook.content import Content
from serve.export.workbook.labels import Labels
from serve.export.workbook.sheet import Sheet

_LEGEND: Final = ("legend_bold", "legend_link", "legend_empty", "legend_money")


def write(sheet: Sheet, content: Content, words: Labels, comptes: Mapping[int, str]) -> None:
    """Write the sheet; `comptes` are the names of the statements sheets, by row."""
    asked, look = content.asked, sheet.styles
    sheet.widths(34, 26, 60)
    sheet.title(0, words("title"))
    sheet.text(1, 0, words("subtitle", day=words.day(asked.published)), look.subtitle)
    row = _notice(sheet, 3, content, words)
    row = scope.totals(sheet, row, content, words)
    row = _section(sheet, row + 1, words("filters"))
    facts = [*filter_lines.lines(asked.query, content.reference, words)]
    facts += [
        (words("plan"), asked.plan.nom_en if words.lang == "en" else asked.plan.nom),
        (words("published"), words.day(asked.published)),
        (words("version"), asked.folder.name),
    ]
    for label, text in facts:
        sheet.text(row, 0, label, look.label)
        sheet.across(row, 1, 2, text, look.wrapped)
        row += 1
    row = _contents(sheet, row + 1, words, comptes)
    row = _section(sheet, row + 1, words("legend"))
    for name in _LEGEND:
        style = look.bold_text if name == "legend_bold" else look.label
        sheet.text(row, 0, words(name), look.link if name == "legend_link" else style)
        sheet.across(row, 1, 2, words(f"{name}_is"), look.wrapped)
        row += 1


def _notice(sheet: Sheet, row: int, content: Content, words: Labels) -> int:
    """That the file is not the whole scope, or that nothing was found."""
    asked, total, rows = content.asked, content.census.total, len(content.rows)
    if total == 0:
        text = words("empty")
    elif rows < total:
        plan = asked.plan
        name = plan.nom_en if words.lang == "en" else plan.nom
        cap = words.number(plan.lignes_par_export)
        capped = asked.limit == plan.lignes_par_export
        limit = words("limit_plan", plan=name, cap=cap) if capped else words("limit_asked")
        counts = {"total": words.number(total), "rows": words.number(rows)}
        text = words("truncated", limit=limit, **counts)
    else:
        return row
    sheet.across(row, 0, 2, text, sheet.styles.notice)
    return row + 2


def _contents(sheet: Sheet, row: int, words: Labels, comptes: Mapping[int, str]) -> int:
    row = _section(sheet, row, words("contents"))
    look = sheet.styles
    for name in ("scope", "countries", "sectors", "list", "contacts", "comptes", "method", "log"):
        about = words(f"about_{name}") if name != "comptes" else ""
        target = words(name)
        if name == "comptes":
            if not comptes:
                continue
            target, *_, last = [*comptes.values(), *comptes.values()]
            told = "about_compte" if len(comptes) == 1 else "about_comptes"
            about = words(told, n=words.number(len(comptes)), first=target, last=last)
        sheet.link(row, 0, within(target), words(name), look.link)
        sheet.across(row, 1, 2, about, look.wrapped)
        row += 1
    return row


def _section(sheet: Sheet, row: int, title: str) -> int:
    sheet.section(row, title, 2)
    return row + 1
