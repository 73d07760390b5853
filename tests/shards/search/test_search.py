"""The search, compared with tests/oracle.py: totals, rows, their order, every page."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shards import format
from shards.codec import row_sets
from shards.kernel import memory
from shards.query import ORDERS, Query, Range
from shards.search import search
from shards.writing import writer
from tests import oracle
from tests.shards.search.open_shards import ENGINES, INTERPRETED, OpenShards
from tests.shards.search.query_strategies import queries
from tests.world import Company, companies, company, identifiers, names

_SAME_LENGTH: Final = st.text("01AB", min_size=4, max_size=4)
# Thresholds of the build and costs of the search. They must not change any result.
BUILD: Final[dict[tuple[Any, str], Any]] = {
    (format, "HEAVY_LEAST"): st.sampled_from((0, 1, 3, 1_024)),
    (format, "HEAVY_SHARE"): st.just(2**31),
    (format, "COUNTED_LEAST"): st.sampled_from((0, 1)),
    (format, "COUNTED_SHARE"): st.just(2**31),
    (format, "PHRASE_SHARE"): st.just(2**31),
    (format, "HEADED_LEAST"): st.sampled_from((2, 4, format.HEADED_LEAST)),
    (format, "HEAD_ROWS"): st.sampled_from((1, 2)),
    (format, "TOP_ROWS"): st.sampled_from((8, format.TOP_ROWS)),
    (format, "TOP_LEAST"): st.sampled_from((0, 4, format.TOP_LEAST)),
    (row_sets, "_DENSE_FROM"): st.sampled_from((0, 3, 32)),
    (writer, "FEWEST_SAMPLES"): st.just(12),
}
COSTS: Final[dict[str, Any]] = {
    "SPAN_COST": st.sampled_from((0.0, 1e9)),
    "ADJACENT_COST": st.sampled_from((0.0, 1e9)),
    "LISTED_COST": st.sampled_from((0.0, 0.01, 1e9)),
    "CODE_COST": st.sampled_from((0.0, 1e9)),
    "SPARSE": st.sampled_from((0.0, 1.0)),
    "START_COST": st.sampled_from((0.0, 1e9)),
    "ROOM": st.sampled_from((0, 1, 3)),
    "SPARE": st.just(1),
    "SHARES": st.just(0),
}


@contextmanager
def tuning(build: Mapping[tuple[Any, str], Any], costs: Mapping[str, Any]) -> Iterator[None]:
    """Within the block, thresholds and costs are as given, so that small shards use the methods of large shards."""
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in build.items():
            patch.setattr(module, name, value)
        for engine in ENGINES.values():
            for name, value in costs.items():
                patch.setattr(engine.kernel_session.kernel_query, name, value)
        yield


@given(
    companies().flatmap(
        lambda dataset: st.tuples(st.just(dataset), st.lists(queries(dataset), max_size=12))
    ),
    st.just({}) | st.fixed_dictionaries(BUILD),
    st.fixed_dictionaries({}, optional=COSTS),
)
def test_a_search_has_the_total_and_rows_of_the_oracle(
    case: tuple[list[Company], list[Query]],
    build: Mapping[tuple[Any, str], Any],
    costs: Mapping[str, Any],
) -> None:
    """With both engines, whatever the thresholds of the build and the costs of the search"""
    dataset, searches = case
    with tuning(build, costs), OpenShards(dataset) as world:
        for query in searches:
            expected = [(c["iso2"], c["id"]) for c in oracle.search(dataset, query)]
            for engine in ENGINES.values():
                assert world.pages(query, 4, engine) == (len(expected), expected)


@given(
    companies().flatmap(
        lambda dataset: st.tuples(st.just(dataset), st.lists(queries(dataset), max_size=6))
    ),
    st.sampled_from((0.0, 0.1, 1.0, 10.0)),
)
def test_a_search_that_gives_up_at_its_budget_does_not_change_the_next_search(
    case: tuple[list[Company], list[Query]], budget: float
) -> None:
    """A budget is a number of microseconds; the page is None if the estimated cost is higher"""
    dataset, searches = case
    with OpenShards(dataset) as world:
        for query in searches:
            unlimited = search.search(world.shards, query, offset=0, limit=9)
            for engine in ENGINES.values():
                base = world.bases[id(engine)]
                page = engine.search_within(base, query, budget, offset=0, limit=9)
                assert page is None or (page.total, page.rows) == (unlimited.total, unlimited.rows)
                page = engine.search(base, query, offset=0, limit=9)
                assert (page.total, page.rows) == (unlimited.total, unlimited.rows)


@given(companies(), st.sampled_from(ORDERS), st.integers(1, 9))
@example([], "nom", 1)
def test_pages_of_every_order_have_no_gap_and_no_repeat(
    dataset: list[Company], tri: str, limit: int
) -> None:
    expected = [(c["iso2"], c["id"]) for c in oracle.search(dataset, Query(tri=tri))]

    with OpenShards(dataset) as world:
        assert world.pages(Query(tri=tri), limit) == (len(expected), expected)


def test_one_engine_is_compiled_and_the_other_is_not() -> None:
    assert memory.COMPILED
    assert not INTERPRETED.kernel_session.view.__globals__["COMPILED"]


def test_a_country_named_twice_is_counted_once() -> None:
    """B1"""
    with OpenShards([company("EE", "1", "Ä")]) as world:
        assert world.pages(Query(pays=("EE", "EE")), 9) == (1, [("EE", "1")])


def test_equal_values_are_ordered_by_country_then_identifier() -> None:
    """B28"""
    dataset = [company(iso2, i, "Ä", ca_eur=5.0) for iso2 in ("UK", "EE") for i in ("2", "10", "1")]

    with OpenShards(dataset) as world:
        _, rows = world.pages(Query(), 6)

    assert rows == [("EE", "1"), ("EE", "10"), ("EE", "2"), ("UK", "1"), ("UK", "10"), ("UK", "2")]


def test_nulls_are_last_in_both_directions() -> None:
    """B27: company 1 has no turnover, so it is after the negative turnover of company 2 in both directions"""
    dataset = [company("EE", "1", "a"), company("EE", "2", "b", ca_eur=-1.0)]

    with OpenShards(dataset) as world:
        assert world.pages(Query(tri="ca_asc"), 2)[1] == [("EE", "2"), ("EE", "1")]
        assert world.pages(Query(tri="ca_desc"), 2)[1] == [("EE", "2"), ("EE", "1")]


def test_a_text_is_found_inside_a_word_and_across_a_blank() -> None:
    """B15"""
    dataset = [company("EE", "1", "Fitlab OÜ"), company("EE", "2", "Lab. Orléans")]

    with OpenShards(dataset) as world:
        assert world.pages(Query(q="LAB", tri="nom"), 9)[0] == 2
        assert world.pages(Query(q="b o", tri="nom"), 9)[0] == 2
        assert world.pages(Query(q="lab orleans"), 9)[1] == [("EE", "2")]


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("length", [23, 24, 25, 30])
def test_a_long_word_is_found_by_any_long_part_of_it(
    length: int, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B15: words are sorted by their first 24 bytes, but compared in full"""
    monkeypatch.setattr(format, "HEAVY_LEAST", 0)
    beginning = "донаудампфшиффартс"  # two bytes per letter
    dataset = [company("EE", str(i), beginning + "ё" * i + "я" * 20 + str(i % 3)) for i in range(9)]
    queries = [Query(q=c["nom"][start : start + length]) for c in dataset for start in range(4)]

    with OpenShards(dataset) as world:
        for query in queries:
            expected = [(c["iso2"], c["id"]) for c in oracle.search(dataset, query)]
            assert world.pages(query, 20, engine) == (len(expected), expected)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("heavy_least", [0, 1, 10**6])
