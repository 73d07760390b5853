"""The sheets about the whole export (§4.6, F12): Intro, Périmètre, Par pays, Par secteur, Méthodologie and Journal.

Intro has the figures and the data of the file, its sheets, and a legend; Périmètre has the filters. Counts cover the
whole scope and the file; amounts cover the rows in the file only, since only these were read. The sum and the median
of no amounts are None, and a column of None is left out. Périmètre, Par pays and Par secteur have a native chart beside
their table.

The last sheets of a file are Méthodologie (the meaning of the figures) and Journal (the making of the file). The
Journal is the only sheet that differs where the same export is made twice.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from statistics import median
from typing import Any, Final, TypeVar

from serve.contract import company_fields, seed_tables
from serve.features.export.workbook import chart_table, table_sheet
from serve.features.export.workbook.chart_table import ChartColumn
from serve.features.export.workbook.export_data import ExportData
from serve.features.export.workbook.labels import Labels, country_names, filter_lines, sector_names
from serve.features.export.workbook.sheet import Sheet, link_target, naive_moment
from serve.generation.country_sources import attributions, period
from shards.format import FORMAT_VERSION
from shards.ratios.ratio_table import ratios

K = TypeVar("K", bound=Hashable)
Facts = Iterable[tuple[str, Any]]

# The bounds in euros between the turnover bands of the sheet Périmètre.
BOUNDS: Final = (0.0, 1e5, 1e6, 1e7, 5e7, 2.5e8)
_MILLION: Final = 1_000_000
_CONTENTS: Final = ("scope", "countries", "sectors", "list", "contacts", "key_figures", "lines", "index",
                    "comptes", "method", "log")  # fmt: skip
_LEGEND: Final = ("legend_bold", "legend_link", "legend_empty", "legend_money", "legend_headcount",
                  "legend_formula")  # fmt: skip
API_VERSION: Final = "1.1.0"  # §9, X
_LIMITS: Final = ("limit_total", "limit_null", "limit_dissolved", "limit_comptes",
                  "limit_columns", "limit_text", "limit_dates")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Share:
    """Companies of a part, in the scope and in the file, with the turnovers in the file in euros."""

    scope: int
    file: int
    sum: float | None
    median: float | None


def share(scope: int, turnovers: Sequence[float | None]) -> Share:
    """The figures of a part; `turnovers` has one value per row of the file, None if unknown.

    >>> share(9, [3.0, None, 1.0])
    Share(scope=9, file=3, sum=4.0, median=2.0)
    """
    known = [amount for amount in turnovers if amount is not None]
    if not known:
        return Share(scope, len(turnovers), None, None)
    return Share(scope, len(turnovers), fsum(known), median(known))


def shares_by(
    key: Iterable[K], turnovers: Iterable[float | None], scope: Mapping[K, int]
) -> dict[K, Share]:
    """The figures of each part, the largest in the scope first; ties are sorted by name, None last.

    Args:
        key: the part of each row of the file; every one is in `scope`.
    """
    held: defaultdict[K, list[float | None]] = defaultdict(list)
    for part, amount in zip(key, turnovers, strict=True):
        held[part].append(amount)
    parts = sorted(scope, key=lambda part: (-scope[part], part is None, str(part)))
    return {part: share(scope[part], held[part]) for part in parts}


def band_shares(turnovers: Sequence[float | None]) -> list[Share]:
    """The figures of the rows without a turnover, then of each band, from the lowest.

    >>> [band.file for band in band_shares([None, -1.0, 0.0, 1e5, 3e8])]
    [1, 1, 1, 1, 0, 0, 0, 1]
    """
    held: list[list[float | None]] = [[] for _ in range(len(BOUNDS) + 2)]
    for amount in turnovers:
        place = 0 if amount is None else 1 + bisect_right(BOUNDS, amount)
        held[place].append(amount)
    return [share(len(one), one) for one in held]


def intro(sheet: Sheet, data: ExportData, labels: Labels, comptes: Mapping[int, str]) -> None:
    """Write Intro; `comptes` are the names of the statement sheets by row."""
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
    whole = share(data.facets.total, data.turnovers)
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


def scope(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write Périmètre: the filters, and the rows of the file by turnover band."""
    look = sheet.styles
    sheet.widths(36, 17, 15, 19, 19, 3)
    sheet.title(0, labels("scope"))
    sheet.section(2, labels("filters"), 4)
    row = 3
    for label, text in filter_lines(data.request, data.reference, labels):
        sheet.text(row, 0, label, look.label)
        sheet.write_merged(row, 1, 4, text, look.wrapped)
        row += 1
    sheet.section(row + 1, labels("by_band"), 4)
    shares = band_shares(data.turnovers)
    held = [(name, one) for name, one in zip(_bands(labels), shares, strict=True) if one.file]
    bands = ChartColumn(labels("band"), "text", [name for name, _ in held], labels("all"))
    columns = [bands, *_file_columns([one for _, one in held], data, labels)]
    placed = chart_table.write(sheet, row + 2, columns)
    chart_table.bars(sheet, (row + 1, 6), labels("by_band"), placed, bands, columns[1])


