"""The public lists: countries, sectors, sub-sectors, with their counts (§2.5, §4.1 to §4.3), and the sources (X9).

The answers come from the reference lists of the generation, not from shards, and are the same for all callers. So keys
are not read (A2), and any cache can store the lists (G8).
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

Answer_co = TypeVar("Answer_co", bound=AnswerObject, covariant=True)

# Without a sector there are no sub-sectors to list (contract G4).
SECTEUR_REQUIS: Final = replace(SECTEUR, text="secteur-requis", required=True)
# The parameters of the routes.
SECTORS: Final = (PAYS, VERSION)
SUB_SECTORS: Final = (SECTEUR_REQUIS, PAYS, VERSION)
SOURCES: Final = (PAYS, VERSION)

# Any cache may store the lists (G8), for five minutes.
_CACHED: Final = {"Cache-Control": "public, max-age=300"}
# The names of tables in answers, if they differ from the names in the data.
_TABLES: Final = {COMPANIES: "societes"}
_SHARE_DECIMALS: Final = 4  # decimals of the share of companies that have a field
# Expressions of OpenAPI for values of the first entry.
_FIRST_COUNTRY: Final = "$response.body#/pays/0/iso2"
_FIRST_SECTOR: Final = "$response.body#/secteurs/0/slug"


class ListContent(NamedTuple, Generic[Answer_co]):
    """A public list and its JSON, which the generation remembers."""

    answer: Answer_co
    body: bytes

    def json(self) -> bytes:
        """The list as JSON."""
        return self.body


def pays(request: Request, generation: OpenGeneration) -> Result[ListContent[ListePays]]:
    """GET /api/v1/pays: all countries, in the order of the reference.

    Raises:
        ApiError: 400; 409 for a `version` that is no longer open, as for all these lists.
    """
    generation = generation.pinned_by(request.pairs)
    reference = generation.reference

    def answer() -> ListePays:
        """All countries with the number of their companies."""
        entries = [
            PaysDeListe(**asdict(country), n_societes=reference.societes(country.iso2))
            for country in reference.pays
        ]
        return ListePays(total=len(entries), pays=entries)

    return cached_list(request, generation, ("pays",), answer)


def secteurs(request: Request, generation: OpenGeneration) -> Result[ListContent[ListeSecteurs]]:
    """GET /api/v1/secteurs: all sectors, also sectors without a company in the scope (G5)."""
    arguments = reader.read(request.pairs, SECTORS, generation.names)
    generation, scope = generation.pinned_to(arguments.version), arguments.query

    def answer() -> ListeSecteurs:
        """All sectors with the number of their companies in the scope."""
        counts: Counter[str | None] = Counter()
        for cell in _cells(generation.reference, scope):
            counts[cell.secteur] += cell.n
        entries = [
            SecteurDeListe(
                secteur=sector.secteur,
                secteur_en=sector.secteur_en,
                slug=sector.slug,
                grand_secteur=sector.grand_secteur,
                n_societes=counts[sector.code],
            )
            for sector in generation.reference.secteurs
        ]
        return ListeSecteurs(total=len(entries), secteurs=entries)

    return cached_list(request, generation, ("secteurs", scope.pays), answer)


def sous_secteurs(
    request: Request, generation: OpenGeneration
) -> Result[ListContent[ListeSousSecteurs]]:
    """GET /api/v1/sous-secteurs: the sub-sectors that have a company in the scope.

    A label that two chosen sectors share is one entry, with the companies that a search for the label finds.
    `perimetre` is the complete scope: without `pays` it contains all countries.
    """
    arguments = reader.read(request.pairs, SUB_SECTORS, generation.names)
    generation, scope = generation.pinned_to(arguments.version), arguments.query
    reference, english = generation.reference, seed_tables.nace_labels()

    def answer() -> ListeSousSecteurs:
        """The sub-sectors of the chosen sectors, by label."""
        counts: Counter[tuple[str | None, str | None]] = Counter()
        for cell in _cells(reference, scope):
            counts[cell.secteur, cell.sous_secteur] += cell.n
        by_label: Counter[str] = Counter()
        codes: dict[str, str] = {}  # the first code of each label
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
    """GET /api/v1/sources: the countries of the scope and their sources; `pays_sans_donnees`: those without companies.

    Raises:
        ApiError: 400; 409 for a `version` that is no longer open.
    """
    arguments = reader.read(request.pairs, SOURCES, generation.names)
    generation, countries = generation.pinned_to(arguments.version), arguments.query.pays
    reference = generation.reference

    def answer() -> ListeSources:
        """The sources of the chosen countries, or of all countries."""
        listed = [
            country for country in reference.pays if not countries or country.iso2 in countries
        ]
        sources_of_countries = [generation.sources[country.iso2] for country in listed]
        oldest, newest = country_sources.date_range(sources_of_countries) or (None, None)
        return ListeSources(
            total=len(listed),
            date_min=oldest,
            date_max=newest,
            pays_sans_donnees=[
                country.iso2 for country in sources_of_countries if not country.n_societes
            ],
            pays=[
                _country_sources(*pair) for pair in zip(listed, sources_of_countries, strict=True)
            ],
        )

    return cached_list(request, generation, ("sources", countries), answer)


def cached_list(
    request: Request,
    generation: OpenGeneration,
    key: tuple[Hashable, ...],
    answer: Callable[[], Answer_co],
) -> Result[ListContent[Answer_co]]:
    """The list for `key`, made once for each generation, or a 304.

    Args:
        key: the name of the list and its parameters.
        answer: makes the list.
    """
    tag = etag(generation.id, *key)
    headers = {"ETag": tag, **_CACHED, DATA_VERSION: generation.id}
    if matches(request.if_none_match, tag):
        return not_modified(headers)

    def content() -> ListContent[Answer_co]:
        """The list and its JSON, which the generation remembers."""
        list_answer = answer()
        return ListContent(list_answer, list_answer.json())

    return Result(200, generation.get_or_make(key, content), headers)


def _cells(reference: Reference, scope: Query) -> Iterable[CellCount]:
    """The counts of the cells of all countries in the scope."""
    for iso2 in scope.pays or reference.counts:
        yield from reference.counts[iso2]


def _country_sources(pays: Pays, country: CountrySources) -> SourcesPays:
    """The sources of a country, and the share of its companies that have each field."""
    return SourcesPays(
        iso2=pays.iso2,
        slug=pays.slug,
        nom_fr=pays.nom_fr,
        nom_en=pays.nom_en,
        registre=pays.registre,
        n_societes=country.n_societes,
        date_source=country.date,
        sources=[_source(register_import, pays.iso2) for register_import in country.imports],
        champs={
            name: round(count / country.n_societes, _SHARE_DECIMALS)
            for name, count in country.filled.items()
            if country.n_societes
        },
    )


def _source(register_import: RegisterImport, iso2: str) -> SourceDeDonnees:
    """An import, as a source of the country `iso2`."""
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


def _search_link(**values: str) -> Link:
    """A link from a list to the search by values of its first entry, for the documentation."""
    return Link("companies", "searchCompanies", values)


FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "listCountries", "/api/v1/pays", "pays", "list", "Lists",
            pays, ListePays, place=10,
            tool="list_countries", parameters=parameters.PINNED, links=[_search_link(pays=_FIRST_COUNTRY)],
        ),
        Operation(
            "listSectors", "/api/v1/secteurs", "secteurs", "list", "Lists",
            secteurs, ListeSecteurs, place=20,
            tool="list_sectors", parameters=SECTORS,
            links=[
                _search_link(secteur=_FIRST_SECTOR),
                Link("sub_sectors", "listSubSectors", {"secteur": _FIRST_SECTOR}),
            ],
        ),
        Operation(
            "listSubSectors", "/api/v1/sous-secteurs", "sous-secteurs", "list", "Lists",
            sous_secteurs, ListeSousSecteurs, place=30,
            tool="list_subsectors", parameters=SUB_SECTORS,
            links=[
                _search_link(
                    secteur="$request.query.secteur",
                    sous_secteur="$response.body#/sous_secteurs/0/sous_secteur",
                )
            ],
        ),
        Operation(
            "listSources", "/api/v1/sources", "sources", "list", "Lists",
            sources, ListeSources, place=40,
            tool="list_sources", parameters=SOURCES, links=[_search_link(pays=_FIRST_COUNTRY)],
        ),
    ),
)  # fmt: skip