@given(data=st.data())
def test_every_part_of_a_name_or_identifier_finds_it(
    heavy_least: int, engine: Any, data: st.DataObject
) -> None:
    """B15; with stored unions of sets, and without"""
    noms = data.draw(st.lists(names, min_size=1, max_size=12))
    ids = data.draw(st.sampled_from([_SAME_LENGTH, identifiers]).flatmap(st.sets))
    dataset = [
        company("EE", identifier, nom) for identifier, nom in zip(sorted(ids), noms, strict=False)
    ]
    texts = [oracle.folded_text(c["nom"]) for c in dataset] + [c["id"] for c in dataset]
    text = data.draw(st.sampled_from(texts or ["a"]))
    start = data.draw(st.integers(0, max(0, len(text) - 1)))
    query = Query(q=text[start : data.draw(st.integers(start, len(text)))], tri="nom")
    build = {(format, "HEAVY_LEAST"): heavy_least, (format, "HEAVY_SHARE"): 2**31}
    with tuning(build | {(format, "PHRASE_SHARE"): 2**31}, {}), OpenShards(dataset) as world:
        expected = [(c["iso2"], c["id"]) for c in oracle.search(dataset, query)]
        assert world.pages(query, 20, engine) == (len(expected), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("red blue", ["1"]),
        ("ed b", ["1"]),
        ("blue green", ["1"]),
        ("red green", []),  # words of one name that are not neighbours in it
        ("blue red", ["2"]),
        ("d blue green", ["1"]),
        ("red blue gr", ["1"]),
        ("red blu gr", []),  # a word in the middle must be complete
        ("x y", []),  # no name has these characters around a blank
        ("red blue x", []),
    ],
)
def test_the_parts_of_a_text_must_be_neighbours(text: str, expected: list[str]) -> None:
    dataset = [company("EE", "1", "red blue green"), company("EE", "2", "blue red")]
    with OpenShards(dataset) as world:
        assert [identifier for _, identifier in world.pages(Query(q=text), 9)[1]] == expected


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("width", [1, 2, 8, 9])
def test_a_prefix_of_an_identifier_finds_exactly_the_identifiers_that_begin_with_it(
    width: int, engine: Any
) -> None:
    """B15; the least and the greatest prefix, and every sixteenth identifier, whose first bytes the file samples"""
    for count in (1, 2, 15, 16, 17, 33):
        dataset = [company("EE", f"{i:0{width}}", "Ψ") for i in range(1, count + 1)]
        prefixes = {c["id"][:size] for c in dataset for size in range(1, width + 2)}
        with OpenShards(dataset) as world:
            for text in (*prefixes, "0", "9", f"{count + 1:0{width}}"):
                expected = sorted(("EE", c["id"]) for c in dataset if c["id"].startswith(text))
                assert world.pages(Query(q=text), 50, engine) == (len(expected), expected)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_codes_of_a_search_do_not_change_the_next_search(engine: Any) -> None:
    """The tables of columns differ in size: few activities in many cells, and more towns"""
    dataset = [
        company("EE", f"{i:03}", "Ψ", division=division, groupe=groupe,
                nace_code=nace, ville=f"Ville {i % 37}")
        for i, (division, groupe, nace) in enumerate(
            (division, groupe, nace)
            for division, groups in (("01", ("01.1",)), ("47", ("47.1", "47.2")), ("62", ("62.0",)))
            for groupe in groups
            for nace in ("62.01", "62.02", "62.03")
            for _ in range(7)
        )
    ]  # fmt: skip
    searches = (
        Query(nace=("62.01", "62.03")), Query(nace=("62.02",)), Query(nace=("62.03",)),
        Query(villes=("Ville 0", "Ville 20", "Ville 36")), Query(villes=("Ville 1", "Ville 9")),
        Query(villes=("Ville 0", "Ville 36")), Query(nace=("62.01",), villes=("Ville 2",)),
    )  # fmt: skip
    with OpenShards(dataset) as world:
        for query in searches:
            expected = [(c["iso2"], c["id"]) for c in oracle.search(dataset, query)]
            assert world.pages(query, 50, engine) == (len(expected), expected)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("site_web", [False, True])
