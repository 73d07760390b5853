"""Damage that a search finds where nothing compares files (`--warm false`): the shard is left out."""

import time
from pathlib import Path

import pytest

from serve.generation.current_generation import CurrentGeneration
from shards import format
from shards.errors import CorruptError
from shards.query import Query
from shards.search.search import search
from tests import world
from tests.serve.client import serving
from tests.serve.generation.test_current_generation import named
from tests.shards.altered import value_places


def spoil(path: Path) -> None:
    """Give the activities of the first cell a bound that no search can use; size and time of the file stay."""
    start, _ = value_places(path)[format.CODE, b"nace.cells"]
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xff\xff\xff\x7f")


def total(published: CurrentGeneration, *pays: str) -> int:
    with published.lease() as generation:
        return search(generation.shards, Query(pays=pays), offset=0, limit=1).total


def test_the_shard_that_no_search_can_use_is_left_and_the_others_are_served(tmp_path: Path) -> None:
    """Before: no country had an answer, for ever, and /readyz was green"""
    only = world.publish(tmp_path / "data", named("Un"))
    spoil(tmp_path / "data" / only / "FR.shard")
    with serving(tmp_path / "data") as served:
        served.ask("/api/v1/societes?pays=UK")  # 500, unless the damage is known already
        until = time.monotonic() + 60
        while not served.ask("/readyz").json["pays_manquants"] and time.monotonic() < until:
            time.sleep(0.1)
        ready = served.ask("/readyz")
        others, french = (served.ask(f"/api/v1/societes?pays={iso2}") for iso2 in ("UK", "FR"))
        metrics = served.ask("/metrics").body

    assert (ready.json["refusee"], ready.json["pays_manquants"]) == (only, ["FR"])
    assert (others.status, others.json["total"]) == (200, 12)
    assert french.status == 503
    assert b" FR" in french.body
    assert b"societes_countries_missing 1.0" in metrics


def test_two_such_shards_are_left_one_after_the_other_until_a_whole_generation_comes(
    tmp_path: Path,
) -> None:
    tmp_path.joinpath("state").mkdir()
    data = tmp_path / "data"
    only = world.publish(data, named("Un"))
    for iso2 in ("FR", "EE"):
        spoil(data / only / f"{iso2}.shard")
    published = CurrentGeneration(data, tmp_path / "state")
    published.start()
    missing = []
    for _ in range(2):
        with pytest.raises(CorruptError):
            total(published, "UK")
        published.leave_damaged()
        missing.append(published.status.missing)

    assert missing == [("EE",), ("EE", "FR")]
    assert total(published, "UK") == 12
    again = CurrentGeneration(data, tmp_path / "state")
    again.start()
    assert again.status.missing == ("EE", "FR")
    second = world.publish(data, named("Deux"))
    again.leave_damaged()
    again.close()
    again.start()
    assert again.generation == second
    assert not again.status.missing
    assert total(again) == 42
    again.close()
    published.close()


def test_a_whole_generation_that_is_still_named_takes_the_place_of_one_no_search_can_use(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    first, second = world.publish(data, named("Un")), world.publish(data, named("Deux"))
    spoil(data / second / "FR.shard")
    published = CurrentGeneration(data)
    published.start()
    with pytest.raises(CorruptError):
        total(published)
    published.leave_damaged()

    assert (published.generation, published.status.refused) == (first, second)
    assert total(published) == 36
    published.close()
