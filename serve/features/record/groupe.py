"""GET /api/v1/societes/{iso}/{id}/groupe: the parents and children of a company by consolidation (extension X12).

The links come from the LEI data (level 2), which have LEIs and no names: a parent or child that is not in the base has
only its LEI. The chain of parents goes up link by link; if it returns to itself, it ends there with a reason. A link
that has ended is listed apart, and its companies are not parents or children of today.
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
from shards.reader.shard import CompanyRow
from shards.search import company_numbers

MOST_CHILDREN: Final = 100  # children that an answer names
MOST_PARENTS: Final = 100  # companies in a chain of parents
# The reasons why a chain of parents ends before the top: it returns to itself, or it has more than MOST_PARENTS.
LOOP, CUT = "boucle", "parents_coupes"
# The natures of a link, and the roles of the other company of a former link.
DIRECT, ULTIMATE, BRANCH = "directe", "ultime", "succursale"
MOTHER, DAUGHTER = "mere", "filiale"
# The estimated cost of looking up an LEI in the indexes of 25 countries.
_MICROSECONDS_AN_LEI: Final = 100.0


class _Links(NamedTuple):
    """The links of a company.

    Attributes:
        up: the chain of direct parents, from the nearest.
        top: the link to the ultimate parent.
        down: links to direct children and branches, at most the limit of the answer.
        children: the number of all direct children and branches.
        ultimate: the number of companies of which it is the ultimate parent.
        ended_up: links to former parents, at most the limit.
        ended_down: links to former children, at most the limit.
        motif: the reason why `up` ends before the top, None if it does not.
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
    """The group of a company: parents up to the top, and children, at most as many as the plan shows in a search.

    Raises:
        ApiError: 400; 409 for a `version` that is no longer open.
    """
    generation = generation.pinned_by(request.pairs)
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
        """Find the links of the company, and the companies with the other LEIs."""
        groups, imports = generation.groups
        links = _links(groups, record["lei"], limit) if record["lei"] else None
        other_leis = dict.fromkeys(_other_leis(links)) if links else {}
        rows_by_lei = await generation.run(
            _MICROSECONDS_AN_LEI * len(other_leis),
            lambda: {
                lei: company_numbers.possible_companies(generation.shards, lei)
                for lei in other_leis
            },
        )
        companies = {
            lei: _company_with_lei(generation, lei, rows) for lei, rows in rows_by_lei.items()
        }
        content = _group(subject, links, companies, imports, request)
        return Result(200, content, headers)

    return PreparedCall(run, tag, headers)


def _links(groups: Groups, lei: str, limit: int) -> _Links | None:
    """The links of an LEI, with at most `limit` children; None if there are no links."""
    own_parents = list(groups.parents(lei))
    up, motif = _parent_chain(groups, lei)
    down = [link for nature in (DIRECT, BRANCH) for link in groups.children(lei, nature, limit)]
    former_children = [
        link for kind in NATURES for link in groups.children(lei, kind, limit, ended=True)
    ]
    child_count = sum(groups.count_children(lei, nature) for nature in (DIRECT, BRANCH))
    ultimate_count = groups.count_children(lei, ULTIMATE)
    if not own_parents and not child_count and not ultimate_count and not former_children:
        return None
    return _Links(
        up,
        _current_link(link for link in own_parents if link.nature == ULTIMATE),
        down[:limit],
        child_count,
        ultimate_count,
        [link for link in own_parents if link.fin is not None][:limit],
        former_children[:limit],
        motif,
    )


def _parent_chain(groups: Groups, lei: str) -> tuple[list[Relationship], str | None]:
    """The chain of direct parents or head offices, nearest first, and the reason if it ends before the top.

    The reason is LOOP if a company of the chain is its own indirect parent, CUT at MOST_PARENTS links, else None.
    """
    chain: list[Relationship] = []
    chain_leis = {lei}
    while len(chain) < MOST_PARENTS:
        parents = [parent for parent in groups.parents(lei) if parent.nature != ULTIMATE]
        link = _current_link(parents)
        if link is None:
            return chain, None
        chain.append(link)
        lei = link.parent
        if lei in chain_leis:
            return chain, LOOP
        chain_leis.add(lei)
    return chain, CUT


def _current_link(links: Iterable[Relationship]) -> Relationship | None:
    """The latest link that has not ended, direct links first; None if all have ended."""
    return max(
        (link for link in links if link.fin is None),
        key=lambda link: (link.nature == DIRECT, link.debut or ""),
        default=None,
    )


def _other_leis(links: _Links) -> Iterator[str]:
    """The LEIs of all companies to which the links lead; an LEI can occur more than once."""
    yield from (link.parent for link in links.up)
    if links.top:
        yield links.top.parent
    yield from (link.child for link in (*links.down, *links.ended_down))
    yield from (link.parent for link in links.ended_up)


def _company_with_lei(
    generation: OpenGeneration, lei: str, rows: Iterable[CompanyRow]
) -> SocieteNommee | None:
    """The company with this LEI among the possible rows, or None; an index can give rows with another LEI."""
    for iso2, row in rows:
        record = generation.shards[iso2].company(row)
        if record["lei"] == lei:
            return SocieteNommee(iso2=record["iso2"], id=record["id"], nom=record["nom"])
    return None


def _group(
    subject: SocieteDuGroupe,
    links: _Links | None,
    companies: Mapping[str, SocieteNommee | None],
    imports: Iterable[RegisterImport],
    request: Request,
) -> Groupe:
    """The answer; `links` is None for a company without an LEI or without links."""

    def link_fields(lei: str, link: Relationship) -> dict[str, Any]:
        """The fields of a link to the company with this LEI, the parent or the child of the link."""
        dates = {"nature": link.nature, "debut": link.debut, "fin": link.fin}
        return {"lei": lei, "societe": companies[lei], **dates}

    def new_link(lei: str, link: Relationship) -> Lien:
        """A current link to the company with this LEI, as an object of the answer."""
        return Lien(**link_fields(lei, link))

    no_links_reason = "lei_absent" if subject.lei is None else "aucune_relation"
    reason_code = no_links_reason if links is None else links.motif
    former_links = [
        *((MOTHER, link.parent, link) for link in (links.ended_up if links else ())),
        *((DAUGHTER, link.child, link) for link in (links.ended_down if links else ())),
    ]
    ended_links = [
        AncienLien(role=role, **link_fields(lei, link)) for role, lei, link in former_links
    ]
    return Groupe(
        societe=subject,
        plan=request.caller.plan.slug,
        motif=reason_code and reasons.motif(reason_code, request.lang),
        parents=[new_link(link.parent, link) for link in links.up] if links else None,
        tete=new_link(links.top.parent, links.top) if links and links.top else None,
        enfants=[new_link(link.child, link) for link in links.down] if links else None,
        total_enfants=links.children if links else None,
        total_consolidees=links.ultimate if links else None,
        anciens_liens=ended_links if links else None,
        sources=[_source(imported) for imported in imports] if links else [],
        motif_code=reason_code,
        offre_suivante=request.offer,
    )


def _source(register_import: RegisterImport) -> SourceDesLiens:
    """The source of the links, with the date of the file."""
    return SourceDesLiens(
        source=register_import.source,
        registre=register_import.registre,
        licence=register_import.licence,
        licence_adresse=register_import.licence_adresse,
        attribution=register_import.attribution,
        attribution_en=register_import.attribution_en,
        date=register_import.date,
    )
