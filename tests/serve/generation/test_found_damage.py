"""Damage that a search finds, since nothing compares files (`--warm false`): the shard is left out."""

from pathlib import Path

import pytest

from serve.generation.current_generation import CurrentGeneration
from shards import format
from shards.errors import CorruptError
from shards.query import Query
from shards.search.search import search
from tests import world
from tests.serve.client import run_server
from tests.serve.generation.test_current_generation import make_companies
from tests.serve.processes import eventually
from tests.shards.shard_edits import value_places


def make_unsearchable(path: Path) -> None:
    """Make a bound of the activities of the first cell unusable; the size of the file stays."""
    start, _ = value_places(path)[format.CODE, b"nace.cells"]
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xff\xff\xff\x7f")


def count_companies(current: CurrentGeneration, *pays: str) -> int:
    """The number of companies of these countries, or of all, in the served generation."""
    with current.lease() as generation:
        return search(generation.shards, Query(pays=pays), offset=0, limit=1).total


def test_a_shard_that_no_search_can_use_is_left_out_and_other_countries_are_served(
    tmp_path: Path,
) -> None:
    """Fixed: searches of all countries failed permanently, and /readyz was 200"""
    generation_id = world.publish(tmp_path / "data", make_companies("Un"))
    make_unsearchable(tmp_path / "data" / generation_id / "FR.shard")
    with run_server(tmp_path / "data") as server:
        # The answer is a 500, or already the one without the damaged shard.
        server.ask("/api/v1/societes?pays=UK")
        assert eventually(lambda: server.ask("/readyz").json["pays_manquants"])
        readiness = server.ask("/readyz")
        british, french = (server.ask(f"/api/v1/societes?pays={iso2}") for iso2 in ("UK", "FR"))
        metrics = server.ask("/metrics").body

    assert (readiness.json["refusee"], readiness.json["pays_manquants"]) == (generation_id, ["FR"])
    assert (british.status, british.json["total"]) == (200, 12)  # 10 + len("Un") companies
    assert french.status == 503
    assert b" FR" in french.body
    assert b"societes_countries_missing 1.0" in metrics


def test_two_unsearchable_shards_are_left_out_until_an_undamaged_generation_is_published(
    tmp_path: Path,
) -> None:
    """Each search fails at one damaged shard, which is left out from then on, also after a start"""
    tmp_path.joinpath("state").mkdir()
    data = tmp_path / "data"
    first_id = world.publish(data, make_companies("Un"))
    for iso2 in ("FR", "EE"):
        make_unsearchable(data / first_id / f"{iso2}.shard")
    current = CurrentGeneration(data, tmp_path / "state")
    current.start()
    missing_after_each_search = []
    for _ in range(2):
        with pytest.raises(CorruptError):
            count_companies(current, "UK")
        current.leave_damaged()
        missing_after_each_search.append(current.status.missing)

    assert missing_after_each_search == [("EE",), ("EE", "FR")]
    assert count_companies(current, "UK") == 12  # 10 + len("Un")
    next_start = CurrentGeneration(data, tmp_path / "state")
    next_start.start()
    assert next_start.status.missing == ("EE", "FR")
    second_id = world.publish(data, make_companies("Deux"))
    next_start.leave_damaged()
    # Start again: the new generation is complete, with 3 countries of 10 + len("Deux") companies.
    next_start.close()
    next_start.start()
    assert next_start.generation == second_id
    assert not next_start.status.missing
    assert count_companies(next_start) == 42
    next_start.close()
    current.close()


def test_the_previous_generation_replaces_a_generation_that_no_search_can_use(
    tmp_path: Path,
) -> None:
    """The first search fails at the damaged shard"""
    data = tmp_path / "data"
    first_id, second_id = (
        world.publish(data, make_companies("Un")),
        world.publish(data, make_companies("Deux")),
    )
    make_unsearchable(data / second_id / "FR.shard")
    current = CurrentGeneration(data)
    current.start()
    with pytest.raises(CorruptError):
        count_companies(current)
    current.leave_damaged()

    assert (current.generation, current.status.refused) == (first_id, second_id)
    assert count_companies(current) == 36  # 3 countries of 10 + len("Un") companies
    current.close()
