"""Pages of several countries, compared with one sorted list of all companies."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.codec.arrays import Rows
from shards.query import ORDERS, Query
from shards.search.reader import Shard
from shards.search.result_page import MergedRow
from tests import oracle
from tests.shards.search.open_shards import OpenShards
from tests.shards.second_engine import merge
from tests.shards.second_engine.merge import MergeSource, merge_page
from tests.world import Company, companies, company


def first(shard: Shard, tri: str, count: int) -> Rows:
    return shard.order(tri)[:count]


def sources(world: OpenShards, tri: str) -> list[MergeSource]:
    return [
        MergeSource(shard, shard.rows, partial(first, shard, tri))
        for _, shard in sorted(world.shards.items())
        if shard.rows
    ]


def ids(world: OpenShards, rows: tuple[MergedRow, ...]) -> list[tuple[str, str]]:
    return [(row.iso2, world.shards[row.iso2].company(row.row)["id"]) for row in rows]


@pytest.mark.parametrize(("spare", "shares"), [(1, 0), (4, 2)])
@given(
    found=companies(),
    tri=st.sampled_from(ORDERS),
    offset=st.integers(0, 9),
    limit=st.integers(1, 9),
)
def test_a_page_is_a_part_of_all_companies_in_order(
    spare: int, shares: int, found: list[Company], tri: str, offset: int, limit: int
) -> None:
    """B27 to B32, whether the shards are asked once or again"""
    with OpenShards(found) as world, pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge, "SPARE", spare)
        patch.setattr(merge, "SHARES", shares)
        given_sources = sources(world, tri)
        if not given_sources:
            return

        page = ids(world, merge_page(given_sources, tri, offset=offset, limit=limit))

    every = [(one["iso2"], one["id"]) for one in oracle.search(found, Query(tri=tri))]
    assert page == every[offset : offset + limit]


def test_only_a_country_that_fills_the_page_is_asked_for_all_of_it() -> None:
    """The first companies are all of one country, though each has half of the matches"""
    found = [company("EE", f"{n}", "Ä", ca_eur=float(n)) for n in range(200)]
    found += [company("FR", f"{n}", "Ä", ca_eur=1_000.0 + n) for n in range(200)]
    asked: dict[str, list[int]] = {"EE": [], "FR": []}

    def counted(shard: Shard, count: int) -> Rows:
        asked[shard.iso2].append(count)
        return first(shard, "ca_desc", count)

    with OpenShards(found) as world, pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge, "SPARE", 4)
        patch.setattr(merge, "SHARES", 0)
        given_sources = [
            MergeSource(shard, shard.rows, partial(counted, shard))
            for _, shard in sorted(world.shards.items())
            if shard.rows
        ]

        page = merge_page(given_sources, "ca_desc", offset=0, limit=20)

    assert {row.iso2 for row in page} == {"FR"}
    assert asked == {"EE": [4, 8, 16], "FR": [4, 8, 16, 20]}


def test_equal_folded_names_go_by_raw_name_then_country() -> None:
    """B28, B29"""
    found = [
        company("UK", "1", "ABC"),
        company("FR", "1", "abc"),
        company("EE", "1", "abc"),
        company("EE", "2", "Abc"),
    ]
    with OpenShards(found) as world:
        page = ids(world, merge_page(sources(world, "nom"), "nom", offset=0, limit=9))

    assert page == [("UK", "1"), ("EE", "2"), ("EE", "1"), ("FR", "1")]
