"""The companies nearest to one, against the slow search (X11)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.search.proposals import comparables as module
from shards.search.proposals.comparables import comparables
from tests import oracle
from tests.shards.search.open_shards import OpenShards
from tests.world import Company, companies, company


@given(companies(), st.integers(1, 6), st.integers(1, 4))
def test_the_nearest_are_those_of_the_oracle(found: list[Company], n: int, window: int) -> None:
    with pytest.MonkeyPatch.context() as patch, OpenShards(found) as world:
        patch.setattr(module, "_WINDOW", window)
        for subject in found:
            assert_as_the_oracle(world, subject, n)


def test_a_window_grows_until_nothing_outside_is_nearer() -> None:
    """The company with the same headcount and town is 40 places away."""
    found = [
        company(
            "FR", f"{n:03}", "Été", division="62", groupe="62.0", ca_eur=1_000.0 + n, effectif=9
        )
        for n in range(100)
    ]
    found[10] |= {"effectif": 5, "ville": "Orléans"}
    found[50] |= {"effectif": 5, "ville": "ORLEANS"}
    with pytest.MonkeyPatch.context() as patch, OpenShards(found) as world:
        patch.setattr(module, "_WINDOW", 1)
        assert_as_the_oracle(world, found[10], 1)
        row = world.shards["FR"].find("010")
        assert row is not None
        nearest = comparables(world.shards, "FR", row, 1)[0]
        assert world.shards["FR"].company(nearest.row)["id"] == "050"


def assert_as_the_oracle(world: OpenShards, subject: Company, n: int) -> None:
    iso2 = subject["iso2"]
    row = world.shards[iso2].find(subject["id"])
    if row is None or world.shards[iso2].company(row)["id"] != subject["id"]:
        return
    answer = comparables(world.shards, iso2, row, n)
    expected = oracle.comparables(world.found, subject, n)
    named = [(one.iso2, world.shards[one.iso2].company(one.row)["id"]) for one in answer]
    assert named == [(one["iso2"], one["id"]) for one, _ in expected]
    assert [one.distance for one in answer] == pytest.approx([far for _, far in expected])
    assert [one.ca + one.effectif + one.lieu for one in answer] == pytest.approx(
        [one.distance for one in answer]
    )
