"""The filters of a search as text, one line each; defaults are left out."""

from collections.abc import Iterator

from serve.export.workbook.labels import Labels
from shards.generations.reference import Reference
from shards.query import Query


def lines(query: Query, reference: Reference, labels: Labels) -> Iterator[tuple[str, str]]:
    """A label and a text for countries, sectors, each filter that is set, and the order."""
    yield labels("pays"), _countries(query, reference, labels)
    yield labels("secteur"), _sectors(query, reference, labels)
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
    yield labels("tri"), labels(query.tri)


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


def _range(low: float | None, high: float | None, labels: Labels) -> str:
    if low is None and high is None:
        return ""
    if high is None:
        return labels("from", low=_amount(low, labels))
    if low is None:
        return labels("up_to", high=_amount(high, labels))
    return labels("between", low=_amount(low, labels), high=_amount(high, labels))


def _amount(value: float | None, labels: Labels) -> str:
    assert value is not None
    return labels.number(int(value)) if value == int(value) else str(value)
