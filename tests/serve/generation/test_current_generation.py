"""The replacement of one generation by the next (G9, G10)."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from serve.contract.errors import ApiError
from serve.generation.current_generation import CurrentGeneration
from serve.generation.open_generation import OpenGeneration
from shards.errors import CorruptError
from shards.generations import pointer, publication
from shards.query import Query
from shards.search.search import search
from tests import world
from tests.serve import world as whole_world
from tests.serve.client import Served, serving
from tests.serve.processes import eventually
from tests.serve.surfaces.mcp import client
from tests.world import Company, company

FR = Path("FR.shard")


def named(word: str) -> list[Company]:
    """Companies of one generation: every name says which, and so does their number."""
    return [
        company(iso2, f"{word}{number}", f"{word} numéro {number}", ca_eur=float(number))
        for iso2 in ("FR", "UK", "EE")
        for number in range(10 + len(word))
    ]


def damage(data: Path, generation: str) -> bytes:
    """Change one byte of a shard; return what it was, whole."""
    path = data / generation / "FR.shard"
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.chmod(0o644)
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    return whole


def test_the_old_generation_lives_as_long_as_its_last_lease(tmp_path: Path) -> None:
    """G9"""

    async def scenario() -> None:
        published = CurrentGeneration(tmp_path)
        world.publish(tmp_path, named("Un"))
        published.start()
        with published.lease() as old:
            world.publish(tmp_path, named("Deux"))
            await published.refresh()
            with published.lease() as new:
                assert new.id != old.id
                assert b"Deux" in new.shards["FR"].record(0, coordonnees=False)
            # It stays behind the new one, for who walks through its pages; then it goes.
            world.publish(tmp_path, named("Trois"))
            await published.refresh()
            assert b"Un num" in old.shards["FR"].record(0, coordonnees=False)
            assert (tmp_path / old.id).exists()
        assert eventually(lambda: is_closed(old))
        published.close()

    asyncio.run(scenario())


def is_closed(generation: OpenGeneration) -> bool:
    try:
        generation.shards["FR"].record(0, coordonnees=False)
    except (KeyError, ValueError):
        return True
    return False


def test_a_generation_is_closed_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """18.7 million companies: unmapping their shards held the loop for tenths of a second"""
    threads: list[threading.Thread] = []
    original = OpenGeneration.close

    def close(generation: OpenGeneration) -> None:
        threads.append(threading.current_thread())
        original(generation)

    monkeypatch.setattr(OpenGeneration, "close", close)
    world.publish(tmp_path, named("Un"))
    published = CurrentGeneration(tmp_path)
    published.start()
    published.close()

    assert eventually(lambda: bool(threads))
    assert threads[0] is not threading.current_thread()


def test_a_generation_is_prepared_before_it_is_served_or_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        published = CurrentGeneration(tmp_path)
        world.publish(tmp_path, named("Un"))
        published.start()
        prepared = []

        async def prepare(generation: OpenGeneration) -> None:
            prepared.append((generation.id, published.generation))

        published.prepare_with(prepare)
        first = published.generation
        new = world.publish(tmp_path, named("Deux"))
        await published.refresh()
        assert prepared == [(new, first)]
        assert published.generation == new

        async def fail(_: OpenGeneration) -> None:
            raise CorruptError("a row that is not there")

        published.prepare_with(fail)
        world.publish(tmp_path, named("Trois"))
        await published.refresh()
        assert published.generation == new
        assert published.status.refused is not None
        published.close()

    asyncio.run(scenario())


def test_without_a_generation_there_is_nothing_to_lease(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """G9"""

    async def scenario() -> None:
        published = CurrentGeneration(tmp_path)
        published.start()
        with pytest.raises(ApiError, match="indisponible"), published.lease():
            pass
        assert published.generation is None
        published.close()

    asyncio.run(scenario())

    # The operator reads one line, which says what to do, and nothing that is meant for a caller.
    [told] = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert told.endswith("yet; `python -m pipeline build` or `shards sync` publishes there")


def test_a_damaged_generation_is_refused_once_and_the_old_one_serves_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """G9"""

    async def scenario() -> None:
        published = CurrentGeneration(tmp_path)
        first = world.publish(tmp_path, named("Un"))
        published.start()
        second = world.publish(tmp_path, named("Deux"))
        whole = damage(tmp_path, second)

        await published.refresh()
        await published.refresh()

        assert published.generation == first
        refusals = [r for r in caplog.records if "refused" in r.getMessage()]
        assert len(refusals) == 1
        assert "FR.shard" in refusals[0].getMessage()
        # Repaired: SIGHUP looks again although CURRENT has not changed.
        (tmp_path / second / FR).write_bytes(whole)
        await published.refresh()
        assert published.generation == first
        await published.refresh(again=True)
        assert published.generation == second
        published.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("content", [b"", b"{}", b"null", b'{"generation": 5}', b"\xff"])
def test_a_current_that_makes_no_sense_changes_nothing(tmp_path: Path, content: bytes) -> None:
    """G9"""

    async def scenario() -> None:
        published = CurrentGeneration(tmp_path)
        first = world.publish(tmp_path, named("Un"))
        published.start()
        (tmp_path / pointer.CURRENT).write_bytes(content)
        await published.refresh()
        assert published.generation == first
        (tmp_path / pointer.CURRENT).unlink()
        await published.refresh()
        assert published.generation == first
        published.close()

    asyncio.run(scenario())


def test_a_rollback_is_taken_up_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = world.publish(tmp_path, named("Un"))
        world.publish(tmp_path, named("Deux"))
        published = CurrentGeneration(tmp_path)
        published.start()
        publication.rollback(tmp_path)
        await published.refresh()
        assert published.generation == first
        published.close()

    asyncio.run(scenario())


def test_the_first_generation_is_picked_up_when_it_appears(tmp_path: Path) -> None:
    """G9, G10"""
    with serving(tmp_path) as served:
        assert served.ask("/readyz").status == 503
        generation = whole_world.publish(tmp_path)
        until(served, generation)

        assert served.search()["total"] == 41


@pytest.mark.slow
def test_no_request_fails_and_none_is_mixed_while_generations_change(tmp_path: Path) -> None:
    """G9, G10"""
    words = ("Un", "Deux", "Trois")
    totals = {word: 3 * (10 + len(word)) for word in words}
    of = {world.publish(tmp_path, named(words[0])): words[0]}
    failures: list[object] = []
    seen: set[str] = set()
    done = threading.Event()

    def hammer(served: Served) -> None:
        while not done.is_set():
            reply = served.ask("/api/v1/societes?tri=nom&pays=FR,UK,EE")
            lists = served.ask("/api/v1/pays")
            generation = reply.headers["X-Donnees-Version"]
            word = of.get(generation, "")
            names = [one["nom"].split()[0] for one in orjson.loads(reply.body)["societes"]]
            counted = sum(one["n_societes"] for one in lists.json["pays"])
            told = of.get(lists.headers["X-Donnees-Version"], "")
            if (reply.status, reply.json["total"], names) != (200, totals[word], [word] * 2):
                failures.append(reply)
            if counted != totals[told]:
                failures.append(lists)
            seen.add(word)

    with serving(tmp_path) as served:
        work = _catching(hammer, failures)
        threads = [threading.Thread(target=work, args=(served,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for word in words[1:]:
            # Known before it is published, as the very next answer may come from it.
            of[_name_of(tmp_path, word)] = word
            generation = world.publish(tmp_path, named(word))
            until(served, generation)
            time.sleep(0.05)
        done.set()
        for thread in threads:
            thread.join(20)

    assert failures == []
    assert seen == set(words)


def until(served: Served, generation: str) -> None:
    """Wait for a generation to be served: within seconds, without being told."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        reply = served.ask("/readyz")
        if reply.status == 200 and reply.json["generation"] == generation:
            return
        time.sleep(0.02)
    raise AssertionError(f"{generation} was not taken up")


