"""The public lists: countries, sectors, sub-sectors, with their counts (§2.5, §4.1 to §4.3), and the sources (X9).

They are answered from the generation's reference, without touching a shard, and are the same for every caller: keys
are not even read (A2), and any cache may keep the lists (G8).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict, replace
from typing import Final, Generic, NamedTuple, TypeVar

from serve.access.call import DATA_VERSION, Request, Result, etag, matches, not_modified
from serve.contract import parameters, seed_tables
from serve.contract.declaration import AnswerObject
from serve.contract.feature import Feature, Link, Operation
from serve.contract.parameters import PAYS, SECTEUR, VERSION
from serve.features.reference.answers import (
    FichierSource,
    Licence,
    ListePays,
    ListeSecteurs,
    ListeSources,
    ListeSousSecteurs,
    PaysDeListe,
    Perimetre,
    SecteurDeListe,
    SourceDeDonnees,
    SourcesPays,
    SousSecteurDeListe,
)
from serve.generation import country_sources
from serve.generation.country_sources import CountrySources
from serve.generation.open_generation import OpenGeneration
from serve.request import reader
from shards.generations.reference import CellCount, Pays, Reference
from shards.generations.register_sources import COMPANIES, RegisterImport
from shards.query import Query

A_co = TypeVar("A_co", bound=AnswerObject, covariant=True)

# Without a sector there are no sub-sectors to list (contract G4).
SECTEUR_REQUIS: Final = replace(SECTEUR, text="secteur-requis", required=True)
SECTORS: Final = (PAYS, VERSION)
SUB_SECTORS: Final = (SECTEUR_REQUIS, PAYS, VERSION)
SOURCES: Final = (PAYS, VERSION)

_CACHED: Final = {"Cache-Control": "public, max-age=300"}
_TABLES: Final = {COMPANIES: "societes"}
_DIGITS: Final = 4  # of a share
_FIRST_COUNTRY: Final = "$response.body#/pays/0/iso2"
_FIRST_SECTOR: Final = "$response.body#/secteurs/0/slug"


class ListContent(NamedTuple, Generic[A_co]):
    """A public list, and its bytes; both are kept in the generation."""

    answer: A_co
    body: bytes

    def json(self) -> bytes:
        return self.body


def pays(request: Request, generation: OpenGeneration) -> Result[ListContent[ListePays]]:
    """GET /api/v1/pays: every country, in the order of the reference.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more, as for all these lists.
    """
    generation = generation.at_version_of(request.pairs)
    reference = generation.reference

    def answer() -> ListePays:
        entries = [
            PaysDeListe(**asdict(one), n_societes=reference.societes(one.iso2))
            for one in reference.pays
        ]
        return ListePays(total=len(entries), pays=entries)

    return cached_list(request, generation, ("pays",), answer)


def secteurs(request: Request, generation: OpenGeneration) -> Result[ListContent[ListeSecteurs]]:
    """GET /api/v1/secteurs: every sector, also those without a company in the scope (G5)."""
    asked = reader.read(request.pairs, SECTORS, generation.names)
    generation, scope = generation.at_version(asked.version), asked.query

    def answer() -> ListeSecteurs:
        counts: Counter[str | None] = Counter()
        for cell in _cells(generation.reference, scope):
            counts[cell.secteur] += cell.n
        entries = [
            SecteurDeListe(
                secteur=one.secteur,
                secteur_en=one.secteur_en,
                slug=one.slug,
                grand_secteur=one.grand_secteur,
                n_societes=counts[one.code],
            )
            for one in generation.reference.secteurs
        ]
        return ListeSecteurs(total=len(entries), secteurs=entries)

    return cached_list(request, generation, ("secteurs", scope.pays), answer)


def sous_secteurs(
    request: Request, generation: OpenGeneration
) -> Result[ListContent[ListeSousSecteurs]]:
    """GET /api/v1/sous-secteurs: the sub-sectors that have a company in the scope.

    A label that two chosen sectors share is one entry, with the companies that a search for it
    would find. `perimetre` spells the scope out: without `pays` it is every country.
    """
    asked = reader.read(request.pairs, SUB_SECTORS, generation.names)
    generation, scope = generation.at_version(asked.version), asked.query
    reference, english = generation.reference, seed_tables.nace_labels()

    def answer() -> ListeSousSecteurs:
        counts: Counter[tuple[str | None, str | None]] = Counter()
        for cell in _cells(reference, scope):
            counts[cell.secteur, cell.sous_secteur] += cell.n
        by_label: Counter[str] = Counter()
        codes: dict[str, str] = {}
        for sub_sector in reference.sous_secteurs:
            if sub_sector.secteur in scope.secteurs:
                by_label[sub_sector.sous_secteur] += counts[sub_sector.secteur, sub_sector.code]
                codes.setdefault(sub_sector.sous_secteur, sub_sector.code)
        entries = [
            SousSecteurDeListe(
                sous_secteur=label,
                n_societes=number,
                sous_secteur_en=english.get(codes[label], (label, label))[1],
            )
            for label, number in by_label.items()
            if number
        ]
        perimetre = Perimetre(
            pays=scope.pays or generation.names.pays,
            secteurs=[
                sector.secteur for sector in reference.secteurs if sector.code in scope.secteurs
            ],
        )
        return ListeSousSecteurs(total=len(entries), perimetre=perimetre, sous_secteurs=entries)

    return cached_list(request, generation, ("sous-secteurs", scope), answer)


def sources(request: Request, generation: OpenGeneration) -> Result[ListContent[ListeSources]]:
    """GET /api/v1/sources: the countries of the scope, each with its sources; those without data are named.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    asked = reader.read(request.pairs, SOURCES, generation.names)
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
            pays=[_country_sources(*pair) for pair in zip(shown, known, strict=True)],
        )

    return cached_list(request, generation, ("sources", countries), answer)


