"""GET /api/v1/sources: where the companies of each country come from, and how old that is (X9).

A public list like `/pays`: free, the same for every caller, and kept by any cache.
"""

from typing import Final

from serve.access.call import CallResult, Request
from serve.contract.parameters import PAYS, VERSION
from serve.features.reference import lists
from serve.features.reference.answers import (
    FichierSource,
    Licence,
    ListeSources,
    SourceDeDonnees,
    SourcesPays,
)
from serve.features.reference.lists import ListContent
from serve.generation import country_sources
from serve.generation.country_sources import CountrySources
from serve.generation.open_generation import OpenGeneration
from serve.request import reader
from shards.generations.reference import Pays
from shards.generations.register_sources import COMPANIES, RegisterImport

PARAMETERS: Final = (PAYS, VERSION)
_TABLES: Final = {COMPANIES: "societes"}
_DIGITS: Final = 4  # of a share


def sources(request: Request, generation: OpenGeneration) -> CallResult[ListContent[ListeSources]]:
    """The countries of the scope, each with its sources; those without data are named.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    asked = reader.read(request.pairs, PARAMETERS, generation.names)
    generation, countries = generation.at_version(asked.version), asked.query.pays
    reference = generation.reference

    def answer() -> ListeSources:
        shown = [
            country for country in reference.pays if not countries or country.iso2 in countries
        ]
        known = [generation.sources[country.iso2] for country in shown]
        oldest, newest = country_sources.period(known) or (None, None)
        return ListeSources(
            total=len(shown),
            date_min=oldest,
            date_max=newest,
            pays_sans_donnees=[country.iso2 for country in known if not country.n_societes],
            pays=[_country(*pair) for pair in zip(shown, known, strict=True)],
        )

    return lists.cached_list(request, generation, ("sources", countries), answer)


def _country(pays: Pays, known: CountrySources) -> SourcesPays:
    return SourcesPays(
        iso2=pays.iso2,
        slug=pays.slug,
        nom_fr=pays.nom_fr,
        nom_en=pays.nom_en,
        registre=pays.registre,
        n_societes=known.n_societes,
        date_source=known.date,
        sources=[_source(one, pays.iso2) for one in known.imports],
        champs={
            name: round(count / known.n_societes, _DIGITS)
            for name, count in known.filled.items()
            if known.n_societes
        },
    )


def _source(register_import: RegisterImport, iso2: str) -> SourceDeDonnees:
    return SourceDeDonnees(
        source=register_import.source,
        table=_TABLES.get(register_import.table, register_import.table),
        complement=register_import.completes(iso2),
        registre=register_import.registre,
        adresse=register_import.adresse or None,
        licence=Licence(
            nom=register_import.licence,
            adresse=register_import.licence_adresse or None,
            attribution=register_import.attribution,
            attribution_en=register_import.attribution_en,
        ),
        date_source=register_import.date,
        importe=register_import.importe,
        lignes=register_import.lignes,
        fichiers=[
            FichierSource(nom=file.nom, date=file.date, origine_date=file.origine_date)
            for file in register_import.fichiers
        ],
    )
