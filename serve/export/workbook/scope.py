"""The sheets Périmètre, Par pays and Par secteur (§4.6, F12): how much of what is where.

Counts are of the whole scope and of the file, amounts of the rows in the file; each sheet has a
native chart beside its table.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from serve.export.workbook import aggregates, chart_table, filter_lines
from serve.export.workbook.aggregates import BOUNDS, Share
from serve.export.workbook.chart_table import ChartColumn
from serve.export.workbook.content import Content
from serve.export.workbook.labels import Labels
from serve.export.workbook.sheet import Sheet

_MILLION: Final = 1_000_000


def scope(sheet: Sheet, content: Content, words: Labels) -> None:
    """Périmètre: the filters, the totals, the rows of the file by band of turnover."""
    look = sheet.styles
    sheet.widths(36, 17, 15, 19, 19, 3)
    sheet.title(0, words("scope"))
    sheet.section(2, words("filters"), 4)
    row = 3
    for label, text in filter_lines.lines(content.asked.query, content.reference, words):
        sheet.text(row, 0, label, look.label)
        sheet.across(row, 1, 4, text, look.wrapped)
        row += 1
    row = totals(sheet, row + 1, content, words)
    sheet.section(row + 1, words("by_band"), 4)
    found = aggregates.bands(content.turnovers)
    held = [(name, one) for name, one in zip(_bands(words), found, strict=True) if one.file]
    bands = ChartColumn(words("band"), "text", [name for name, _ in held], words("all"))
    columns = [bands, *_file_columns([one for _, one in held], content, words)]
    placed = chart_table.write(sheet, row + 2, columns)
    chart_table.bars(sheet, (row + 1, 6), words("by_band"), placed, bands, columns[1])


def totals(sheet: Sheet, row: int, content: Content, words: Labels) -> int:
    """The figures of the whole export, a line each; returns the row after them."""
    look = sheet.styles
    whole = aggregates.share(content.census.total, content.turnovers)
    known = sum(amount is not None for amount in content.turnovers)
    sheet.section(row, words("essentials"), 1)
    lines = {
        "total": whole.scope,
        "rows": whole.file,
        "with_comptes": len(content.comptes),
        "with_turnover": known,
        "sum": whole.sum,
        "median": whole.median,
    }
    for name, value in lines.items():
        if value is not None:
            row += 1
            sheet.text(row, 0, words(name), look.label)
            sheet.raw.write_number(row, 1, value, look.whole)
    return row + 1


def by_country(sheet: Sheet, content: Content, words: Labels) -> None:
    """Par pays."""
    names = filter_lines.country_names(content.reference, words)
    counts: Counter[str] = Counter()
    for place, number in content.census.counts.items():
        counts[place.iso2] += number
    rows = [place.iso2 for place in content.places]
    found = aggregates.by(rows, content.turnovers, counts)
    sheet.widths(8, 24, 14, 12, 12, 12, 19, 19, 3)
    code = ChartColumn(words("code"), "text", list(found), words("all"))
    label = ChartColumn(words("country"), "text", [names[iso2] for iso2 in found])
    _sheet(sheet, content, words, "countries", [code, label], list(found.values()))


def by_sector(sheet: Sheet, content: Content, words: Labels) -> None:
    """Par secteur."""
    names = filter_lines.sector_names(content.reference, words)
    counts: Counter[str | None] = Counter()
    for place, number in content.census.counts.items():
        counts[place.secteur] += number
    rows = [place.secteur for place in content.places]
    found = aggregates.by(rows, content.turnovers, counts)
    sheet.widths(70, 14, 12, 12, 12, 19, 19, 3)
    label = ChartColumn(words("sector"), "text", [names[code] for code in found], words("all"))
    _sheet(sheet, content, words, "sectors", [label], list(found.values()))


def _sheet(
    sheet: Sheet,
    content: Content,
    words: Labels,
    name: str,
    labels: Sequence[ChartColumn],
    found: Sequence[Share],
) -> None:
    """A sheet of one table, the largest part of the scope first, and its chart."""
    sheet.title(0, words(name))
    sheet.text(1, 0, words("note_amounts"), sheet.styles.subtitle)
    total = content.census.total
    scope = ChartColumn(words("in_scope"), "whole", [one.scope for one in found], total)
    share = ChartColumn(
        words("share"), "share", [one.scope / total for one in found], 1 if total else None
    )
    columns = [*labels, scope, share, *_file_columns(found, content, words)]
    placed = chart_table.write(sheet, 3, columns)
    last = len(placed.columns)
    sheet.raw.freeze_panes(4, len(labels))
    sheet.raw.repeat_rows(3)
    chart_table.bars(sheet, (3, last + 1), words(f"chart_{name}"), placed, labels[-1], scope)


def _file_columns(found: Sequence[Share], content: Content, words: Labels) -> list[ChartColumn]:
    """What is known of the rows in the file."""
    rows = len(content.rows)
    whole = aggregates.share(rows, content.turnovers)
    shares = [one.file / rows if rows else None for one in found]
    return [
        ChartColumn(words("in_file"), "whole", [one.file for one in found], rows),
        ChartColumn(words("file_share"), "share", shares, 1 if rows else None),
        ChartColumn(words("sum"), "whole", [one.sum for one in found], whole.sum),
        ChartColumn(words("median"), "whole", [one.median for one in found], whole.median),
    ]


def _bands(words: Labels) -> list[str]:
    """The names of the bands of `figures.bands`."""
    texts = [_euros(bound, words) for bound in BOUNDS]
    between = [
        words("range", low=low, high=high) if low != texts[0] else words("below", high=high)
        for low, high in pairwise(texts)
    ]
    return [words("no_turnover"), words("negative"), *between, words("above", low=texts[-1])]


def _euros(amount: float, words: Labels) -> str:
    if amount < _MILLION:
        return words("k", n=int(amount // 1_000))
    return words("m", n=int(amount // _MILLION))
