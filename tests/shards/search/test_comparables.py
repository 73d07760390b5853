"""The companies nearest to one, against the slow search (X11)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.analyses import comparables as module
from shards.analyses.comparables import comparables
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


def test_companies_with_a_turnover_come_first_and_an_unknown_size_is_no_gap() -> None:
    """A company of 614 M€ had five without any figure as its nearest: a gap of 3 is less than that to 20 M€."""
    common = {"division": "62", "groupe": "62.0"}
    found = [
        company("FR", "1", "Grande", ca_eur=614e6, effectif=900, **common),
        company("FR", "2", "Petite", ca_eur=2_000_000.0, **common),
        company("FR", "3", "Inconnue", **common),
        company("EE", "4", "Kaugel", ca_eur=1_000.0, **common),
    ]
    with OpenShards(found) as world:
        assert_as_the_oracle(world, found[0], 4)
        row = world.shards["FR"].find("1")
        assert row is not None
        answer = comparables(world.shards, "FR", row, 4)
        named = [world.shards[one.iso2].company(one.row)["id"] for one in answer]
        assert named == ["2", "4", "3"]
        assert (answer[2].ca, answer[2].effectif, answer[0].effectif) == (None, None, None)


def test_a_company_without_figures_is_beside_its_neighbours_without_figures() -> None:
    """QUARON, without figures, had the largest companies of its class as its nearest."""
    common = {"division": "62", "groupe": "62.0", "ville": "Rennes"}
    found = [
        company("FR", "1", "Quaron", **common),
        company("FR", "2", "Géante", ca_eur=2.6e9, effectif=18_000, **common),
        company("FR", "3", "Voisine", **common),
        company("FR", "4", "Lointaine", division="62", groupe="62.0", ville="Brest"),
        company("FR", "5", "Connue", ca_eur=1_000.0, **common),
    ]
    with OpenShards(found) as world:
        assert_as_the_oracle(world, found[0], 4)
        assert names_beside(world, "1", 4) == ["Voisine", "Lointaine", "Connue", "Géante"]


def test_a_band_of_headcount_is_compared_where_there_is_no_number() -> None:
    common = {"division": "62", "groupe": "62.0", "ville": "Rennes"}
    found = [
        company("FR", "1", "Sujet", tranche_effectif="12", **common),
        company("FR", "2", "Grande", effectif=5_000, ca_eur=9e8, **common),
        company("FR", "3", "Petite", tranche_effectif="01", **common),
        company("FR", "4", "Pareille", effectif=49, **common),
    ]
    with OpenShards(found) as world:
        assert_as_the_oracle(world, found[0], 3)
        assert names_beside(world, "1", 3) == ["Pareille", "Petite", "Grande"]


def names_beside(world: OpenShards, identifier: str, n: int) -> list[str]:
    shard = world.shards["FR"]
    row = shard.find(identifier)
    assert row is not None
    return [shard.company(one.row)["nom"] for one in comparables(world.shards, "FR", row, n)]


@pytest.mark.parametrize(("subject", "lieu"), [("7", 0.5), ("75 002", 0.25)])
def test_a_postcode_of_one_character_is_an_area_of_its_own(subject: str, lieu: float) -> None:
    common = {"division": "62", "groupe": "62.0"}
    found = [
        company("FR", "1", "Une", code_postal=subject, **common),
        company("FR", "2", "Autre", code_postal="75001", **common),
        company("FR", "3", "Sienne", code_postal="7", etat="cessee", **common),
    ]
    with OpenShards(found) as world:
        assert_as_the_oracle(world, found[0], 3)
        row = world.shards["FR"].find("1")
        assert row is not None
        assert [one.lieu for one in comparables(world.shards, "FR", row, 3)] == [lieu]


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
    for one, (other, far) in zip(answer, expected, strict=True):
        turnovers = [subject["ca_eur"], other["ca_eur"]]
        for gap, figures in (
            (one.ca, turnovers),
            (one.effectif, oracle.headcounts(subject, other)),
        ):
            assert (gap is None) == (None in figures)
        if one.ca is not None and one.effectif is not None:
            assert one.ca + one.effectif + one.lieu == pytest.approx(far)
