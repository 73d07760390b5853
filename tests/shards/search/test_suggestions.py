"""Completions of a text, compared with the oracle: companies, words and towns, for any choice of countries."""

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
    """Companies with few different names, and prefixes of names or other texts, each with countries."""
    few_names = draw(st.lists(names, min_size=1, max_size=6))
    dataset = [{**entry, "nom": draw(st.sampled_from(few_names))} for entry in draw(companies())]
    beginnings = st.sampled_from(few_names).flatmap(
        lambda nom: st.integers(1, len(nom)).map(lambda end: nom[:end])
    )
    pays = st.sets(st.sampled_from(COUNTRIES)).map(lambda iso2s: tuple(sorted(iso2s)))
    return dataset, draw(st.lists(st.tuples(beginnings | TEXTS, pays), min_size=1, max_size=8))


@given(cases(), st.integers(1, 9))
def test_suggestions_are_those_of_the_oracle(
    case: tuple[list[Company], list[tuple[str, tuple[str, ...]]]], limit: int
) -> None:
    """Both engines suggest the companies and words of the oracle"""
    dataset, searches = case
    with OpenShards(dataset) as world:
        for q, pays in searches:
            best = [
                (entry["iso2"], entry["id"])
                for entry in oracle.suggested_companies(dataset, q, pays)
            ]
            words = oracle.suggested_words(dataset, q, pays)
            for engine in ENGINES.values():
                base = world.bases[id(engine)]
                completing = module_of(engine, suggestions)
                suggested = completing.companies(base, q, pays, limit)
                assert [
                    (iso2, world.shards[iso2].company(row)["id"]) for iso2, row in suggested
                ] == best[:limit]
                assert completing.words(base, q, pays, limit) == words[:limit]
            towns = suggestions.towns(world.shards, q, pays, limit)
            expected = oracle.suggested_towns(dataset, q, pays)[:limit]
            assert [(oracle.folded_text(town), count) for town, count in towns] == expected


@pytest.mark.parametrize("limit", [1, 3, 8, 20])
def test_equal_scores_are_in_the_order_of_countries_and_identifiers(limit: int) -> None:
    dataset = [
        company(iso2, f"{number}", "Alpha Beta" if number % 2 else "Beta Alpha", score=number % 3)
        for iso2 in COUNTRIES
        for number in range(7)
    ]
    with OpenShards(dataset) as world:
        for q, engine in itertools.product(("al", "alpha b", "beta al", "a"), ENGINES.values()):
            best = [
                (entry["iso2"], entry["id"]) for entry in oracle.suggested_companies(dataset, q)
            ][:limit]
            completing = module_of(engine, suggestions)
            suggested = completing.companies(world.bases[id(engine)], q, (), limit)
            assert [
                (iso2, world.shards[iso2].company(row)["id"]) for iso2, row in suggested
            ] == best


@pytest.mark.parametrize("all_match", [True, False])
def test_suggestions_are_right_whether_few_or_all_companies_match(all_match: bool) -> None:
    """With many matches, rows are tried by score; with few, all matches are listed."""
    dataset = [
        company(
            "EE",
            f"{number:03}",
            "Alpha Beta" if all_match or number % 50 == 7 else "Gamma Albeta",
            score=number % 9,
        )
        for number in range(200)
    ] + [company("FR", f"{number:03}", "Ceta Alpha", score=number) for number in range(9)]
    with OpenShards(dataset) as world:
        for q in ("al", "alpha b", "beta", "ce", "ceta alp", "a", "alp", "nothing"):
            best = [
                (entry["iso2"], entry["id"]) for entry in oracle.suggested_companies(dataset, q)
            ][:8]
            suggested = suggestions.companies(world.shards, q, (), 8)
            assert [
                (iso2, world.shards[iso2].company(row)["id"]) for iso2, row in suggested
            ] == best


def test_the_most_frequent_word_may_be_first_in_no_country() -> None:
    dataset = [
        company(iso2, f"{word}{number}", word)
        for iso2, local_word in zip(COUNTRIES, ("aa", "ab", "ac"), strict=True)
        for word, count in ((local_word, 4), ("ad", 3))
        for number in range(count)
    ]
    with OpenShards(dataset) as world:
        assert suggestions.words(world.shards, "a", (), 1) == [("ad", 9)]
        assert suggestions.words(world.shards, "a", ("FR",), 2) == [("ab", 4), ("ad", 3)]
