"""Completion of a text, compared with the oracle: companies and words, in every choice of countries."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.suggest import suggestions
from tests import oracle
from tests.shards.search.open_shards import ENGINES, OpenShards, module_of
from tests.world import COUNTRIES, PIECES, Company, companies, company, names

TEXTS = st.lists(st.sampled_from(PIECES) | st.text("abfloó eŻ0", max_size=3), max_size=3).map(
    " ".join
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Company], list[tuple[str, tuple[str, ...]]]]:
    """Companies of few different names, and texts that begin like some of them, each with countries."""
    some = draw(st.lists(names, min_size=1, max_size=6))
    found = [{**one, "nom": draw(st.sampled_from(some))} for one in draw(companies())]
    beginnings = st.sampled_from(some).flatmap(
        lambda nom: st.integers(1, len(nom)).map(lambda end: nom[:end])
    )
    pays = st.sets(st.sampled_from(COUNTRIES)).map(lambda chosen: tuple(sorted(chosen)))
    return found, draw(st.lists(st.tuples(beginnings | TEXTS, pays), min_size=1, max_size=8))


@given(cases(), st.integers(1, 9))
def test_companies_and_words_are_those_of_the_oracle(
    case: tuple[list[Company], list[tuple[str, tuple[str, ...]]]], limit: int
) -> None:
    """Compiled and interpreted"""
    found, asked = case
    with OpenShards(found) as world:
        for q, pays in asked:
            best = [(one["iso2"], one["id"]) for one in oracle.suggested(found, q, pays)]
            words = oracle.suggested_words(found, q, pays)
            for engine in ENGINES.values():
                base = world.bases[id(engine)]
                completing = module_of(engine, suggestions)
                shown = completing.companies(base, q, pays, limit)
                assert [(c, world.shards[c].company(row)["id"]) for c, row in shown] == best[:limit]
                assert completing.words(base, q, pays, limit) == words[:limit]
            towns = suggestions.towns(world.shards, q, pays, limit)
            expected = oracle.suggested_towns(found, q, pays)[:limit]
            assert [(oracle.folded(town), n) for town, n in towns] == expected


@pytest.mark.parametrize("limit", [1, 3, 8, 20])
def test_equal_scores_are_in_the_order_of_countries_and_identifiers(limit: int) -> None:
    found = [
        company(iso2, f"{n}", "Alpha Beta" if n % 2 else "Beta Alpha", score=n % 3)
        for iso2 in COUNTRIES
        for n in range(7)
    ]
    with OpenShards(found) as world:
        for q, engine in itertools.product(("al", "alpha b", "beta al", "a"), ENGINES.values()):
            best = [(one["iso2"], one["id"]) for one in oracle.suggested(found, q)][:limit]
            completing = module_of(engine, suggestions)
            shown = completing.companies(world.bases[id(engine)], q, (), limit)
            assert [(c, world.shards[c].company(row)["id"]) for c, row in shown] == best


@pytest.mark.parametrize("frequent", [True, False])
def test_a_walk_along_the_scores_and_a_list_find_the_same(frequent: bool) -> None:
    """Of 200 companies all or few match, the best of them with the lowest scores, or anywhere."""
    found = [
        company(
            "EE",
            f"{n:03}",
            "Alpha Beta" if frequent or n % 50 == 7 else "Gamma Albeta",
            score=n % 9,
        )
        for n in range(200)
    ] + [company("FR", f"{n:03}", "Ceta Alpha", score=n) for n in range(9)]
    with OpenShards(found) as world:
        for q in ("al", "alpha b", "beta", "ce", "ceta alp", "a", "alp", "nothing"):
            best = [(one["iso2"], one["id"]) for one in oracle.suggested(found, q)][:8]
            shown = suggestions.companies(world.shards, q, (), 8)
            assert [(c, world.shards[c].company(row)["id"]) for c, row in shown] == best


def test_the_most_frequent_word_may_be_first_in_no_country() -> None:
    found = [
        company(iso2, f"{word}{number}", word)
        for iso2, own in zip(COUNTRIES, ("aa", "ab", "ac"), strict=True)
        for word, count in ((own, 4), ("ad", 3))
        for number in range(count)
    ]
    with OpenShards(found) as world:
        assert suggestions.words(world.shards, "a", (), 1) == [("ad", 9)]
        assert suggestions.words(world.shards, "a", ("FR",), 2) == [("ab", 4), ("ad", 3)]
