"""The sheets about the complete export (§4.6, F12): Intro, Périmètre, Par pays, Par secteur, Méthodologie and Journal.

Intro has the figures and the data of the file, its sheets, and a legend; Périmètre has the filters. Counts cover the
complete scope and the file. Amounts cover only the rows in the file, since only these rows are read. The sum and the
median of no amounts are None, and a column of None is left out. Périmètre, Par pays and Par secteur have a native chart
next to the table.

The last sheets are Méthodologie (the meaning of the figures) and Journal (how the file was made). Journal is the only
sheet that differs when the same export is repeated.
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
from serve.generation.country_sources import attributions, date_range
from shards.format import FORMAT_VERSION
from shards.ratios.ratio_table import ratios

K = TypeVar("K", bound=Hashable)
Facts = Iterable[tuple[str, Any]]  # labels and values

# The bounds in euros between the turnover bands of the sheet Périmètre.
BAND_BOUNDS: Final = (0.0, 1e5, 1e6, 1e7, 5e7, 2.5e8)
_MILLION: Final = 1_000_000
# The sheets that Intro lists, by the names of their labels.
_CONTENTS: Final = ("scope", "countries", "sectors", "list", "contacts", "key_figures", "lines", "index",
                    "comptes", "method", "log")  # fmt: skip
# The entries of the legend, by the names of their labels.
_LEGEND: Final = ("legend_bold", "legend_link", "legend_empty", "legend_money", "legend_headcount",
                  "legend_formula")  # fmt: skip
API_VERSION: Final = "1.1.0"  # of the specification (§9) with its extensions (X)
# The paragraphs on the limits of the data in Méthodologie, by the names of their labels.
_LIMITS: Final = ("limit_total", "limit_null", "limit_dissolved", "limit_comptes",
                  "limit_columns", "limit_text", "limit_dates")  # fmt: skip


@dataclass(frozen=True, slots=True)
class PartFigures:
    """The figures of a part of the companies: of a country, a sector, a turnover band or all.

    Attributes:
        scope: the companies of the part in the scope.
        file: the companies of the part in the file.
        sum: the sum of their turnovers in euros; None if no turnover is known.
        median: the median of these turnovers.
    """

    scope: int
    file: int
    sum: float | None
    median: float | None


def part_figures(scope: int, turnovers: Sequence[float | None]) -> PartFigures:
    """The figures of a part with `scope` companies in the scope and, in the file, the `turnovers` (None: unknown).

    >>> part_figures(9, [3.0, None, 1.0])
    PartFigures(scope=9, file=3, sum=4.0, median=2.0)
    """
    amounts = [amount for amount in turnovers if amount is not None]
    if not amounts:
        return PartFigures(scope, len(turnovers), None, None)
    return PartFigures(scope, len(turnovers), fsum(amounts), median(amounts))


def figures_by_part(
    part_of_row: Iterable[K], turnovers: Iterable[float | None], scope: Mapping[K, int]
) -> dict[K, PartFigures]:
    """The figures of each part, the largest part of the scope first; ties are sorted by name, None last.

    Args:
        part_of_row: the part of each row of the file; each part is in `scope`.
        scope: the number of companies of each part in the scope.
    """
    turnovers_of: defaultdict[K, list[float | None]] = defaultdict(list)
    for part, amount in zip(part_of_row, turnovers, strict=True):
        turnovers_of[part].append(amount)
    parts = sorted(scope, key=lambda part: (-scope[part], part is None, str(part)))
    return {part: part_figures(scope[part], turnovers_of[part]) for part in parts}


def figures_by_band(turnovers: Sequence[float | None]) -> list[PartFigures]:
    """The figures of the rows without a turnover, then of each band from the lowest.

    >>> [band.file for band in figures_by_band([None, -1.0, 0.0, 1e5, 3e8])]
    [1, 1, 1, 1, 0, 0, 0, 1]
    """
    bands: list[list[float | None]] = [[] for _ in range(len(BAND_BOUNDS) + 2)]
    for amount in turnovers:
        band_number = 0 if amount is None else 1 + bisect_right(BAND_BOUNDS, amount)
        bands[band_number].append(amount)
    return [part_figures(len(band), band) for band in bands]


def write_intro_sheet(
    sheet: Sheet, data: ExportData, labels: Labels, comptes: Mapping[int, str]
) -> None:
    """Write the sheet Intro: totals, plan, sources, contents, legend; `comptes` names the statement sheets by row."""
    request, styles = data.request, sheet.styles
    sheet.widths(34, 26, 60)
    sheet.title(0, labels("title"))
    sheet.text(1, 0, _subtitle(data, labels), styles.subtitle)
    row = _write_notice(sheet, 3, data, labels)
    row = _write_totals(sheet, row, data, labels)
    row = _write_section(sheet, row + 1, labels("data"))
    facts = [
        (labels("plan"), request.plan.nom_en if labels.lang == "en" else request.plan.nom),
        (labels("published"), labels.day(request.published)),
        (labels("version"), request.folder.name),
        (
            labels("sources"),
            "; ".join(
                labels.attribution(register_import)
                for register_import in attributions(data.sources)
            ),
        ),
    ]
    for label, text in facts:
        sheet.text(row, 0, label, styles.label)
        sheet.write_merged(row, 1, 2, text, styles.wrapped)
        row += 1
    row = _write_contents(sheet, row + 1, labels, comptes)
    row = _write_section(sheet, row + 1, labels("legend"))
    for name in _LEGEND:
        style = styles.bold_text if name == "legend_bold" else styles.label
        sheet.text(row, 0, labels(name), styles.link if name == "legend_link" else style)
        sheet.write_merged(row, 1, 2, labels(f"{name}_is"), styles.wrapped)
        row += 1


def _subtitle(data: ExportData, labels: Labels) -> str:
    """The scope, and the dates of the registers' files (X9)."""
    days = date_range(data.sources)
    if days is None:
        return labels("subtitle")
    oldest, newest = map(labels.date, days)
    if oldest == newest:
        return labels("subtitle_day", day=oldest)
    return labels("subtitle_days", oldest=oldest, newest=newest)


