"""The filters of a search as text, one line each; defaults are left out."""

from collections.abc import Iterator, Sequence
from typing import Final

from serve.contract import seed_tables
from serve.guests.files.workbook.export_request import ExportRequest
from serve.guests.files.workbook.labels import Labels
from shards.generations.reference import Reference
from shards.query import Query

_SHOWN: Final = 20  # values of one filter


def lines(
    request: ExportRequest, reference: Reference, labels: Labels
) -> Iterator[tuple[str, str]]:
    """A label and a text for countries, sectors, each filter that is set, and the order."""
    query = request.query
    yield labels("pays"), _countries(query, reference, labels)
    yield labels("secteur"), _sectors(query, reference, labels)
    if query.sous_secteurs is not None:
        yield labels("sous_secteur"), _sub_sectors(query.sous_secteurs, reference, labels)
    if query.q is not None:
        yield labels("q"), f"« {query.q} »" if labels.lang == "fr" else f"“{query.q}”"
    turnover = _range(query.ca_min, query.ca_max, labels)
    if turnover:
        yield labels("ca"), turnover
    headcount = _range(query.effectif_min, query.effectif_max, labels)
    if headcount:
        yield labels("effectif"), headcount
    if query.site_web:
        yield labels("site_web"), labels("declared")
    if query.avec_ca:
        yield labels("avec_ca"), labels("yes")
    yield from _further(request, labels)
    yield labels("tri"), labels(query.tri)


def _further(request: ExportRequest, labels: Labels) -> Iterator[tuple[str, str]]:
    """The filters of extensions X2 that are set."""
    query = request.query
    if query.ids is not None:
        yield labels("ids"), labels("found_ids", n=labels.number(len(query.ids)))
    if request.ids_inconnus:
        yield labels("ids_inconnus"), _some(request.ids_inconnus)
    if query.etats:
        words = (seed_tables.label("etat", "", etat, labels.lang) for etat in query.etats)
        yield labels("etat"), ", ".join(word for word in words if word)
    for name, values in (
        ("ville", query.villes),
        ("code_postal", query.codes_postaux),
        ("forme", query.formes),
        ("nace", query.nace),
    ):
        if values:
            yield labels(name), _some(values)
    founded = _between(_day(query.cree_min), _day(query.cree_max), labels)
    if founded:
        yield labels("cree"), founded
    assets = _range(query.actif_min, query.actif_max, labels)
    if assets:
        yield labels("actif"), assets
    if query.avec_comptes:
        yield labels("avec_comptes"), labels("yes")


def country_names(reference: Reference, labels: Labels) -> dict[str, str]:
    """The name of each country in the language of the workbook (F11)."""
    return {one.iso2: one.nom_en if labels.lang == "en" else one.nom_fr for one in reference.pays}


def sector_names(reference: Reference, labels: Labels) -> dict[str | None, str]:
    """The name of each sector by code; None has the name of companies without a sector."""
    names: dict[str | None, str] = {
        one.code: one.secteur_en if labels.lang == "en" else one.secteur
        for one in reference.secteurs
    }
    return {**names, None: labels("no_sector")}


def _countries(query: Query, reference: Reference, labels: Labels) -> str:
    if not query.pays:
        return labels("all_countries", n=len(reference.pays))
    names = country_names(reference, labels)
    return ", ".join(names[iso2] for iso2 in query.pays)


def _sectors(query: Query, reference: Reference, labels: Labels) -> str:
    if not query.secteurs:
        return labels("all_sectors", n=len(reference.secteurs))
    names = sector_names(reference, labels)
    return " ; ".join(names[code] for code in query.secteurs)


def _sub_sectors(codes: Sequence[str], reference: Reference, labels: Labels) -> str:
    known = {one.code: one.sous_secteur for one in reference.sous_secteurs}
    return " ; ".join(dict.fromkeys(known[code] for code in codes)) or labels("none")


def _some(values: Sequence[str]) -> str:
    """The first values; the sheet Journal has what the caller sent."""
    more = ["…"] if len(values) > _SHOWN else []
    return " ; ".join([*values[:_SHOWN], *more])


def _range(low: float | None, high: float | None, labels: Labels) -> str:
    return _between(_amount(low, labels), _amount(high, labels), labels)


def _between(low: str, high: str, labels: Labels) -> str:
    if low and high:
        return labels("between", low=low, high=high)
    if low:
        return labels("from", low=low)
    return labels("up_to", high=high) if high else ""


def _amount(value: float | None, labels: Labels) -> str:
    if value is None:
        return ""
    return labels.number(int(value)) if value == int(value) else str(value)


def _day(value: int | None) -> str:
    """A day of a `Query` (yyyymmdd) in ISO 8601."""
    return "" if value is None else f"{value // 10_000:04}-{value // 100 % 100:02}-{value % 100:02}"
