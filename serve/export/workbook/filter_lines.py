"""The filters of a search in words, one line each: what was asked, never what was defaulted to."""

from collections.abc import Iterator

from serve.export.workbook.labels import Labels
from shards.generations.reference import Reference
from shards.query import Query


def lines(query: Query, reference: Reference, words: Labels) -> Iterator[tuple[str, str]]:
    """A label and a text for the scope, each filter that is set, and the order."""
    yield words("pays"), _countries(query, reference, words)
    yield words("secteur"), _sectors(query, reference, words)
    if query.q is not None:
        yield words("q"), f"« {query.q} »" if words.lang == "fr" else f"“{query.q}”"
    turnover = _range(query.ca_min, query.ca_max, words)
    if turnover:
        yield words("ca"), turnover
    headcount = _range(query.effectif_min, query.effectif_max, words)
    if headcount:
        yield words("effectif"), headcount
    if query.site_web:
        yield words("site_web"), words("declared")
    if query.avec_ca:
        yield words("avec_ca"), words("yes")
    yield words("tri"), words(query.tri)


def country_names(reference: Reference, words: Labels) -> dict[str, str]:
    """The name of each country in the language of the workbook (F11)."""
    return {one.iso2: one.nom_en if words.lang == "en" else one.nom_fr for one in reference.pays}


def sector_names(reference: Reference, words: Labels) -> dict[str | None, str]:
    """The name of each sector, and of the absence of one."""
    names: dict[str | None, str] = {
        one.code: one.secteur_en if words.lang == "en" else one.secteur
        for one in reference.secteurs
    }
    return {**names, None: words("no_sector")}


def _countries(query: Query, reference: Reference, words: Labels) -> str:
    if not query.pays:
        return words("all_countries", n=len(reference.pays))
    names = country_names(reference, words)
    return ", ".join(names[iso2] for iso2 in query.pays)


def _sectors(query: Query, reference: Reference, words: Labels) -> str:
    if not query.secteurs:
        return words("all_sectors", n=len(reference.secteurs))
    names = sector_names(reference, words)
    return " ; ".join(names[code] for code in query.secteurs)


def _range(low: float | None, high: float | None, words: Labels) -> str:
    if low is None and high is None:
        return ""
    if high is None:
        return words("from", low=_amount(low, words))
    if low is None:
        return words("up_to", high=_amount(high, words))
    return words("between", low=_amount(low, words), high=_amount(high, words))


def _amount(value: float | None, words: Labels) -> str:
    assert value is not None
    return words.number(int(value)) if value == int(value) else str(value)
