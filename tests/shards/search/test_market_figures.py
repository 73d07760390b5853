"""The stored figures of a generation: they equal the figures of its companies and those of the oracle (X11)."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from shards.analyses import market
from shards.errors import CorruptError
from shards.generations import generation_files
from shards.query import Query
from shards.ratios.distribution import QUANTILES
from tests import oracle, world
from tests.world import Company, companies, company

COMPANIES = [
    company("EE", "1", "Łódź OÜ", ca_eur=9.5, date_creation="2001-05-04", effectif=9),
    company("EE", "2", "Ψ", ca_eur=-4.0, etat="cessee"),
    company("FR", "3", "Été", ca_eur=None),
]


@given(companies())
def test_the_figures_of_a_generation_are_those_of_its_companies(dataset: list[Company]) -> None:
    """The stored figures equal the figures of the open shards and those of the oracle."""
    with tempfile.TemporaryDirectory() as folder:
        name = world.publish(Path(folder), dataset)
        with generation_files.load(Path(folder), name) as generation:
            figures = market.read_stored(generation.folder, generation.manifest)
            assert figures is not None
            assert market.base_figures(generation.shards) == figures

    turnovers = sorted(entry["ca_eur"] for entry in dataset if entry["ca_eur"] is not None)
    shares = oracle.concentration(turnovers)
    assert figures.total == len(dataset)
    assert figures.ceased == sum(entry["etat"] == "cessee" for entry in dataset)
    assert figures.turnovers.n == len(turnovers)
    assert figures.turnover == pytest.approx(sum(turnovers))
    assert figures.turnovers.values == pytest.approx(
        tuple(oracle.quantile(turnovers, share) for share in QUANTILES)
    )
    assert figures.sales == pytest.approx(sum(amount for amount in turnovers if amount > 0))
    assert (figures.concentration is None) == (shares is None)
    for dimension, counts in (
        ("tranche_effectif", figures.headcounts), ("annee_creation", figures.births),
    ):  # fmt: skip
        expected, _, null = oracle.distribution(dataset, dimension)
        assert (dict(counts.counts), counts.null) == (dict(expected), null)
    largest = oracle.search(dataset, Query(tri="ca_desc", avec_ca=True))
    assert len(figures.first) == min(10, len(largest))


def test_figures_are_unchanged_by_dump_and_load(tmp_path: Path) -> None:
    with generation_files.load(
        tmp_path, world.publish(tmp_path, COMPANIES, filed=True)
    ) as generation:
        figures = market.base_figures(generation.shards)

    assert market.load(market.dump(figures)) == figures


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("total", "3"), ("total", True), ("turnover", None), ("bands", [1]), ("ratios", {}), ("first", [["EE"]]),
        ("first", [["EE", 2]]), ("first", [["XX", 0]]), ("turnovers", {"n": 2, "values": [1.0]}),
        ("concentration", {"hhi": 1.0}), ("headcounts", {"counts": [], "null": 0}), ("total", 4),
    ],
)  # fmt: skip
def test_a_document_of_another_shape_or_of_other_companies_is_refused(
    tmp_path: Path, name: str, value: object
) -> None:
    with generation_files.load(tmp_path, world.publish(tmp_path, COMPANIES)) as generation:
        path = generation.folder / generation_files.MARKET
    document = {**json.loads(path.read_bytes()), name: value}

    with pytest.raises((ValueError, TypeError, LookupError, AttributeError)):
        market.load_figures(json.dumps(document).encode(), generation.manifest)


@pytest.mark.parametrize("damage", ["bit", "cut", "gone"])
def test_a_generation_opens_without_its_market_figures_if_their_file_is_damaged(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A server starts whatever the damage: these figures can be computed again"""
    name = world.publish(tmp_path, COMPANIES)
    path = tmp_path / name / generation_files.MARKET
    content = path.read_bytes()
    path.unlink()
    if damage != "gone":
        changed = content[:-9] if damage == "cut" else content.replace(b"3", b"4", 1)
        path.write_bytes(changed)

    with generation_files.load(tmp_path, name) as generation:
        assert market.read_stored(generation.folder, generation.manifest) is None
        assert generation.shards["EE"].rows == 2
    assert str(path) in caplog.text


def test_figures_that_differ_from_the_companies_break_an_invariant(tmp_path: Path) -> None:
    """FORMAT.md §9, invariant 8."""
    with generation_files.load(tmp_path, world.publish(tmp_path, COMPANIES)) as generation:
        market.verify(generation)
        path = generation.folder / generation_files.MARKET
        document = json.loads(path.read_bytes())
        path.write_text(json.dumps({**document, "turnover": document["turnover"] * (1 + 1e-12)}))
        market.verify(generation)  # another processor may give another last digit
        path.write_text(json.dumps({**document, "turnover": document["turnover"] + 1e-3}))

        with pytest.raises(CorruptError, match="does not have the figures of the companies"):
            market.verify(generation)
