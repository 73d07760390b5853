"""The public lists: countries, sectors, sub-sectors, with their counts (§2.5, §4.1 to §4.3).

They are answered from the counts of the generation's reference, without touching a shard, and are
the same for every caller: keys are not even read (A2), and any cache may keep the lists (G8).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict, replace
from typing import Final, Generic, NamedTuple, TypeVar

from serve.access.call import DATA_VERSION, CallResult, Request, not_modified
from serve.access.etag import etag, matches
from serve.contract import seed_tables
from serve.contract.declaration import AnswerObject
from serve.contract.parameters import PAYS, SECTEUR, VERSION
from serve.features.reference.answers import (
    ListePays,
    ListeSecteurs,
    ListeSousSecteurs,
    PaysDeListe,
    Perimetre,
    SecteurDeListe,
    SousSecteurDeListe,
)
from serve.generation.open_generation import OpenGeneration
from serve.request import reader
from shards.generations.reference import CellCount, Reference
from shards.query import Query

A_co = TypeVar("A_co", bound=AnswerObject, covariant=True)

# Without a sector there are no sub-sectors to list (contract G4).
SECTEUR_REQUIS: Final = replace(SECTEUR, text="secteur-requis", required=True)
SECTORS: Final = (PAYS, VERSION)
SUB_SECTORS: Final = (SECTEUR_REQUIS, PAYS, VERSION)

_CACHED: Final = {"Cache-Control": "public, max-age=300"}


class ListContent(NamedTuple, Generic[A_co]):
    """A public list, and its bytes; both are kept in the generation."""

    answer: A_co
    body: bytes

    def json(self) -> bytes:
        return self.body


def pays(request: Request, generation: OpenGeneration) -> CallResult[ListContent[ListePays]]:
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


def secteurs(
    request: Request, generation: OpenGeneration
) -> CallResult[ListContent[ListeSecteurs]]:
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
) -> CallResult[ListContent[ListeSousSecteurs]]:
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


def cached_list(
    request: Request,
    generation: OpenGeneration,
    what: tuple[Hashable, ...],
    answer: Callable[[], A_co],
) -> CallResult[ListContent[A_co]]:
    """The list that `what` determines, made once for each generation, or a 304."""
    tag = etag(generation.id, *what)
    headers = {"ETag": tag, **_CACHED, DATA_VERSION: generation.id}
    if matches(request.if_none_match, tag):
        return not_modified(headers)

    def content() -> ListContent[A_co]:
        made = answer()
        return ListContent(made, made.json())

    return CallResult(200, generation.get_or_make(what, content), headers)


def _cells(reference: Reference, scope: Query) -> Iterable[CellCount]:
    for iso2 in scope.pays or reference.counts:
        yield from reference.counts[iso2]
