"""GET /api/v1/suggestions: the completions of a text that is being typed (X4).

Free, with the same burst limits as the public lists. The number of companies is limited by the caller's plan, as in a
search.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from serve.access import rights
from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.contract import activities
from serve.contract.answers import activities_of
from serve.contract.parameters import PAYS, VERSION, Q
from serve.features.search.answers import (
    ActiviteSuggeree,
    Mot,
    SecteurSuggere,
    SocieteSuggeree,
    Suggestions,
    VilleSuggeree,
)
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

# `q` is optional in a search and required here.
Q_REQUIS: Final = replace(Q, text="q-requis", required=True, example="royal to")
PARAMETERS: Final = (Q_REQUIS, PAYS, VERSION)

# The most completions of each kind; the plan can limit companies further.
MOST_COMPANIES: Final = 8
_MOST_WORDS: Final = 5
_MOST_TOWNS: Final = 5
_MOST_ACTIVITIES: Final = 5
# The fields of a suggested company.
_COMPANY_FIELDS: Final = ("iso2", "id", "nom", "ville", "etat")


def suggestions(request: Request, generation: OpenGeneration) -> PreparedCall[Suggestions]:
    """Companies, words, sectors, towns and activities that complete `q`, for the caller's plan.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    parsed = reader.read(request.pairs, PARAMETERS, generation.names)
    generation, pays, q = generation.pinned_to(parsed.version), parsed.query.pays, parsed.query.q
    assert q  # the parameter is required
    limit = rights.window(request.caller.plan, MOST_COMPANIES, 0).limit
    tag = etag(generation.id, "suggestions", q, pays, limit)
    headers = private_headers(tag, generation.id)

    async def run() -> "Result[Suggestions]":
        """Complete the text in a thread of the generation."""
        content = await generation.run(
            EXPENSIVE_MICROSECONDS, lambda: _suggestions(generation, q, pays, limit)
        )
        return Result(200, content, headers)

    return PreparedCall(run, tag, headers)


def _suggestions(
    generation: OpenGeneration, q: str, pays: tuple[str, ...], limit: int
) -> Suggestions:
    """All completions of `q`, with at most `limit` companies."""
    base = generation.shards
    rows = _companies(base, q, pays, limit)
    words = completions.words(base, q, pays, _MOST_WORDS)
    towns = completions.towns(base, q, pays, _MOST_TOWNS)
    return Suggestions(
        q=q,
        societes=[SocieteSuggeree(**{name: row[name] for name in _COMPANY_FIELDS}) for row in rows],
        mots=[Mot(**word._asdict()) for word in words],
        secteurs=_sectors(generation, fold(q)),
        villes=[VilleSuggeree(ville=values.escape_item(town.ville), n=town.n) for town in towns],
        activites=_activities(generation, q, pays),
    )


def _companies(
    base: ShardSet, q: str, pays: tuple[str, ...], limit: int
) -> Sequence[Mapping[str, Any]]:
    """The companies with the number `q`, then the companies whose names complete `q`."""
    numbered = company_ids.find_by_number(base, q, pays, limit)
    rows = completions.companies(base, q, pays, limit)
    by_name = record.companies(records(base, rows, coordonnees=False))
    return list({(row["iso2"], row["id"]): row for row in (*numbered, *by_name)}.values())[:limit]


def _activities(
    generation: OpenGeneration, q: str, pays: tuple[str, ...]
) -> list[ActiviteSuggeree]:
    """The activities that complete a text and have companies: activities whose label matches first, then by count."""

    def count_classes() -> dict[str, int]:
        """The companies by NACE class."""
        counted = distributions(generation.shards, Query(pays=pays), ("nace",), UNLIMITED)
        assert counted  # nothing costs more than UNLIMITED
        return dict(counted[1]["nace"].top_values())

    # `labelled` are the classes whose label completes `q`; `classes` also those that match only by another term for the
    # activity.
    labelled, classes = activities.completions(q)
    counts = generation.get_or_make(("activités", pays), count_classes) if classes else {}
    codes = sorted(
        classes & counts.keys(), key=lambda code: (code not in labelled, -counts[code], code)
    )
    chosen = activities_of(codes[:_MOST_ACTIVITIES])
    return [ActiviteSuggeree(**vars(activity), n=counts[activity.nace]) for activity in chosen]


def _sectors(generation: OpenGeneration, text: str) -> list[SecteurSuggere]:
    """The sectors whose French or English name begins with the folded `text`."""

    def folded_sectors() -> list[tuple[str, str, Secteur]]:
        """The folded French and English name of each sector, and the sector."""
        sectors = generation.reference.secteurs
        return [(fold(sector.secteur), fold(sector.secteur_en), sector) for sector in sectors]

    return [
        SecteurSuggere(slug=sector.slug, secteur=sector.secteur, secteur_en=sector.secteur_en)
        for french, english, sector in generation.get_or_make(("secteurs pliés",), folded_sectors)
        if text and (french.startswith(text) or english.startswith(text))
    ]
