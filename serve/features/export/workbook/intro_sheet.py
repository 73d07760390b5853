"""The sheet Intro: the figures and the data of the file, its sheets, and a legend; its filters are in Périmètre."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from serve.features.export.workbook import aggregates
from serve.features.export.workbook.cell_values import link_target
from serve.features.export.workbook.export_data import ExportData
from serve.features.export.workbook.labels import Labels
from serve.features.export.workbook.sheet import Sheet
from serve.generation.country_sources import attributions, period

_CONTENTS: Final = ("scope", "countries", "sectors", "list", "contacts", "key_figures", "lines", "index",
                    "comptes", "method", "log")  # fmt: skip
_LEGEND: Final = ("legend_bold", "legend_link", "legend_empty", "legend_money", "legend_headcount",
                  "legend_formula")  # fmt: skip


def write(sheet: Sheet, data: ExportData, labels: Labels, comptes: Mapping[int, str]) -> None:
    """Write the sheet; `comptes` are the names of the statement sheets by row."""
    request, look = data.request, sheet.styles
    sheet.widths(34, 26, 60)
    sheet.title(0, labels("title"))
    sheet.text(1, 0, _subtitle(data, labels), look.subtitle)
    row = _notice(sheet, 3, data, labels)
    row = _totals(sheet, row, data, labels)
    row = _section(sheet, row + 1, labels("data"))
    facts = [
        (labels("plan"), request.plan.nom_en if labels.lang == "en" else request.plan.nom),
        (labels("published"), labels.day(request.published)),
        (labels("version"), request.folder.name),
        (
            labels("sources"),
            "; ".join(labels.attribution(one) for one in attributions(data.sources)),
        ),
    ]
    for label, text in facts:
        sheet.text(row, 0, label, look.label)
        sheet.write_merged(row, 1, 2, text, look.wrapped)
        row += 1
    row = _contents(sheet, row + 1, labels, comptes)
    row = _section(sheet, row + 1, labels("legend"))
    for name in _LEGEND:
        style = look.bold_text if name == "legend_bold" else look.label
        sheet.text(row, 0, labels(name), look.link if name == "legend_link" else style)
        sheet.write_merged(row, 1, 2, labels(f"{name}_is"), look.wrapped)
        row += 1


def _subtitle(data: ExportData, labels: Labels) -> str:
    """The scope and the age of its data, which is that of the registers' files (X9)."""
    days = period(data.sources)
    if days is None:
        return labels("subtitle")
    oldest, newest = map(labels.date, days)
    if oldest == newest:
        return labels("subtitle_day", day=oldest)
    return labels("subtitle_days", oldest=oldest, newest=newest)


def _notice(sheet: Sheet, row: int, data: ExportData, labels: Labels) -> int:
    """Write a notice if the file is not the whole scope or list, or if nothing was found."""
    request, total, rows = data.request, data.facets.total, data.count
    reasons = Counter(data.left_out().values())
    if total == 0:
        text = labels("empty")
    elif reasons:
        numbers = {name: reasons[name] for name in ("beyond", "gone", "unanswered")}
        numbers |= {"chosen": rows + reasons.total(), "rows": rows}
        shown = {name: labels.number(number) for name, number in numbers.items()}
        text = labels("own_partial", **shown)
    elif rows < total:
        plan = request.plan
        name = plan.nom_en if labels.lang == "en" else plan.nom
        cap = labels.number(plan.lignes_par_export)
        capped = request.limit == plan.lignes_par_export
        limit = labels("limit_plan", plan=name, cap=cap) if capped else labels("limit_asked")
        counts = {"total": labels.number(total), "rows": labels.number(rows)}
        text = labels("truncated", limit=limit, **counts)
    else:
        return row
    sheet.write_merged(row, 0, 2, text, sheet.styles.notice)
    return row + 2


def _totals(sheet: Sheet, row: int, data: ExportData, labels: Labels) -> int:
    """Write the figures of the whole export, one per line; return the row after them."""
    look = sheet.styles
    whole = aggregates.share(data.facets.total, data.turnovers)
    known = sum(amount is not None for amount in data.turnovers)
    sheet.section(row, labels("essentials"), 1)
    lines = {
        "total": whole.scope,
        "rows": whole.file,
        "with_comptes": len(data.comptes),
        "with_turnover": known,
        "sum": whole.sum,
        "median": whole.median,
    }
    for name, value in lines.items():
        if value is not None:
            row += 1
            sheet.text(row, 0, labels(name), look.label)
            sheet.raw.write_number(row, 1, value, look.whole)
    return row + 1


def _contents(sheet: Sheet, row: int, labels: Labels, comptes: Mapping[int, str]) -> int:
    row = _section(sheet, row, labels("contents"))
    look = sheet.styles
    for name in _CONTENTS:
        about = labels(f"about_{name}") if name != "comptes" else ""
        target = labels(name)
        if name == "comptes":
            if not comptes:
                continue
            target, *_, last = [*comptes.values(), *comptes.values()]
            about = "about_compte" if len(comptes) == 1 else "about_comptes"
            about = labels(about, n=labels.number(len(comptes)), first=target, last=last)
        sheet.link(row, 0, link_target(target), labels(name), look.link)
        sheet.write_merged(row, 1, 2, about, look.wrapped)
        row += 1
    return row


def _section(sheet: Sheet, row: int, title: str) -> int:
    sheet.section(row, title, 2)
    return row + 1