def test_every_pair_of_headcount_bounds_finds_the_companies_within_them(
    site_web: bool, engine: Any
) -> None:
    """B22: bounds equal to a headcount, between two, and beyond all"""
    dataset = [
        company("EE", f"{effectif}{site}", "Ä", effectif=effectif, site_web=site)
        for effectif in (None, 0, 1, 3, 4)
        for site in (None, "https://a.ee")
    ]
    with OpenShards(dataset) as world:
        for least, most in product((None, *range(6)), repeat=2):
            query = Query(ranges=(Range("effectif", least, most),), site_web=site_web)
            expected = [(c["iso2"], c["id"]) for c in oracle.search(dataset, query)]
            assert world.pages(query, 20, engine) == (len(expected), expected)


def test_equal_folded_names_are_ordered_by_raw_name_then_country() -> None:
    """B28, B29: all four names fold to `abc`; capitals come before small letters"""
    noms = {("UK", "1"): "ABC", ("FR", "1"): "abc", ("EE", "1"): "abc", ("EE", "2"): "Abc"}
    with OpenShards([company(*place, nom) for place, nom in noms.items()]) as world:
        rows = world.pages(Query(tri="nom"), 9)[1]

    assert rows == [("UK", "1"), ("EE", "2"), ("EE", "1"), ("FR", "1")]