def _write_notice(sheet: Sheet, row: int, data: ExportData, labels: Labels) -> int:
    """Write a notice if the file is empty or lacks companies of the scope or list; return the next row."""
    request, total, rows = data.request, data.facets.total, data.count
    reasons = Counter(data.left_out().values())
    if total == 0:
        text = labels("empty")
    elif reasons:
        numbers = {name: reasons[name] for name in ("beyond", "gone", "unanswered")}
        numbers |= {"chosen": rows + reasons.total(), "rows": rows}
        texts = {name: labels.number(number) for name, number in numbers.items()}
        text = labels("own_partial", **texts)
    elif rows < total:
        plan = request.plan
        name = plan.nom_en if labels.lang == "en" else plan.nom
        cap = labels.number(plan.lignes_par_export)
        is_plan_limit = request.limit == plan.lignes_par_export
        limit = labels("limit_plan", plan=name, cap=cap) if is_plan_limit else labels("limit_asked")
        counts = {"total": labels.number(total), "rows": labels.number(rows)}
        text = labels("truncated", limit=limit, **counts)
    else:
        return row
    sheet.write_merged(row, 0, 2, text, sheet.styles.notice)
    return row + 2


def _write_totals(sheet: Sheet, row: int, data: ExportData, labels: Labels) -> int:
    """Write the figures of the complete export, one per line; return the next row."""
    styles = sheet.styles
    all_figures = part_figures(data.facets.total, data.turnovers)
    with_turnover = sum(amount is not None for amount in data.turnovers)
    sheet.section(row, labels("essentials"), 1)
    lines = {
        "total": all_figures.scope,
        "rows": all_figures.file,
        "with_comptes": len(data.comptes),
        "with_turnover": with_turnover,
        "sum": all_figures.sum,
        "median": all_figures.median,
    }
    for name, value in lines.items():
        if value is not None:
            row += 1
            sheet.text(row, 0, labels(name), styles.label)
            sheet.raw.write_number(row, 1, value, styles.whole)
    return row + 1


