"""GET /api/v1/societes/{iso}/{id}/groupe: who consolidates a company, and whom it consolidates (extension X12).

The links are those of the LEI data (level 2), which know LEI and no names: a parent or child that is no company here
has its LEI alone. Parents go up link by link; a chain that comes back to itself ends there, and the answer says so.
A link that has ended is history: it stands apart, and makes nobody a parent or a child of today.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from serve.access import rights
from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.access.company_path import locate, path_of, refuse_absent
from serve.contract import reasons
from serve.contract.answers import SocieteNommee
from serve.features.record.answers import AncienLien, Groupe, Lien, SocieteDuGroupe, SourceDesLiens
from serve.generation.open_generation import OpenGeneration
from shards.generations.groups import NATURES, Groups, Relationship
from shards.generations.register_sources import RegisterImport
from shards.search import company_numbers
from shards.search.company_numbers import CompanyPlace

MOST_CHILDREN: Final = 100
MOST_PARENTS: Final = 100
LOOP, CUT = "boucle", "parents_coupes"
DIRECT, ULTIMATE, BRANCH = "directe", "ultime", "succursale"
MOTHER, DAUGHTER = "mere", "filiale"
# A search of an LEI in the indexes of 25 countries.
_MICROSECONDS_AN_LEI: Final = 100.0


class _Links(NamedTuple):
    """The links of a company: up to the top, to the ultimate parent, down as far as shown, and the counts.

    `ended_up`, `ended_down`: those to former parents and children, as far as shown.
    `motif`: why going up ended before the top, None where it did not.
    """

    up: list[Relationship]
    top: Relationship | None
    down: list[Relationship]
    children: int
    ultimate: int
    ended_up: list[Relationship]
    ended_down: list[Relationship]
    motif: str | None


def groupe(request: Request, generation: OpenGeneration) -> PreparedCall[Groupe]:
    """The group of a company: parents up to the top, and children, at most as many as the plan shows of a search.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    generation = generation.at_version_of(request.pairs)
    shard, row = locate(request, generation)
    if row is None:
        return PreparedCall(partial(refuse_absent, generation, shard, request.segments[1]))
    plan = request.caller.plan
    limit = rights.window(plan, MOST_CHILDREN, 0).limit
    record = shard.company(row)
    company = f"{shard.iso2}/{record['id']}"
    tag = etag(
        generation.id,
        plan.slug,
        request.caller.souscrit,
        request.offer,
        "groupe",
        company,
        request.lang,
    )
    path = f"{path_of(company)}/groupe"
    headers = private_headers(tag, generation.id, path=path, lang=request.lang)
    names = {name: record[name] for name in ("iso2", "id", "nom", "lei")}
    subject = SocieteDuGroupe(**names)

    async def run() -> "Result[Groupe]":
        groups, imports = generation.groups
        links = _links(groups, record["lei"], limit) if record["lei"] else None
        others = dict.fromkeys(_leis(links)) if links else {}
        places = await generation.in_thread(
            _MICROSECONDS_AN_LEI * len(others),
            lambda: {lei: company_numbers.maybe_numbered(generation.shards, lei) for lei in others},
        )
        known = {lei: _company(generation, lei, found) for lei, found in places.items()}
        content = _group(subject, links, known, imports, request)
        return Result(200, content, headers)

    return PreparedCall(run, tag, headers)


def _links(groups: Groups, lei: str, limit: int) -> _Links | None:
    """The links of an LEI, at most `limit` of them down; None if there are none."""
    own = list(groups.parents(lei))
    up, motif = _parent_chain(groups, lei)
    down = [link for nature in (DIRECT, BRANCH) for link in groups.children(lei, nature, limit)]
    former = [link for kind in NATURES for link in groups.children(lei, kind, limit, ended=True)]
    children = sum(groups.count_children(lei, nature) for nature in (DIRECT, BRANCH))
    ultimate = groups.count_children(lei, ULTIMATE)
    if not own and not children and not ultimate and not former:
        return None
    return _Links(
        up,
        _current_link(link for link in own if link.nature == ULTIMATE),
        down[:limit],
        children,
        ultimate,
        [link for link in own if link.fin is not None][:limit],
        former[:limit],
        motif,
    )


def _parent_chain(groups: Groups, lei: str) -> tuple[list[Relationship], str | None]:
    """The chain of direct parents, or head offices; why it ends before the top, if it does."""
    chain: list[Relationship] = []
    seen = {lei}
    while len(chain) < MOST_PARENTS:
        above = [one for one in groups.parents(lei) if one.nature != ULTIMATE]
        link = _current_link(above)
        if link is None:
            return chain, None
        chain.append(link)
        lei = link.parent
        if lei in seen:
            return chain, LOOP
        seen.add(lei)
    return chain, CUT


def _current_link(links: Iterable[Relationship]) -> Relationship | None:
    """Of several links of a kind the latest that has not ended; direct ones first."""
    return max(
        (one for one in links if one.fin is None),
        key=lambda one: (one.nature == DIRECT, one.debut or ""),
        default=None,
    )


def _leis(links: _Links) -> Iterator[str]:
    """The LEI that the answer names."""
    yield from (one.parent for one in links.up)
    if links.top:
        yield links.top.parent
    yield from (one.child for one in (*links.down, *links.ended_down))
    yield from (one.parent for one in links.ended_up)


def _company(
    generation: OpenGeneration, lei: str, places: Iterable[CompanyPlace]
) -> SocieteNommee | None:
    """The company among these places that has the LEI."""
    for iso2, row in places:
        record = generation.shards[iso2].company(row)
        if record["lei"] == lei:
            return SocieteNommee(iso2=record["iso2"], id=record["id"], nom=record["nom"])
    return None


def _group(
    subject: SocieteDuGroupe,
    links: _Links | None,
    known: Mapping[str, SocieteNommee | None],
    imports: Iterable[RegisterImport],
    request: Request,
) -> Groupe:
    def members(lei: str, link: Relationship) -> dict[str, Any]:
        dates = {"nature": link.nature, "debut": link.debut, "fin": link.fin}
        return {"lei": lei, "societe": known[lei], **dates}

    def made_link(lei: str, link: Relationship) -> Lien:
        return Lien(**members(lei, link))

    nothing = "lei_absent" if subject.lei is None else "aucune_relation"
    code = nothing if links is None else links.motif
    former = [
        *((MOTHER, link.parent, link) for link in (links.ended_up if links else ())),
        *((DAUGHTER, link.child, link) for link in (links.ended_down if links else ())),
    ]
    ended = [AncienLien(role=role, **members(lei, link)) for role, lei, link in former]
    return Groupe(
        societe=subject,
        plan=request.caller.plan.slug,
        motif=code and reasons.motif(code, request.lang),
        parents=[made_link(link.parent, link) for link in links.up] if links else None,
        tete=made_link(links.top.parent, links.top) if links and links.top else None,
        enfants=[made_link(link.child, link) for link in links.down] if links else None,
        total_enfants=links.children if links else None,
        total_consolidees=links.ultimate if links else None,
        anciens_liens=ended if links else None,
        sources=[_source(imported) for imported in imports] if links else [],
        motif_code=code,
        offre_suivante=request.offer,
    )


def _source(register_import: RegisterImport) -> SourceDesLiens:
    """Where the links come from, with the date of the file."""
    return SourceDesLiens(
        source=register_import.source,
        registre=register_import.registre,
        licence=register_import.licence,
        licence_adresse=register_import.licence_adresse,
        attribution=register_import.attribution,
        attribution_en=register_import.attribution_en,
        date=register_import.date,
    )