def test_words_must_be_neighbours_to_match_across_a_blank() -> None:
    """B15"""
    dataset = [company("EE", "1", "red blue green"), company("EE", "2", "blue red")]

    with OpenShards(dataset) as world:
        assert world.pages(Query(q="red green"), 9)[0] == 0
        assert world.pages(Query(q="ed b"), 9)[1] == [("EE", "1")]


def test_punctuation_alone_finds_nothing() -> None:
    """B16"""
    with OpenShards([company("EE", "1", "A & B")]) as world:
        assert world.pages(Query(q=" & "), 9) == (0, [])


def test_an_identifier_is_found_by_its_letters_and_digits() -> None:
    """B15: case and punctuation do not count, and the text must be the beginning of the identifier"""
    with OpenShards([company("FR", "fn 122-m", "Ψ")]) as world:
        assert world.pages(Query(q="FN1.22"), 9)[0] == 1
        assert world.pages(Query(q="22m"), 9)[0] == 0


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_there_may_be_more_headcounts_than_16_bits_can_number(engine: Any) -> None:
    """FORMAT.md §7: from 32,768 distinct headcounts on, a shard stores them as 32 bits instead of 16"""
    dataset = [
        company(
            "EE", f"{i:06}", "a", effectif=i, ca_eur=float(i % 7), site_web=None if i % 5 else "a"
        )
        for i in range(33_000)
    ]
    searches = (
        Query(ranges=(Range("effectif", 32_990),)),
        Query(ranges=(Range("effectif", 32_990),), site_web=True, tri="nom"),
        Query(ranges=(Range("effectif", 12, 9_999), Range("ca_eur", 3.0))),
        Query(
            ranges=(Range("effectif", None, 20_000), Range("ca_eur", 6.0)),
            site_web=True,
            tri="score",
        ),
    )

    with OpenShards(dataset) as world:
        for query in searches:
            expected = [(c["iso2"], c["id"]) for c in oracle.search(dataset, query)]
            page = engine.search(world.bases[id(engine)], query, offset=0, limit=20)
            ids = [world.shards[row.iso2].company(row.row)["id"] for row in page.rows]
            assert (page.total, ids) == (
                len(expected),
                [identifier for _, identifier in expected[:20]],
            )
