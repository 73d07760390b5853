"""Tools of the reference lists: shorter than the answers of their routes."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from serve.access.call import Request, Result
from serve.contract.declaration import AnswerObject
from serve.contract.parameters import PAYS
from serve.features.reference.answers import (
    ListePays,
    ListeSecteurs,
    ListeSources,
    ListeSousSecteurs,
    PaysDeListe,
    SecteurDeListe,
    SourceDeDonnees,
    SourcesPays,
    SousSecteurDeListe,
)
from serve.features.reference.operations import ListContent
from serve.surfaces.mcp import results
from serve.surfaces.mcp.tool_list import OperationTool

COUNTRIES: Final = results.answer_schema(
    ListePays,
    pays=results.array_of(
        results.answer_schema(
            PaysDeListe, "iso2", "nom_fr", "nom_en", "n_societes", n_societes=results.COMPANY_COUNT
        )
    ),
)

SECTORS: Final = results.answer_schema(
    ListeSecteurs,
    secteurs=results.array_of(
        results.answer_schema(
            SecteurDeListe, "slug", "secteur_en", "n_societes", n_societes=results.COMPANY_COUNT
        )
    ),
)

SUB_SECTORS: Final = results.answer_schema(
    ListeSousSecteurs,
    "total",
    total={**results.COUNT, "description": "Sub-sectors that have a company."},
    sous_secteurs=results.array_of(
        results.answer_schema(
            SousSecteurDeListe, "sous_secteur", "n_societes", n_societes=results.COMPANY_COUNT
        )
    ),
    further=results.NOTE,
)

_SOURCE: Final = results.answer_schema(
    SourceDeDonnees,
    "registre",
    "table",
    licence=results.TEXT,
    attribution_en={**results.TEXT, "description": "To repeat."},
    dates={**results.array_of(results.TEXT), "description": "Of the files."},
)

SOURCES: Final = results.answer_schema(
    ListeSources,
    "total",
    pays_sans_donnees=results.ABOUT_SEARCH["pays_sans_donnees"],
    pays=results.array_of(
        results.answer_schema(
            SourcesPays,
            "iso2",
            "nom_en",
            n_societes=results.COMPANY_COUNT,
            sources=results.array_of(_SOURCE),
            date_source={**results.TEXT, "description": "Age of the companies' data."},
            further={"champs": {**results.OBJECT, "description": "Share of each field, 0 to 1."}},
        )
    ),
    further=results.NOTE,
)


A = TypeVar("A", bound=AnswerObject)


def countries(_call: Request, result: Result[ListContent[ListePays]]) -> Mapping[str, Any]:
    """Every country."""
    found = _answer(result)
    kept = ("iso2", "nom_fr", "nom_en", "n_societes")
    return {"total": found.total, "pays": [results.pick(one, kept) for one in found.pays]}


def sectors(_call: Request, result: Result[ListContent[ListeSecteurs]]) -> Mapping[str, Any]:
    """Every sector, counted in the given countries."""
    found = _answer(result)
    kept = ("slug", "secteur_en", "n_societes")
    return {"total": found.total, "secteurs": [results.pick(one, kept) for one in found.secteurs]}


def sub_sectors(
    _call: Request, result: Result[ListContent[ListeSousSecteurs]]
) -> Mapping[str, Any]:
    """The sub-sectors of the given sectors, as many as fit."""
    liste = _answer(result)

    def document(entries: list[Any]) -> dict[str, Any]:
        return {"total": liste.total, "sous_secteurs": entries}

    kept = ("sous_secteur", "n_societes")
    known = [results.pick(one, kept) for one in liste.sous_secteurs]
    entries = results.longest_fitting(known, document)
    if len(entries) == len(known):
        return document(entries)
    note = f"Only the first {len(entries)} are shown; ask for fewer sectors at a time."
    return {**document(entries), "note": note}


def sources(call: Request, result: Result[ListContent[ListeSources]]) -> Mapping[str, Any]:
    """The sources of each country with data; the share of each field only of countries that are named."""
    liste = _answer(result)
    named = any(name == PAYS.name for name, _ in call.pairs)
    entries = [_country(one, named) for one in liste.pays if one.n_societes]

    def document(entries: list[Any]) -> dict[str, Any]:
        return {
            "total": liste.total,
            "pays_sans_donnees": liste.pays_sans_donnees,
            "pays": entries,
        }

    shown = results.longest_fitting(entries, document)
    if len(shown) == len(entries):
        return document(shown)
    note = f"Only the first {len(shown)} are shown; name fewer countries."
    return {**document(shown), "note": note}


def _country(country: SourcesPays, named: bool) -> dict[str, Any]:
    """A country as a model needs it: whom to credit, and how old and how complete the data are."""
    sources = [
        {
            "registre": one.registre,
            "table": one.table,
            "licence": one.licence.nom,
            "attribution_en": one.licence.attribution_en,
            "dates": sorted({file.date for file in one.fichiers if file.date}),
        }
        for one in country.sources
    ]
    kept = results.pick(country, ("iso2", "nom_en", "n_societes", "date_source"))
    return {
        **results.known_values(kept),
        "sources": sources,
        **({"champs": country.champs} if named else {}),
    }


def _answer(result: Result[ListContent[A]]) -> A:
    assert result.content is not None  # without If-None-Match there is no 304
    return result.content.answer


TOOLS: Final = (
    OperationTool("list_countries", countries, COUNTRIES, place=10, quotes=False),
    OperationTool("list_sectors", sectors, SECTORS, place=20, quotes=False),
    OperationTool("list_subsectors", sub_sectors, SUB_SECTORS, place=30, quotes=False),
    OperationTool("list_sources", sources, SOURCES, place=40, quotes=False),
)