def _name_of(folder: Path, word: str) -> str:
    """The name that the generation of `named(word)` will have: the same input, the same name."""
    return world.publish(folder.with_name(f"ailleurs-{word}"), named(word))


def _catching(hammer: Callable[[Served], None], failures: list[object]) -> Callable[[Served], None]:
    def run(served: Served) -> None:
        try:
            hammer(served)
        except (OSError, KeyError, ValueError) as error:
            failures.append(error)

    return run


# -- a damaged generation -----------------------------------------------------------------


def started(data: Path) -> CurrentGeneration:
    published = CurrentGeneration(data, data.with_name("state"))
    published.start()
    return published


def found(published: CurrentGeneration, *pays: str) -> int:
    with published.lease() as generation:
        return search(generation.shards, Query(pays=pays), offset=0, limit=1).total


@pytest.fixture
def data(tmp_path: Path) -> Path:
    tmp_path.joinpath("state").mkdir()
    return tmp_path / "data"


@pytest.mark.parametrize("file", ["FR.shard", "manifest.json", "reference.json"])
def test_a_start_over_a_damaged_generation_serves_the_previous_one(data: Path, file: str) -> None:
    """Before: 503 for every country, though the previous generation was whole and named in CURRENT"""
    first = world.publish(data, named("Un"))
    second = world.publish(data, named("Deux"))
    path = data / second / file
    path.write_bytes(path.read_bytes()[:-1] if file == "FR.shard" else b"{}")
    published = started(data)

    assert (published.generation, published.status.refused) == (first, second)
    assert found(published) == 36
    assert published.status.since
    published.close()


