"""The sheets Périmètre, Par pays and Par secteur (§4.6, F12): counts and amounts by part.

Counts cover the whole scope and the file, amounts the rows in the file. Each sheet has a native chart
beside its table.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from serve.features.export.workbook import aggregates, chart_table, filter_lines
from serve.features.export.workbook.aggregates import BOUNDS, Share
from serve.features.export.workbook.chart_table import ChartColumn
from serve.features.export.workbook.export_data import ExportData
from serve.features.export.workbook.labels import Labels
from serve.features.export.workbook.sheet import Sheet

_MILLION: Final = 1_000_000


def scope(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write Périmètre: the filters, and the rows of the file by turnover band."""
    look = sheet.styles
    sheet.widths(36, 17, 15, 19, 19, 3)
    sheet.title(0, labels("scope"))
    sheet.section(2, labels("filters"), 4)
    row = 3
    for label, text in filter_lines.lines(data.request, data.reference, labels):
        sheet.text(row, 0, label, look.label)
        sheet.write_merged(row, 1, 4, text, look.wrapped)
        row += 1
    sheet.section(row + 1, labels("by_band"), 4)
    shares = aggregates.bands(data.turnovers)
    held = [(name, one) for name, one in zip(_bands(labels), shares, strict=True) if one.file]
    bands = ChartColumn(labels("band"), "text", [name for name, _ in held], labels("all"))
    columns = [bands, *_file_columns([one for _, one in held], data, labels)]
    placed = chart_table.write(sheet, row + 2, columns)
    chart_table.bars(sheet, (row + 1, 6), labels("by_band"), placed, bands, columns[1])


def by_country(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write Par pays."""
    names = filter_lines.country_names(data.reference, labels)
    counts: Counter[str] = Counter()
    for place, number in data.facets.counts.items():
        counts[place.iso2] += number
    rows = [place.iso2 for place in data.places]
    found = aggregates.shares_by(rows, data.turnovers, counts)
    sheet.widths(8, 24, 14, 12, 12, 12, 19, 19, 3)
    code = ChartColumn(labels("code"), "text", list(found), labels("all"))
    label = ChartColumn(labels("country"), "text", [names[iso2] for iso2 in found])
    _sheet(sheet, data, labels, "countries", [code, label], list(found.values()))


def by_sector(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write Par secteur."""
    names = filter_lines.sector_names(data.reference, labels)
    counts: Counter[str | None] = Counter()
    for place, number in data.facets.counts.items():
        counts[place.secteur] += number
    rows = [place.secteur for place in data.places]
    found = aggregates.shares_by(rows, data.turnovers, counts)
    sheet.widths(70, 14, 12, 12, 12, 19, 19, 3)
    label = ChartColumn(labels("sector"), "text", [names[code] for code in found], labels("all"))
    _sheet(sheet, data, labels, "sectors", [label], list(found.values()))


def _sheet(
    sheet: Sheet,
    data: ExportData,
    labels: Labels,
    name: str,
    heads: Sequence[ChartColumn],
    shares: Sequence[Share],
) -> None:
    """Write one table, the largest part of the scope first, and its chart."""
    sheet.title(0, labels(name))
    sheet.text(1, 0, labels("note_amounts"), sheet.styles.subtitle)
    total = data.facets.total
    scope = ChartColumn(labels("in_scope"), "whole", [one.scope for one in shares], total)
    share = ChartColumn(
        labels("share"), "share", [one.scope / total for one in shares], 1 if total else None
    )
    columns = [*heads, scope, share, *_file_columns(shares, data, labels)]
    placed = chart_table.write(sheet, 3, columns)
    last = len(placed.columns)
    sheet.raw.freeze_panes(4, len(heads))
    sheet.raw.repeat_rows(3)
    chart_table.bars(sheet, (3, last + 1), labels(f"chart_{name}"), placed, heads[-1], scope)


def _file_columns(shares: Sequence[Share], data: ExportData, labels: Labels) -> list[ChartColumn]:
    """The columns about the rows in the file."""
    rows = data.count
    whole = aggregates.share(rows, data.turnovers)
    fractions = [one.file / rows if rows else None for one in shares]
    return [
        ChartColumn(labels("in_file"), "whole", [one.file for one in shares], rows),
        ChartColumn(labels("file_share"), "share", fractions, 1 if rows else None),
        ChartColumn(labels("sum"), "whole", [one.sum for one in shares], whole.sum),
        ChartColumn(labels("median"), "whole", [one.median for one in shares], whole.median),
    ]


def _bands(labels: Labels) -> list[str]:
    """The names of the bands of `aggregates.bands`."""
    texts = [_euros(bound, labels) for bound in BOUNDS]
    between = [
        labels("range", low=low, high=high) if low != texts[0] else labels("below", high=high)
        for low, high in pairwise(texts)
    ]
    return [labels("no_turnover"), labels("negative"), *between, labels("above", low=texts[-1])]


def _euros(amount: float, labels: Labels) -> str:
    if amount < _MILLION:
        return labels("k", n=int(amount // 1_000))
    return labels("m", n=int(amount // _MILLION))
