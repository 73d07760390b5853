"""The compiled search, and the same source interpreted, against the oracle and against each other."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards import format
from shards.build import writer
from shards.codec import row_sets
from shards.kernel import memory
from shards.query import Query
from shards.search import kernel_search
from tests import oracle
from tests.shards.kernel.interpreted import interpreted_search
from tests.shards.test_search import World, queries
from tests.world import Company, companies, company

COMPILED: Final = kernel_search
INTERPRETED: Final = interpreted_search()
ENGINES: Final = {"compiled": COMPILED, "interpreted": INTERPRETED}

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
SEARCH: Final[dict[str, Any]] = {
    "SPAN": st.sampled_from((0.0, 1e9)),
    "ALONG": st.sampled_from((0.0, 1e9)),
    "LISTED": st.sampled_from((0.0, 0.01, 1e9)),
    "START": st.sampled_from((0.0, 1e9)),
    "ROOM": st.sampled_from((0, 1, 3)),
    "SPARE": st.just(1),
    "SHARES": st.just(0),
}


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> ModuleType:
    """The search over the compiled modules, then over the interpreted ones."""
    return ENGINES[request.param]


def test_one_engine_is_compiled_and_the_other_is_not() -> None:
    assert memory.COMPILED
    assert not INTERPRETED.kernel_table.memory.COMPILED


def _tuned(build: Mapping[tuple[Any, str], Any], costs: Mapping[str, Any]) -> pytest.MonkeyPatch:
    patch = pytest.MonkeyPatch()
    for (module, name), value in build.items():
        patch.setattr(module, name, value)
    for module in ENGINES.values():
        for name, value in costs.items():
            patch.setattr(module, name, value)
    return patch


@given(
    companies().flatmap(lambda c: st.tuples(st.just(c), st.lists(queries(c), max_size=12))),
    st.just({}) | st.fixed_dictionaries(BUILD),
    st.fixed_dictionaries({}, optional=SEARCH),
    st.integers(1, 5),
)
def test_both_engines_answer_as_the_oracle_does(
    case: tuple[list[Company], list[Query]],
    build: dict[tuple[Any, str], Any],
    costs: dict[str, Any],
    limit: int,
) -> None:
    found, asked = case
    patch = _tuned(build, costs)
    try:
        with World(found) as world:
            for module in ENGINES.values():
                searching = module.Engine(world.shards)
                for query in asked:
                    expected = [(c["iso2"], c["id"]) for c in oracle.search(found, query)]
                    assert pages(world, searching, query, limit) == (len(expected), expected)
    finally:
        patch.undo()


def pages(world: World, searching: Any, query: Query, limit: int) -> tuple[int, list[Any]]:
    """The total, and the companies of all pages, one after the other."""
    rows: list[Any] = []
    for offset in range(0, len(world.found) + limit, limit):
        total, page = searching.page(query, offset=offset, limit=limit)
        assert len(page) == max(0, min(limit, total - offset))
        rows += [(row.iso2, world.shards[row.iso2].company(row.row)["id"]) for row in page]
    return total, rows


@pytest.mark.parametrize("length", [23, 24, 25, 30])
def test_a_long_word_is_found_by_any_long_part_of_it(
    engine: ModuleType, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B15: words are sorted by 24 bytes, but compared by all."""
    monkeypatch.setattr(format, "HEAVY_LEAST", 0)
    alike = "донаудампфшиффартс"  # two bytes a letter
    found = [company("EE", str(i), alike + "ё" * i + "я" * 20 + str(i % 3)) for i in range(9)]

    with World(found) as world:
        searching = engine.Engine(world.shards)
        for query in [Query(q=c["nom"][start : start + length]) for c in found for start in range(4)]:
            expected = [(c["iso2"], c["id"]) for c in oracle.search(found, query)]
            assert pages(world, searching, query, 20) == (len(expected), expected)


def test_more_headcounts_than_16_bits_can_number(engine: ModuleType) -> None:
    """FORMAT.md §7: facts of 32 bits."""
    found = [
        company("EE", f"{i:06}", "a", effectif=i, ca_eur=float(i % 7), site_web=site)
        for i in range(33_000)
        if (site := "https://exemple.ee" if i % 5 == 0 else None) or True
    ]
    queries: Sequence[Query] = (
        Query(effectif_min=32_990),
        Query(effectif_min=32_990, site_web=True, tri="nom"),
        Query(effectif_max=12, ca_min=3.0),
        Query(effectif_max=20_000, ca_min=6.0, site_web=True, tri="score"),
    )

    with World(found) as world:
        searching = engine.Engine(world.shards)
        for query in queries:
            expected = [(c["iso2"], c["id"]) for c in oracle.search(found, query)]
            total, page = searching.page(query, offset=0, limit=20)
            ids = [world.shards[row.iso2].company(row.row)["id"] for row in page]
            assert (total, ids) == (len(expected), [identifier for _, identifier in expected[:20]])