def test_without_a_whole_generation_the_whole_countries_are_served(data: Path) -> None:
    only = world.publish(data, named("Un"))
    os.truncate(data / only / "FR.shard", 4_096)
    with serving(data) as served:
        ready = served.ask("/readyz")
        replies = {
            path: served.ask(f"/api/v1/societes{path}")
            for path in ("?pays=UK", "?pays=UK&pays=FR", "", "/UK/Un1", "/FR/Un1")
        }
        tool = client.modern(served, "tools/call", {"name": "search_companies", "arguments": {}})

    assert (ready.json["refusee"], ready.json["pays_manquants"]) == (only, ["FR"])
    assert replies["?pays=UK"].json["total"] == 12
    assert replies["/UK/Un1"].status == 200
    for path in ("?pays=UK&pays=FR", "", "/FR/Un1"):
        assert replies[path].status == 503
        assert b" FR" in replies[path].body
    assert tool.status == 503


def test_a_shard_that_shrinks_while_it_is_served_is_left_within_a_second(data: Path) -> None:
    first = world.publish(data, named("Un"))
    second = world.publish(data, named("Deux"))
    published = started(data)
    assert published.generation == second

    os.truncate(data / second / "UK.shard", 4_096)
    published.leave_damaged()

    assert published.generation == first
    assert found(published, "UK") == 12
    os.truncate(data / first / "EE.shard", 0)
    published.leave_damaged()
    assert published.status.missing == ("UK",)
    assert (published.generation, found(published, "EE")) == (second, 14)
    published.close()


def test_what_one_worker_found_damaged_the_others_leave_and_the_next_start_knows(
    data: Path,
) -> None:
    """Also in another generation that shares the file"""
    first = world.publish(data, named("Un"))
    second = world.publish(data, named("Deux"))
    mine, other = started(data), started(data)

    mine.damage.add(data / second / "FR.shard")
    other.leave_damaged()
    third = started(data)

    assert (other.generation, third.generation) == (first, first)
    whole = (data / second / "FR.shard").read_bytes()
    (data / second / "FR.shard").unlink()
    (data / second / "FR.shard").write_bytes(whole)
    repaired = started(data)
    assert (repaired.generation, repaired.status.refused) == (second, None)
    for published in (mine, other, third, repaired):
        published.close()


def test_a_start_in_doubt_compares_before_it_reads(data: Path) -> None:
    """After deaths by SIGBUS; the size of the file is right"""
    first = world.publish(data, named("Un"))
    second = world.publish(data, named("Deux"))
    damage(data, second)
    published = CurrentGeneration(data, data.with_name("state"))
    published.start(doubted=True)

    assert (published.generation, published.status.refused) == (first, second)
    published.close()


def test_a_repaired_generation_is_taken_up_again_at_sighup(data: Path) -> None:
    async def scenario() -> None:
        only = world.publish(data, named("Un"))
        path = data / only / "FR.shard"
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        published = started(data)
        assert list(published.status.missing) == ["FR"]
        path.write_bytes(whole)
        await published.refresh(again=True)
        assert not published.status.missing
        assert published.status.refused is None
        assert found(published) == 36
        published.close()

    asyncio.run(scenario())
