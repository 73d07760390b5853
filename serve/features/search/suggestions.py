"""GET /api/v1/suggestions: what completes a text that somebody types (X4).

Free and limited as the public lists are; but the companies in it are those of a search, as many as the caller's plan
shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from serve.access import rights
from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.contract import activities
from serve.contract.answers import activities_of
from serve.contract.company_answers import (
    ActiviteSuggeree,
    Mot,
    SecteurSuggere,
    SocieteSuggeree,
    Suggestions,
    VilleSuggeree,
)
from serve.contract.parameters import PAYS, VERSION, Q
from serve.generation import company_ids
from serve.generation.open_generation import EXPENSIVE_MICROSECONDS, OpenGeneration
from serve.request import reader, values
from shards.codec import record
from shards.codec.folding import fold
from shards.generations.reference import Secteur
from shards.query import Query
from shards.search.distribution import distributions
from shards.search.search import UNLIMITED, ShardSet, records
from shards.suggest import suggestions as completions

# Without a text there is nothing to complete.
Q_REQUIS: Final = replace(Q, text="q-requis", required=True, example="royal to")
PARAMETERS: Final = (Q_REQUIS, PAYS, VERSION)

MOST_COMPANIES: Final = 8
_MOST_WORDS: Final = 5
_MOST_TOWNS: Final = 5
_MOST_ACTIVITIES: Final = 5
_SHOWN: Final = ("iso2", "id", "nom", "ville", "etat")


def suggestions(request: Request, generation: OpenGeneration) -> PreparedCall[Suggestions]:
    """Companies, words, sectors, towns and activities that complete `q`, for the caller's plan.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    given = reader.read(request.pairs, PARAMETERS, generation.names)
    generation, pays, q = generation.at_version(given.version), given.query.pays, given.query.q
    assert q  # the parameter is required
    limit = rights.window(request.caller.plan, MOST_COMPANIES, 0).limit
    tag = etag(generation.id, "suggestions", q, pays, limit)
    headers = private_headers(tag, generation.id)

    async def run() -> "Result[Suggestions]":
        found = await generation.in_thread(
            EXPENSIVE_MICROSECONDS, lambda: _suggestions(generation, q, pays, limit)
        )
        return Result(200, found, headers)

    return PreparedCall(run, tag, headers)


def _suggestions(
    generation: OpenGeneration, q: str, pays: tuple[str, ...], limit: int
) -> Suggestions:
    base = generation.shards
    rows = _companies(base, q, pays, limit)
    words = completions.words(base, q, pays, _MOST_WORDS)
    towns = completions.towns(base, q, pays, _MOST_TOWNS)
    return Suggestions(
        q=q,
        societes=[SocieteSuggeree(**{name: row[name] for name in _SHOWN}) for row in rows],
        mots=[Mot(**word._asdict()) for word in words],
        secteurs=_sectors(generation, fold(q)),
        villes=[VilleSuggeree(ville=values.escape_item(town.ville), n=town.n) for town in towns],
        activites=_activities(generation, q, pays),
    )


def _companies(
    base: ShardSet, q: str, pays: tuple[str, ...], limit: int
) -> Sequence[Mapping[str, Any]]:
    """The companies whose number `q` is, then those whose names it completes."""
    numbered = company_ids.by_number(base, q, pays, limit)
    rows = completions.companies(base, q, pays, limit)
    named = record.companies(records(base, rows, coordonnees=False))
    return list({(row["iso2"], row["id"]): row for row in (*numbered, *named)}.values())[:limit]


def _activities(
    generation: OpenGeneration, q: str, pays: tuple[str, ...]
) -> list[ActiviteSuggeree]:
    """The activities of companies that complete a text: those that a label names, then by companies."""

    def count_classes() -> dict[str, int]:
        counted = distributions(generation.shards, Query(pays=pays), ("nace",), UNLIMITED)
        assert counted  # nothing costs more than UNLIMITED
        return dict(counted[1]["nace"].top_values())

    named, classes = activities.completions(q)
    counts = generation.get_or_make(("activités", pays), count_classes) if classes else {}
    known = sorted(
        classes & counts.keys(), key=lambda code: (code not in named, -counts[code], code)
    )
    chosen = activities_of(known[:_MOST_ACTIVITIES])
    return [ActiviteSuggeree(**vars(one), n=counts[one.nace]) for one in chosen]


def _sectors(generation: OpenGeneration, text: str) -> list[SecteurSuggere]:
    """The sectors whose French or English name begins with a folded text."""

    def folded_sectors() -> list[tuple[str, str, Secteur]]:
        known = generation.reference.secteurs
        return [(fold(one.secteur), fold(one.secteur_en), one) for one in known]

    return [
        SecteurSuggere(slug=one.slug, secteur=one.secteur, secteur_en=one.secteur_en)
        for french, english, one in generation.get_or_make(("secteurs pliés",), folded_sectors)
        if text and (french.startswith(text) or english.startswith(text))
    ]
