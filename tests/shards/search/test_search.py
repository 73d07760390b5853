"""The search, compared with the slow one of tests/oracle.py: totals, rows, order, every page."""

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
# Thresholds of the build and costs of the search: none of them may change an answer.
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
    (row_sets, "_DENSE"): st.sampled_from((0, 3, 32)),
    (writer, "FEWEST_SAMPLES"): st.just(12),
}
COSTS: Final[dict[str, Any]] = {
    "SPAN": st.sampled_from((0.0, 1e9)),
    "ALONG": st.sampled_from((0.0, 1e9)),
    "LISTED": st.sampled_from((0.0, 0.01, 1e9)),
    "CODED": st.sampled_from((0.0, 1e9)),
    "SPARSE": st.sampled_from((0.0, 1.0)),
    "START": st.sampled_from((0.0, 1e9)),
    "ROOM": st.sampled_from((0, 1, 3)),
    "SPARE": st.just(1),
    "SHARES": st.just(0),
}


@contextmanager
def tuned(build: Mapping[tuple[Any, str], Any], costs: Mapping[str, Any]) -> Iterator[None]:
    """Thresholds and costs as given: what only large shards do, small ones do, too."""
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in build.items():
            patch.setattr(module, name, value)
        for engine in ENGINES.values():
            for name, value in costs.items():
                patch.setattr(engine.kernel_session.kernel_query, name, value)
        yield


@given(
    companies().flatmap(lambda c: st.tuples(st.just(c), st.lists(queries(c), max_size=12))),
    st.just({}) | st.fixed_dictionaries(BUILD),
    st.fixed_dictionaries({}, optional=COSTS),
)
def test_search_answers_as_the_oracle_does(
    case: tuple[list[Company], list[Query]],
    build: Mapping[tuple[Any, str], Any],
    costs: Mapping[str, Any],
) -> None:
    """Compiled and interpreted."""
    found, asked = case
    with tuned(build, costs), OpenShards(found) as world:
        for query in asked:
            expected = [(c["iso2"], c["id"]) for c in oracle.search(found, query)]
            for engine in ENGINES.values():
                assert world.pages(query, 4, engine) == (len(expected), expected)


@given(
    companies().flatmap(lambda c: st.tuples(st.just(c), st.lists(queries(c), max_size=6))),
    st.sampled_from((0.0, 0.1, 1.0, 10.0)),
)
def test_a_search_within_a_budget_answers_or_gives_up_and_leaves_no_trace(
    case: tuple[list[Company], list[Query]], budget: float
) -> None:
    found, asked = case
    with OpenShards(found) as world:
        for query in asked:
            whole = search.search(world.shards, query, offset=0, limit=9)
            for engine in ENGINES.values():
                base = world.bases[id(engine)]
                page = engine.search_within(base, query, budget, offset=0, limit=9)
                assert page is None or (page.total, page.rows) == (whole.total, whole.rows)
                page = engine.search(base, query, offset=0, limit=9)
                assert (page.total, page.rows) == (whole.total, whole.rows)


@given(companies(), st.sampled_from(ORDERS), st.integers(1, 9))
@example([], "nom", 1)
def test_every_order_is_walked_page_by_page_without_a_gap_or_a_repeat(
    found: list[Company], tri: str, limit: int
) -> None:
    expected = [(c["iso2"], c["id"]) for c in oracle.search(found, Query(tri=tri))]

    with OpenShards(found) as world:
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
    found = [company(iso2, i, "Ä", ca_eur=5.0) for iso2 in ("UK", "EE") for i in ("2", "10", "1")]

    with OpenShards(found) as world:
        _, rows = world.pages(Query(), 6)

    assert rows == [("EE", "1"), ("EE", "10"), ("EE", "2"), ("UK", "1"), ("UK", "10"), ("UK", "2")]


def test_a_null_is_last_whichever_the_direction() -> None:
    """B27"""
    found = [company("EE", "1", "a"), company("EE", "2", "b", ca_eur=-1.0)]

    with OpenShards(found) as world:
        assert world.pages(Query(tri="ca_asc"), 2)[1] == [("EE", "2"), ("EE", "1")]
        assert world.pages(Query(tri="ca_desc"), 2)[1] == [("EE", "2"), ("EE", "1")]