def by_country(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write Par pays."""
    names = country_names(data.reference, labels)
    counts: Counter[str] = Counter()
    for place, number in data.facets.counts.items():
        counts[place.iso2] += number
    rows = [place.iso2 for place in data.places]
    found = shares_by(rows, data.turnovers, counts)
    sheet.widths(8, 24, 14, 12, 12, 12, 19, 19, 3)
    code = ChartColumn(labels("code"), "text", list(found), labels("all"))
    label = ChartColumn(labels("country"), "text", [names[iso2] for iso2 in found])
    _sheet(sheet, data, labels, "countries", [code, label], list(found.values()))


def by_sector(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write Par secteur."""
    names = sector_names(data.reference, labels)
    counts: Counter[str | None] = Counter()
    for place, number in data.facets.counts.items():
        counts[place.secteur] += number
    rows = [place.secteur for place in data.places]
    found = shares_by(rows, data.turnovers, counts)
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
    whole = share(rows, data.turnovers)
    fractions = [one.file / rows if rows else None for one in shares]
    return [
        ChartColumn(labels("in_file"), "whole", [one.file for one in shares], rows),
        ChartColumn(labels("file_share"), "share", fractions, 1 if rows else None),
        ChartColumn(labels("sum"), "whole", [one.sum for one in shares], whole.sum),
        ChartColumn(labels("median"), "whole", [one.median for one in shares], whole.median),
    ]


def _bands(labels: Labels) -> list[str]:
    """The names of the bands of `band_shares`."""
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


def methodology(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write Méthodologie: limits, sources, exchange rates, fields."""
    look = sheet.styles
    sheet.widths(30, 24, 112)
    sheet.title(0, labels("method"))
    sheet.section(2, labels("limits"), 2)
    row = 3
    cap = data.request.plan.societes_avec_comptes_par_export
    for name in _LIMITS:
        sheet.write_merged(row, 0, 2, labels(name, cap=cap), look.prose)
        row += 1
    names = country_names(data.reference, labels)
    known = {place.iso2 for place in data.facets.counts}
    sources = [
        (names[country.iso2], country.devise, country.registre)
        for country in data.reference.pays
        if country.iso2 in known
    ]
    heads = (labels("country"), labels("currency"), labels("register"))
    row = _rows(sheet, row + 1, labels("sources"), heads, sources)
    credits = list(_credits(data, labels, names))
    heads = (labels("country"), labels("files_of"), labels("attribution"))
    row = _rows(sheet, row, labels("attributions"), heads, credits)
    rates = list(_rates(data, labels))
    heads = (labels("currency_year"), labels("rate"), labels("source"))
    row = _rows(sheet, row, labels("rates"), heads, rates)
    columns = [(field.title[labels.lang], field.champ, field.definition[labels.lang])
               for field in company_fields.fields()]  # fmt: skip
    columns += [(column.title, column.name, column.definition)
                for column in table_sheet.list_columns(labels) if column.name in table_sheet.MADE]  # fmt: skip
    columns += [(ratio.libelle[labels.lang], ratio.code, f"{ratio.formule} ({ratio.source})")
                for ratio in ratios().values()]  # fmt: skip
    heads = (labels("column"), labels("field"), labels("definition"))
    _rows(sheet, row, labels("fields"), heads, columns)


def journal(sheet: Sheet, data: ExportData, labels: Labels, seconds: Mapping[str, float]) -> None:
    """Write Journal: parameters, plan, counts, timings, versions; `seconds` are those of each step."""
    request, look = data.request, sheet.styles
    plan = request.plan
    sheet.widths(52, 60)
    sheet.title(0, labels("log_head"))
    sheet.text(2, 0, labels("made"), look.label)
    sheet.raw.write_datetime(2, 1, naive_moment(request.now), look.moment)
    row = _facts(sheet, 3, labels("request"), [
        (labels("request_id"), request.request_id),
        (labels("plan"), plan.nom_en if labels.lang == "en" else plan.nom),
        (labels("cap_rows"), plan.lignes_par_export),
        (labels("cap_comptes"), plan.societes_avec_comptes_par_export),
        (labels("with_contacts"), labels("yes" if plan.coordonnees else "no")),
        (labels("lang"), request.lang),
    ])  # fmt: skip
    given = request.given or (("—", labels("none")),)
    row = _facts(sheet, row, labels("parameters"), given)
    row = _facts(sheet, row, labels("counts"), [
        (labels("total"), data.facets.total),
        (labels("rows"), data.count),
        (labels("comptes_sheets"), len(data.comptes)),
        (labels("altered_texts"), sheet.book.altered.texts),
        (labels("altered_links"), sheet.book.altered.links),
    ])  # fmt: skip
    steps = [(labels(name), round(spent, 3)) for name, spent in seconds.items()]
    row = _facts(sheet, row, labels("timings"), steps)
    _facts(sheet, row, labels("versions"), [
        (labels("version"), request.folder.name),
        (labels("format"), FORMAT_VERSION),
        (labels("api"), API_VERSION),
    ])  # fmt: skip


def _credits(
    data: ExportData, labels: Labels, names: Mapping[str, str]
) -> Iterable[tuple[str, str, str]]:
    """The attribution of each import in the scope, with the dates of its files (X9)."""
    for country in data.sources:
        for one in country.imports:
            days = sorted({file.date for file in one.fichiers if file.date})
            dates = " – ".join(labels.date(day) for day in dict.fromkeys((*days[:1], *days[-1:])))
            text = " · ".join(filter(None, (labels.attribution(one), one.licence_adresse)))
            yield names[country.iso2], dates, text


def _rates(data: ExportData, labels: Labels) -> Iterable[tuple[str, float, str]]:
    """The exchange rates of the currencies and years of the turnovers and total assets in the file."""
    amounts = (("ca_devise", "ca_year", data.turnovers), ("devise", "exercice_actif", data.assets))
    used = {
        (devise, year)
        for currencies, years, euros in amounts
        for devise, year, known in zip(
            data.columns[currencies], data.columns[years], euros, strict=True
        )
        if known is not None
    }
    for (devise, annee), rate in seed_tables.rates().items():
        if (devise, annee) in used:
            yield f"{devise} {annee}", rate.taux, labels(rate.source)


def _rows(
    sheet: Sheet, row: int, title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]
) -> int:
    """Write a titled table, unless it has no rows; return the row of the next table."""
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
        sheet.write_merged(row, col, col, value, look.wrapped)
    else:
        sheet.raw.write_number(row, col, value, look.fact)
