"""Comparable companies, compared with the oracle (X11)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.analyses import comparables as module
from shards.analyses.comparables import comparables
from tests import oracle
from tests.shards.search.open_shards import OpenShards
from tests.world import Company, companies, company


@given(companies(), st.integers(1, 6), st.integers(1, 4))
def test_the_nearest_companies_are_those_of_the_oracle(
    dataset: list[Company], count: int, window: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, OpenShards(dataset) as world:
        patch.setattr(module, "_WINDOW", window)
        for subject in dataset:
            assert_equals_oracle(world, subject, count)


def test_a_window_grows_until_no_company_outside_is_nearer() -> None:
    """The company with the headcount and town of the subject is 40 rows from the subject."""
    dataset = [
        company(
            "FR",
            f"{number:03}",
            "Été",
            division="62",
            groupe="62.0",
            ca_eur=1_000.0 + number,
            effectif=9,
        )
        for number in range(100)
    ]
    dataset[10] |= {"effectif": 5, "ville": "Orléans"}
    dataset[50] |= {"effectif": 5, "ville": "ORLEANS"}
    with pytest.MonkeyPatch.context() as patch, OpenShards(dataset) as world:
        patch.setattr(module, "_WINDOW", 1)
        assert_equals_oracle(world, dataset[10], 1)
        row = world.shards["FR"].find("010")
        assert row is not None
        nearest = comparables(world.shards, "FR", row, 1)[0]
        assert world.shards["FR"].company(nearest.row)["id"] == "050"


def test_companies_with_a_turnover_come_before_companies_without() -> None:
    """In an earlier version, the five companies nearest to a company with 614 M€ had no figures, because 3, the gap for
    an unknown figure, was smaller than the gap to 20 M€.
    """
    common = {"division": "62", "groupe": "62.0"}
    dataset = [
        company("FR", "1", "Grande", ca_eur=614e6, effectif=900, **common),
        company("FR", "2", "Petite", ca_eur=2_000_000.0, **common),
        company("FR", "3", "Inconnue", **common),
        company("EE", "4", "Kaugel", ca_eur=1_000.0, **common),
    ]
    with OpenShards(dataset) as world:
        assert_equals_oracle(world, dataset[0], 4)
        row = world.shards["FR"].find("1")
        assert row is not None
        nearest = comparables(world.shards, "FR", row, 4)
        ids = [world.shards[result.iso2].company(result.row)["id"] for result in nearest]
        assert ids == ["2", "4", "3"]
        assert (nearest[2].ca, nearest[2].effectif, nearest[0].effectif) == (None, None, None)


def test_a_company_without_figures_is_nearest_to_companies_without_figures_in_its_town() -> None:
    """In an earlier version, the nearest companies to QUARON, which has no figures, were the largest of its class."""
    common = {"division": "62", "groupe": "62.0", "ville": "Rennes"}
    dataset = [
        company("FR", "1", "Quaron", **common),
        company("FR", "2", "Géante", ca_eur=2.6e9, effectif=18_000, **common),
        company("FR", "3", "Voisine", **common),
        company("FR", "4", "Lointaine", division="62", groupe="62.0", ville="Brest"),
        company("FR", "5", "Connue", ca_eur=1_000.0, **common),
    ]
    with OpenShards(dataset) as world:
        assert_equals_oracle(world, dataset[0], 4)
        assert nearest_names(world, "1", 4) == ["Voisine", "Lointaine", "Connue", "Géante"]


def test_headcount_bands_are_compared_if_a_company_has_no_headcount() -> None:
    common = {"division": "62", "groupe": "62.0", "ville": "Rennes"}
    dataset = [
        company("FR", "1", "Sujet", tranche_effectif="12", **common),
        company("FR", "2", "Grande", effectif=5_000, ca_eur=9e8, **common),
        company("FR", "3", "Petite", tranche_effectif="01", **common),
        company("FR", "4", "Pareille", effectif=49, **common),
    ]
    with OpenShards(dataset) as world:
        assert_equals_oracle(world, dataset[0], 3)
        assert nearest_names(world, "1", 3) == ["Pareille", "Petite", "Grande"]


def nearest_names(world: OpenShards, identifier: str, count: int) -> list[str]:
    """The names of the companies nearest to a French company."""
    shard = world.shards["FR"]
    row = shard.find(identifier)
    assert row is not None
    return [
        shard.company(result.row)["nom"] for result in comparables(world.shards, "FR", row, count)
    ]


@pytest.mark.parametrize(("subject", "lieu"), [("7", 0.5), ("75 002", 0.25)])
def test_a_postcode_of_one_character_is_a_separate_area(subject: str, lieu: float) -> None:
    common = {"division": "62", "groupe": "62.0"}
    dataset = [
        company("FR", "1", "Une", code_postal=subject, **common),
        company("FR", "2", "Autre", code_postal="75001", **common),
        company("FR", "3", "Sienne", code_postal="7", etat="cessee", **common),
    ]
    with OpenShards(dataset) as world:
        assert_equals_oracle(world, dataset[0], 3)
        row = world.shards["FR"].find("1")
        assert row is not None
        assert [result.lieu for result in comparables(world.shards, "FR", row, 3)] == [lieu]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_of_equal_distances_the_greater_turnover_comes_first_even_outside_the_window(
    count: int,
) -> None:
    """The logarithm of a loss has the size of the logarithm of an equal gain."""
    common = {"division": "62", "groupe": "62.0", "ville": "Rennes"}
    dataset = [
        company("FR", str(place), "Été", ca_eur=turnover, **common)
        for place, turnover in enumerate((100.0, 100.0, 0.0, -100.0, -100.0))
    ]
    with pytest.MonkeyPatch.context() as patch, OpenShards(dataset) as world:
        patch.setattr(module, "_WINDOW", 1)
        assert_equals_oracle(world, dataset[2], count)


def assert_equals_oracle(world: OpenShards, subject: Company, count: int) -> None:
    """The nearest companies, their order and their distances are those of the oracle."""
    iso2 = subject["iso2"]
    row = world.shards[iso2].find(subject["id"])
    if row is None or world.shards[iso2].company(row)["id"] != subject["id"]:
        return
    nearest = comparables(world.shards, iso2, row, count)
    expected = oracle.comparables(world.dataset, subject, count)
    keys = [
        (result.iso2, world.shards[result.iso2].company(result.row)["id"]) for result in nearest
    ]
    assert keys == [(neighbour["iso2"], neighbour["id"]) for neighbour, _ in expected]
    assert [result.distance for result in nearest] == pytest.approx(
        [distance for _, distance in expected]
    )
    for result, (neighbour, distance) in zip(nearest, expected, strict=True):
        turnovers = [subject["ca_eur"], neighbour["ca_eur"]]
        for gap, figures in (
            (result.ca, turnovers),
            (result.effectif, oracle.headcounts(subject, neighbour)),
        ):
            assert (gap is None) == (None in figures)
        if result.ca is not None and result.effectif is not None:
            assert result.ca + result.effectif + result.lieu == pytest.approx(distance)