def _write_contents(sheet: Sheet, row: int, labels: Labels, comptes: Mapping[int, str]) -> int:
    """Write the list of the sheets, each with a link and an explanation; return the next row."""
    row = _write_section(sheet, row, labels("contents"))
    styles = sheet.styles
    for name in _CONTENTS:
        about = labels(f"about_{name}") if name != "comptes" else ""
        target = labels(name)
        if name == "comptes":
            if not comptes:
                continue
            # The names are doubled, so that a single name is both the first and the last.
            target, *_, last = [*comptes.values(), *comptes.values()]
            label_name = "about_compte" if len(comptes) == 1 else "about_comptes"
            about = labels(label_name, n=labels.number(len(comptes)), first=target, last=last)
        sheet.link(row, 0, link_target(target), labels(name), styles.link)
        sheet.write_merged(row, 1, 2, about, styles.wrapped)
        row += 1
    return row


def _write_section(sheet: Sheet, row: int, title: str) -> int:
    """Write the heading of a section over three columns; return the next row."""
    sheet.section(row, title, 2)
    return row + 1


def write_scope_sheet(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write the sheet Périmètre: the filters, and the rows of the file by turnover band."""
    styles = sheet.styles
    sheet.widths(36, 17, 15, 19, 19, 3)
    sheet.title(0, labels("scope"))
    sheet.section(2, labels("filters"), 4)
    row = 3
    for label, text in filter_lines(data.request, data.reference, labels):
        sheet.text(row, 0, label, styles.label)
        sheet.write_merged(row, 1, 4, text, styles.wrapped)
        row += 1
    sheet.section(row + 1, labels("by_band"), 4)
    parts = figures_by_band(data.turnovers)
    filled_bands = [
        (name, figures)
        for name, figures in zip(_band_names(labels), parts, strict=True)
        if figures.file
    ]
    bands = ChartColumn(labels("band"), "text", [name for name, _ in filled_bands], labels("all"))
    columns = [bands, *_file_columns([figures for _, figures in filled_bands], data, labels)]
    table = chart_table.write(sheet, row + 2, columns)
    # `columns[1]` has the number of companies in the file.
    chart_table.insert_bar_chart(sheet, (row + 1, 6), labels("by_band"), table, bands, columns[1])


def write_country_sheet(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write the sheet Par pays: a row per country, and a chart."""
    names = country_names(data.reference, labels)
    counts: Counter[str] = Counter()
    for place, number in data.facets.counts.items():
        counts[place.iso2] += number
    rows = [place.iso2 for place in data.places]
    parts = figures_by_part(rows, data.turnovers, counts)
    sheet.widths(8, 24, 14, 12, 12, 12, 19, 19, 3)
    code = ChartColumn(labels("code"), "text", list(parts), labels("all"))
    label = ChartColumn(labels("country"), "text", [names[iso2] for iso2 in parts])
    _write_counts(sheet, data, labels, "countries", [code, label], list(parts.values()))


def write_sector_sheet(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write the sheet Par secteur: a row per sector, and a chart."""
    names = sector_names(data.reference, labels)
    counts: Counter[str | None] = Counter()
    for place, number in data.facets.counts.items():
        counts[place.secteur] += number
    rows = [place.secteur for place in data.places]
    parts = figures_by_part(rows, data.turnovers, counts)
    sheet.widths(70, 14, 12, 12, 12, 19, 19, 3)
    label = ChartColumn(labels("sector"), "text", [names[code] for code in parts], labels("all"))
    _write_counts(sheet, data, labels, "sectors", [label], list(parts.values()))


def _write_counts(
    sheet: Sheet,
    data: ExportData,
    labels: Labels,
    name: str,
    name_columns: Sequence[ChartColumn],
    parts: Sequence[PartFigures],
) -> None:
    """Write a table with a row per part, and its chart.

    Args:
        name: the label of the title.
        name_columns: the columns with the code or name of each part; the last one names the bars of the chart.
        parts: the figures of each part, in the order of the rows.
    """
    sheet.title(0, labels(name))
    sheet.text(1, 0, labels("note_amounts"), sheet.styles.subtitle)
    total = data.facets.total
    scope = ChartColumn(labels("in_scope"), "whole", [part.scope for part in parts], total)
    share = ChartColumn(
        labels("share"), "share", [part.scope / total for part in parts], 1 if total else None
    )
    columns = [*name_columns, scope, share, *_file_columns(parts, data, labels)]
    table = chart_table.write(sheet, 3, columns)
    column_count = len(table.columns)
    sheet.raw.freeze_panes(4, len(name_columns))
    sheet.raw.repeat_rows(3)
    chart_table.insert_bar_chart(
        sheet, (3, column_count + 1), labels(f"chart_{name}"), table, name_columns[-1], scope
    )


def _file_columns(
    parts: Sequence[PartFigures], data: ExportData, labels: Labels
) -> list[ChartColumn]:
    """The columns about the rows in the file: their number and share, the sum and median of their turnovers."""
    rows = data.count
    all_figures = part_figures(rows, data.turnovers)
    fractions = [part.file / rows if rows else None for part in parts]
    return [
        ChartColumn(labels("in_file"), "whole", [part.file for part in parts], rows),
        ChartColumn(labels("file_share"), "share", fractions, 1 if rows else None),
        ChartColumn(labels("sum"), "whole", [part.sum for part in parts], all_figures.sum),
        ChartColumn(labels("median"), "whole", [part.median for part in parts], all_figures.median),
    ]


def _band_names(labels: Labels) -> list[str]:
    """The names of the turnover bands, in the order of `figures_by_band`."""
    texts = [_bound_text(bound, labels) for bound in BAND_BOUNDS]
    between = [
        labels("range", low=low, high=high) if low != texts[0] else labels("below", high=high)
        for low, high in pairwise(texts)
    ]
    return [labels("no_turnover"), labels("negative"), *between, labels("above", low=texts[-1])]


def _bound_text(amount: float, labels: Labels) -> str:
    """A bound of a band in thousands or millions of euros."""
    if amount < _MILLION:
        return labels("k", n=int(amount // 1_000))
    return labels("m", n=int(amount // _MILLION))


def write_methodology_sheet(sheet: Sheet, data: ExportData, labels: Labels) -> None:
    """Write the sheet Méthodologie: limits, sources, exchange rates, fields, ratios."""
    styles = sheet.styles
    sheet.widths(30, 24, 112)
    sheet.title(0, labels("method"))
    sheet.section(2, labels("limits"), 2)
    row = 3
    cap = data.request.plan.societes_avec_comptes_par_export
    for name in _LIMITS:
        sheet.write_merged(row, 0, 2, labels(name, cap=cap), styles.prose)
        row += 1
    names = country_names(data.reference, labels)
    countries = {place.iso2 for place in data.facets.counts}
    sources = [
        (names[country.iso2], country.devise, country.registre)
        for country in data.reference.pays
        if country.iso2 in countries
    ]
    headings = (labels("country"), labels("currency"), labels("register"))
    row = _write_table(sheet, row + 1, labels("sources"), headings, sources)
    credits = list(_attribution_rows(data, labels, names))
    headings = (labels("country"), labels("files_of"), labels("attribution"))
    row = _write_table(sheet, row, labels("attributions"), headings, credits)
    rates = list(_rate_rows(data, labels))
    headings = (labels("currency_year"), labels("rate"), labels("source"))
    row = _write_table(sheet, row, labels("rates"), headings, rates)
    columns = [(field.title[labels.lang], field.champ, field.definition[labels.lang])
               for field in company_fields.fields()]  # fmt: skip
    columns += [(column.title, column.name, column.definition)
                for column in table_sheet.list_columns(labels) if column.name in table_sheet.COMPUTED]  # fmt: skip
    columns += [(ratio.libelle[labels.lang], ratio.code, f"{ratio.formule} ({ratio.source})")
                for ratio in ratios().values()]  # fmt: skip
    headings = (labels("column"), labels("field"), labels("definition"))
    _write_table(sheet, row, labels("fields"), headings, columns)


def write_journal_sheet(
    sheet: Sheet, data: ExportData, labels: Labels, seconds: Mapping[str, float]
) -> None:
    """Write the sheet Journal: parameters, plan, counts, timings, versions. `seconds` has the time of each step."""
    request, styles = data.request, sheet.styles
    plan = request.plan
    sheet.widths(52, 60)
    sheet.title(0, labels("log_head"))
    sheet.text(2, 0, labels("made"), styles.label)
    sheet.raw.write_datetime(2, 1, naive_moment(request.now), styles.moment)
    row = _write_facts(sheet, 3, labels("request"), [
        (labels("request_id"), request.request_id),
        (labels("plan"), plan.nom_en if labels.lang == "en" else plan.nom),
        (labels("cap_rows"), plan.lignes_par_export),
        (labels("cap_comptes"), plan.societes_avec_comptes_par_export),
        (labels("with_contacts"), labels("yes" if plan.coordonnees else "no")),
        (labels("lang"), request.lang),
    ])  # fmt: skip
    parameters = request.parameters or (("—", labels("none")),)
    row = _write_facts(sheet, row, labels("parameters"), parameters)
    row = _write_facts(sheet, row, labels("counts"), [
        (labels("total"), data.facets.total),
        (labels("rows"), data.count),
        (labels("comptes_sheets"), len(data.comptes)),
        (labels("altered_texts"), sheet.book.altered.texts),
        (labels("altered_links"), sheet.book.altered.links),
    ])  # fmt: skip
    steps = [(labels(name), round(spent, 3)) for name, spent in seconds.items()]
    row = _write_facts(sheet, row, labels("timings"), steps)
    _write_facts(sheet, row, labels("versions"), [
        (labels("version"), request.folder.name),
        (labels("format"), FORMAT_VERSION),
        (labels("api"), API_VERSION),
    ])  # fmt: skip


def _attribution_rows(
    data: ExportData, labels: Labels, names: Mapping[str, str]
) -> Iterable[tuple[str, str, str]]:
    """The attribution of each import of the scope, with the dates of its files (X9)."""
    for country in data.sources:
        for register_import in country.imports:
            days = sorted({file.date for file in register_import.fichiers if file.date})
            # The first and the last date, or one date if they are equal.
            dates = " – ".join(labels.date(day) for day in dict.fromkeys((*days[:1], *days[-1:])))
            text = " · ".join(
                filter(None, (labels.attribution(register_import), register_import.licence_adresse))
            )
            yield names[country.iso2], dates, text


def _rate_rows(data: ExportData, labels: Labels) -> Iterable[tuple[str, float, str]]:
    """Each exchange rate of a turnover or of total assets in the file: its currency and year, the rate, the source."""
    amounts = (("ca_devise", "ca_year", data.turnovers), ("devise", "exercice_actif", data.assets))
    used_rates = {
        (devise, year)
        for currencies, years, euros in amounts
        for devise, year, amount in zip(
            data.columns[currencies], data.columns[years], euros, strict=True
        )
        if amount is not None
    }
    for (devise, annee), rate in seed_tables.rates().items():
        if (devise, annee) in used_rates:
            yield f"{devise} {annee}", rate.taux, labels(rate.source)


def _write_table(
    sheet: Sheet, row: int, title: str, headings: Sequence[str], rows: Sequence[Sequence[Any]]
) -> int:
    """Write a titled table, unless it has no rows; return the row of the next table."""
    if not rows:
        return row
    sheet.section(row, title, len(headings) - 1)
    sheet.texts(row + 1, headings, sheet.styles.header)
    row += 2
    for values in rows:
        for col, value in enumerate(values):
            _write_value(sheet, row, col, value)
        row += 1
    return row + 1


def _write_facts(sheet: Sheet, row: int, title: str, facts: Facts) -> int:
    """Write a titled list of labels and values; return the next row."""
    styles = sheet.styles
    row += 1
    sheet.section(row, title, 1)
    for label, value in facts:
        row += 1
        sheet.text(row, 0, label, styles.label)
        _write_value(sheet, row, 1, value)
    return row + 1


def _write_value(sheet: Sheet, row: int, col: int, value: str | int | float) -> None:
    """Write a text or a number into a cell, in the formats of lists of facts."""
    styles = sheet.styles
    if isinstance(value, str):
        sheet.write_merged(row, col, col, value, styles.wrapped)
    else:
        sheet.raw.write_number(row, col, value, styles.fact)