def test_a_word_is_found_inside_another_and_across_a_blank() -> None:
    """B15"""
    found = [company("EE", "1", "Fitlab OÜ"), company("EE", "2", "Lab. Orléans")]

    with OpenShards(found) as world:
        assert world.pages(Query(q="LAB", tri="nom"), 9)[0] == 2
        assert world.pages(Query(q="b o", tri="nom"), 9)[0] == 2
        assert world.pages(Query(q="lab orleans"), 9)[1] == [("EE", "2")]


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("length", [23, 24, 25, 30])
def test_a_long_word_is_found_by_any_long_part_of_it(
    length: int, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B15: words are sorted by 24 bytes, but compared by all."""
    monkeypatch.setattr(format, "HEAVY_LEAST", 0)
    alike = "донаудампфшиффартс"  # two bytes a letter
    found = [company("EE", str(i), alike + "ё" * i + "я" * 20 + str(i % 3)) for i in range(9)]
    queries = [Query(q=c["nom"][start : start + length]) for c in found for start in range(4)]

    with OpenShards(found) as world:
        for query in queries:
            expected = [(c["iso2"], c["id"]) for c in oracle.search(found, query)]
            assert world.pages(query, 20, engine) == (len(expected), expected)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("least", [0, 1, 10**6])
@given(data=st.data())
def test_every_part_of_a_name_or_identifier_finds_it(
    least: int, engine: Any, data: st.DataObject
) -> None:
    """B15; with sets that the build has united, and without"""
    noms = data.draw(st.lists(names, min_size=1, max_size=12))
    ids = data.draw(st.sampled_from([_SAME_LENGTH, identifiers]).flatmap(st.sets))
    found = [company("EE", i, nom) for i, nom in zip(sorted(ids), noms, strict=False)]
    texts = [oracle.folded(c["nom"]) for c in found] + [c["id"] for c in found]
    text = data.draw(st.sampled_from(texts or ["a"]))
    start = data.draw(st.integers(0, max(0, len(text) - 1)))
    query = Query(q=text[start : data.draw(st.integers(start, len(text)))], tri="nom")
    build = {(format, "HEAVY_LEAST"): least, (format, "HEAVY_SHARE"): 2**31}
    with tuned(build | {(format, "PHRASE_SHARE"): 2**31}, {}), OpenShards(found) as world:
        expected = [(c["iso2"], c["id"]) for c in oracle.search(found, query)]
        assert world.pages(query, 20, engine) == (len(expected), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("red blue", ["1"]),
        ("ed b", ["1"]),
        ("blue green", ["1"]),
        ("red green", []),  # not neighbours
        ("blue red", ["2"]),
        ("d blue green", ["1"]),
        ("red blue gr", ["1"]),
        ("red blu gr", []),  # a word between must be whole
        ("x y", []),  # characters that never meet at a blank
        ("red blue x", []),
    ],
)
def test_the_parts_of_a_text_must_be_neighbours(text: str, expected: list[str]) -> None:
    found = [company("EE", "1", "red blue green"), company("EE", "2", "blue red")]
    with OpenShards(found) as world:
        assert [identifier for _, identifier in world.pages(Query(q=text), 9)[1]] == expected


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("width", [1, 2, 8, 9])
def test_the_beginning_of_an_identifier_finds_those_that_begin_so_and_no_other(
    width: int, engine: Any
) -> None:
    """B15; the least and the greatest beginning, and the sixteenth place, of which the file has the first bytes"""
    for count in (1, 2, 15, 16, 17, 33):
        found = [company("EE", f"{i:0{width}}", "Ψ") for i in range(1, count + 1)]
        asked = {c["id"][:size] for c in found for size in range(1, width + 2)}
        with OpenShards(found) as world:
            for text in (*asked, "0", "9", f"{count + 1:0{width}}"):
                expected = sorted(("EE", c["id"]) for c in found if c["id"].startswith(text))
                assert world.pages(Query(q=text), 50, engine) == (len(expected), expected)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_a_search_by_codes_leaves_none_to_the_next_one(engine: Any) -> None:
    """Each column has tables of its own size: few activities in many cells, and more towns than both"""
    found = [
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
    asked = (
        Query(nace=("62.01", "62.03")), Query(nace=("62.02",)), Query(nace=("62.03",)),
        Query(villes=("Ville 0", "Ville 20", "Ville 36")), Query(villes=("Ville 1", "Ville 9")),
        Query(villes=("Ville 0", "Ville 36")), Query(nace=("62.01",), villes=("Ville 2",)),
    )  # fmt: skip
    with OpenShards(found) as world:
        for query in asked:
            expected = [(c["iso2"], c["id"]) for c in oracle.search(found, query)]
            assert world.pages(query, 50, engine) == (len(expected), expected)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("site_web", [False, True])
def test_every_pair_of_bounds_of_headcount_finds_the_companies_within_them(
    site_web: bool, engine: Any
) -> None:
    """B22: every bound that is, is next to, and is beyond a headcount"""
    found = [
        company("EE", f"{effectif}{site}", "Ä", effectif=effectif, site_web=site)
        for effectif in (None, 0, 1, 3, 4)
        for site in (None, "https://a.ee")
    ]
    with OpenShards(found) as world:
        for least, most in product((None, *range(6)), repeat=2):
            query = Query(ranges=(Range("effectif", least, most),), site_web=site_web)
            expected = [(c["iso2"], c["id"]) for c in oracle.search(found, query)]
            assert world.pages(query, 20, engine) == (len(expected), expected)


def test_equal_folded_names_go_by_raw_name_then_country() -> None:
    """B28, B29"""
    noms = {("UK", "1"): "ABC", ("FR", "1"): "abc", ("EE", "1"): "abc", ("EE", "2"): "Abc"}
    with OpenShards([company(*place, nom) for place, nom in noms.items()]) as world:
        rows = world.pages(Query(tri="nom"), 9)[1]

    assert rows == [("UK", "1"), ("EE", "2"), ("EE", "1"), ("FR", "1")]


def test_words_must_be_neighbours_to_match_across_a_blank() -> None:
    """B15"""
    found = [company("EE", "1", "red blue green"), company("EE", "2", "blue red")]

    with OpenShards(found) as world:
        assert world.pages(Query(q="red green"), 9)[0] == 0
        assert world.pages(Query(q="ed b"), 9)[1] == [("EE", "1")]


def test_punctuation_alone_finds_nothing() -> None:
    """B16"""
    with OpenShards([company("EE", "1", "A & B")]) as world:
        assert world.pages(Query(q=" & "), 9) == (0, [])


def test_an_identifier_is_found_by_its_letters_and_digits() -> None:
    """B15"""
    with OpenShards([company("FR", "fn 122-m", "Ψ")]) as world:
        assert world.pages(Query(q="FN1.22"), 9)[0] == 1
        assert world.pages(Query(q="22m"), 9)[0] == 0


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_more_headcounts_than_16_bits_can_number(engine: Any) -> None:
    """FORMAT.md §7: facts of 32 bits."""
    found = [
        company(
            "EE", f"{i:06}", "a", effectif=i, ca_eur=float(i % 7), site_web=None if i % 5 else "a"
        )
        for i in range(33_000)
    ]
    asked = (
        Query(ranges=(Range("effectif", 32_990),)),
        Query(ranges=(Range("effectif", 32_990),), site_web=True, tri="nom"),
        Query(ranges=(Range("effectif", 12, 9_999), Range("ca_eur", 3.0))),
        Query(
            ranges=(Range("effectif", None, 20_000), Range("ca_eur", 6.0)),
            site_web=True,
            tri="score",
        ),
    )

    with OpenShards(found) as world:
        for query in asked:
            expected = [(c["iso2"], c["id"]) for c in oracle.search(found, query)]
            page = engine.search(world.bases[id(engine)], query, offset=0, limit=20)
            ids = [world.shards[row.iso2].company(row.row)["id"] for row in page.rows]
            assert (page.total, ids) == (
                len(expected),
                [identifier for _, identifier in expected[:20]],
            )
