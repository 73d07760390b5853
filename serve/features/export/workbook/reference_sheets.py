"""The sheets Méthodologie (the meaning of the figures) and Journal (the making of the file).

The Journal is the only sheet that differs where the same export is made twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from serve.contract import company_fields, seed_tables
from serve.features.export.workbook import list_columns
from serve.features.export.workbook.export_data import ExportData
from serve.features.export.workbook.filter_lines import country_names
from serve.features.export.workbook.labels import Labels
from serve.features.export.workbook.sheet import Sheet, naive_moment
from shards.format import FORMAT_VERSION
from shards.ratios.ratio_table import ratios

API_VERSION: Final = "1.1.0"  # §9, X
_LIMITS: Final = ("limit_total", "limit_null", "limit_dissolved", "limit_comptes",
                  "limit_columns", "limit_text", "limit_dates")  # fmt: skip

Facts = Iterable[tuple[str, Any]]


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
                for column in list_columns.columns(labels) if column.name in list_columns.MADE]  # fmt: skip
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