def cached_list(
    request: Request,
    generation: OpenGeneration,
    what: tuple[Hashable, ...],
    answer: Callable[[], A_co],
) -> Result[ListContent[A_co]]:
    """The list that `what` determines, made once for each generation, or a 304."""
    tag = etag(generation.id, *what)
    headers = {"ETag": tag, **_CACHED, DATA_VERSION: generation.id}
    if matches(request.if_none_match, tag):
        return not_modified(headers)

    def content() -> ListContent[A_co]:
        made = answer()
        return ListContent(made, made.json())

    return Result(200, generation.get_or_make(what, content), headers)


def _cells(reference: Reference, scope: Query) -> Iterable[CellCount]:
    for iso2 in scope.pays or reference.counts:
        yield from reference.counts[iso2]


def _country_sources(pays: Pays, known: CountrySources) -> SourcesPays:
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


def _companies(**given: str) -> Link:
    """A search by values of the first entry of a list."""
    return Link("companies", "searchCompanies", given)


FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "listCountries", "/api/v1/pays", "pays", "list", "Lists",
            pays, ListePays, place=10,
            tool="list_countries", parameters=parameters.PINNED, links=[_companies(pays=_FIRST_COUNTRY)],
        ),
        Operation(
            "listSectors", "/api/v1/secteurs", "secteurs", "list", "Lists",
            secteurs, ListeSecteurs, place=20,
            tool="list_sectors", parameters=SECTORS,
            links=[
                _companies(secteur=_FIRST_SECTOR),
                Link("sub_sectors", "listSubSectors", {"secteur": _FIRST_SECTOR}),
            ],
        ),
        Operation(
            "listSubSectors", "/api/v1/sous-secteurs", "sous-secteurs", "list", "Lists",
            sous_secteurs, ListeSousSecteurs, place=30,
            tool="list_subsectors", parameters=SUB_SECTORS,
            links=[
                _companies(
                    secteur="$request.query.secteur",
                    sous_secteur="$response.body#/sous_secteurs/0/sous_secteur",
                )
            ],
        ),
        Operation(
            "listSources", "/api/v1/sources", "sources", "list", "Lists",
            sources, ListeSources, place=40,
            tool="list_sources", parameters=SOURCES, links=[_companies(pays=_FIRST_COUNTRY)],
        ),
    ),
)  # fmt: skip
