"""The replacement of one generation by the next (G9, G10)."""

import asyncio
import os
import threading
from collections.abc import Callable
from functools import partial
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
from tests.serve.client import Server, run_server
from tests.serve.processes import eventually
from tests.serve.surfaces.mcp import client
from tests.world import Company, company

FR_SHARD = Path("FR.shard")


def make_companies(word: str) -> list[Company]:
    """Companies of a generation: each name starts with the word, and each word has another number of companies."""
    return [
        company(iso2, f"{word}{number}", f"{word} numéro {number}", ca_eur=float(number))
        for iso2 in ("FR", "UK", "EE")
        for number in range(10 + len(word))
    ]


def damage(data: Path, generation: str) -> bytes:
    """Change a byte in the middle of the French shard; returns the undamaged bytes."""
    path = data / generation / "FR.shard"
    content = path.read_bytes()
    middle = len(content) // 2
    path.chmod(0o644)
    path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    return content


def test_the_old_generation_stays_open_until_its_last_lease_ends(tmp_path: Path) -> None:
    """G9"""

    async def replace_generation_during_a_lease() -> None:
        """Replace the generation twice while the first is leased: its files stay open until the lease ends."""
        current = CurrentGeneration(tmp_path)
        world.publish(tmp_path, make_companies("Un"))
        current.start()
        with current.lease() as first_generation:
            world.publish(tmp_path, make_companies("Deux"))
            await current.refresh()
            with current.lease() as second_generation:
                assert second_generation.id != first_generation.id
                assert b"Deux" in second_generation.shards["FR"].record(0, coordonnees=False)
            # `Deux` is now the previous generation, open for callers who page through it; `Un` is open for its lease.
            world.publish(tmp_path, make_companies("Trois"))
            await current.refresh()
            assert b"Un num" in first_generation.shards["FR"].record(0, coordonnees=False)
            assert (tmp_path / first_generation.id).exists()
        assert eventually(lambda: is_closed(first_generation))
        current.close()

    asyncio.run(replace_generation_during_a_lease())


def is_closed(generation: OpenGeneration) -> bool:
    """Whether a shard of the generation can no longer be read."""
    try:
        generation.shards["FR"].record(0, coordonnees=False)
    except (KeyError, ValueError):
        return True
    return False


def test_a_generation_is_closed_in_a_thread_and_not_on_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fixed: closing the shards of 18.7 million companies blocked the loop for tenths of a second"""
    threads: list[threading.Thread] = []
    close_generation = OpenGeneration.close

    def note_thread_and_close(generation: OpenGeneration) -> None:
        """Note the thread that closes the generation, and close it."""
        threads.append(threading.current_thread())
        close_generation(generation)

    monkeypatch.setattr(OpenGeneration, "close", note_thread_and_close)
    world.publish(tmp_path, make_companies("Un"))
    current = CurrentGeneration(tmp_path)
    current.start()
    current.close()

    assert eventually(lambda: bool(threads))
    assert threads[0] is not threading.current_thread()


def test_a_generation_is_served_after_its_preparation_and_refused_if_that_fails(
    tmp_path: Path,
) -> None:
    async def refresh_with_preparations() -> None:
        """Refresh with a preparation that succeeds, then with one that fails, after which the old generation stays."""
        current = CurrentGeneration(tmp_path)
        world.publish(tmp_path, make_companies("Un"))
        current.start()
        new_and_served = []

        async def prepare(generation: OpenGeneration) -> None:
            """Note the new generation, and the generation that is served meanwhile."""
            new_and_served.append((generation.id, current.generation))

        current.prepare_with(prepare)
        first_id = current.generation
        second_id = world.publish(tmp_path, make_companies("Deux"))
        await current.refresh()
        assert new_and_served == [(second_id, first_id)]
        assert current.generation == second_id

        async def fail(_: OpenGeneration) -> None:
            """A preparation that finds damage."""
            raise CorruptError("a row that is not there")

        current.prepare_with(fail)
        world.publish(tmp_path, make_companies("Trois"))
        await current.refresh()
        assert current.generation == second_id
        assert current.status.refused is not None
        current.close()

    asyncio.run(refresh_with_preparations())


def test_without_a_generation_a_lease_is_an_error_of_the_api(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """G9"""

    async def lease_without_generation() -> None:
        """Start on an empty folder, where a lease must fail."""
        current = CurrentGeneration(tmp_path)
        current.start()
        with pytest.raises(ApiError, match="indisponible"), current.lease():
            pass
        assert current.generation is None
        current.close()

    asyncio.run(lease_without_generation())

    # The log line is for the operator: it has the remedy, and no text for a caller.
    [warning] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warning.endswith("yet; `python -m pipeline build` or `shards sync` publishes there")


def test_a_damaged_generation_is_refused_with_one_log_line_and_the_old_generation_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """G9"""

    async def refresh_to_damaged_generation() -> None:
        """Refresh to a generation with a damaged file, which is refused once in the log, and again after its repair."""
        current = CurrentGeneration(tmp_path)
        first_id = world.publish(tmp_path, make_companies("Un"))
        current.start()
        second_id = world.publish(tmp_path, make_companies("Deux"))
        undamaged = damage(tmp_path, second_id)

        await current.refresh()
        await current.refresh()

        assert current.generation == first_id
        refusals = [record for record in caplog.records if "refused" in record.getMessage()]
        assert len(refusals) == 1
        assert "FR.shard" in refusals[0].getMessage()
        # After the repair, SIGHUP checks again although CURRENT has not changed.
        (tmp_path / second_id / FR_SHARD).write_bytes(undamaged)
        await current.refresh()
        assert current.generation == first_id
        await current.refresh(again=True)
        assert current.generation == second_id
        current.close()

    asyncio.run(refresh_to_damaged_generation())


@pytest.mark.parametrize("content", [b"", b"{}", b"null", b'{"generation": 5}', b"\xff"])
def test_an_invalid_or_missing_file_current_changes_nothing(tmp_path: Path, content: bytes) -> None:
    """G9: the server keeps its generation"""

    async def damage_and_remove_current() -> None:
        """Damage CURRENT, then remove it; the served generation stays each time."""
        current = CurrentGeneration(tmp_path)
        first_id = world.publish(tmp_path, make_companies("Un"))
        current.start()
        (tmp_path / pointer.CURRENT).write_bytes(content)
        await current.refresh()
        assert current.generation == first_id
        (tmp_path / pointer.CURRENT).unlink()
        await current.refresh()
        assert current.generation == first_id
        current.close()

    asyncio.run(damage_and_remove_current())


def test_after_a_rollback_the_previous_generation_is_served(tmp_path: Path) -> None:
    async def refresh_after_rollback() -> None:
        """Go back from the second generation to the first; a refresh must serve the first one."""
        first_id = world.publish(tmp_path, make_companies("Un"))
        world.publish(tmp_path, make_companies("Deux"))
        current = CurrentGeneration(tmp_path)
        current.start()
        publication.rollback(tmp_path)
        await current.refresh()
        assert current.generation == first_id
        current.close()

    asyncio.run(refresh_after_rollback())


def test_the_first_generation_is_served_when_it_appears(tmp_path: Path) -> None:
    """G9, G10"""
    with run_server(tmp_path) as server:
        assert server.ask("/readyz").status == 503
        generation = whole_world.publish(tmp_path)
        wait_for_generation(server, generation)

        assert server.search()["total"] == 41  # companies of the published test data


@pytest.mark.slow
def test_no_request_fails_or_mixes_generations_while_they_change(tmp_path: Path) -> None:
    """G9, G10: the first word of each name, and the number of companies, tell the generation of an answer"""
    words = ("Un", "Deux", "Trois")
    totals = {word: 3 * (10 + len(word)) for word in words}
    word_of = {world.publish(tmp_path, make_companies(words[0])): words[0]}
    failures: list[object] = []
    words_seen: set[str] = set()
    is_over = threading.Event()

    def request_until_done(server: Server) -> None:
        """Request a search and the list of countries; note answers that are not of one generation."""
        while not is_over.is_set():
            reply = server.ask("/api/v1/societes?tri=nom&pays=FR,UK,EE")
            countries = server.ask("/api/v1/pays")
            generation = reply.headers["X-Donnees-Version"]
            word = word_of.get(generation, "")
            names = [row["nom"].split()[0] for row in orjson.loads(reply.body)["societes"]]
            companies_in_list = sum(country["n_societes"] for country in countries.json["pays"])
            list_word = word_of.get(countries.headers["X-Donnees-Version"], "")
            # A visitor sees two companies of a search.
            if (reply.status, reply.json["total"], names) != (200, totals[word], [word] * 2):
                failures.append(reply)
            if companies_in_list != totals[list_word]:
                failures.append(countries)
            words_seen.add(word)

    with run_server(tmp_path) as server:
        request_and_note_errors = _record_failures(request_until_done, failures)
        threads = [
            threading.Thread(target=request_and_note_errors, args=(server,)) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        try:
            assert eventually(partial(words_seen.__contains__, words[0]))
            for word in words[1:]:
                # The name is added before the publication, since the next response may come from it.
                word_of[_generation_name(tmp_path, word)] = word
                generation = world.publish(tmp_path, make_companies(word))
                wait_for_generation(server, generation)
                assert eventually(partial(words_seen.__contains__, word)), failures
        finally:
            is_over.set()
            for thread in threads:
                thread.join(20)

    assert failures == []
    assert words_seen == set(words)


def wait_for_generation(server: Server, generation: str) -> None:
    """Wait until a generation is served: the server checks CURRENT every second without a signal."""

    def is_served() -> bool:
        """Whether the server is ready with the generation."""
        reply = server.ask("/readyz")
        return reply.status == 200 and reply.json["generation"] == generation

    assert eventually(is_served), f"the generation {generation} is not served"


def _generation_name(folder: Path, word: str) -> str:
    """The name of the generation of `make_companies(word)`: the same input gives the same name."""
    return world.publish(folder.with_name(f"ailleurs-{word}"), make_companies(word))


def _record_failures(
    send_requests: Callable[[Server], None], failures: list[object]
) -> Callable[[Server], None]:
    """The function with its exceptions added to `failures`, which a thread would only print."""

    def send_and_record(server: Server) -> None:
        """Run the function; add its exception, if any, to `failures`."""
        try:
            send_requests(server)
        except (OSError, KeyError, ValueError) as error:
            failures.append(error)

    return send_and_record


# -- a damaged generation -----------------------------------------------------------------


def start_on(data: Path) -> CurrentGeneration:
    """The current generation of a server that starts on `data`."""
    current = CurrentGeneration(data, data.with_name("state"))
    current.start()
    return current


def count_companies(current: CurrentGeneration, *pays: str) -> int:
    """The number of companies of these countries, or of all, in the served generation."""
    with current.lease() as generation:
        return search(generation.shards, Query(pays=pays), offset=0, limit=1).total


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A path for DATA, next to the STATE of the server, which remembers damaged files."""
    tmp_path.joinpath("state").mkdir()
    return tmp_path / "data"


@pytest.mark.parametrize("file", ["FR.shard", "manifest.json", "reference.json"])
def test_a_start_over_a_damaged_generation_serves_the_previous_one(data: Path, file: str) -> None:
    """Fixed: a 503 for every country, although the previous generation was complete"""
    first_id = world.publish(data, make_companies("Un"))
    second_id = world.publish(data, make_companies("Deux"))
    path = data / second_id / file
    path.write_bytes(path.read_bytes()[:-1] if file == "FR.shard" else b"{}")
    current = start_on(data)

    assert (current.generation, current.status.refused) == (first_id, second_id)
    # `make_companies`: 3 countries of 10 + len("Un") companies.
    assert count_companies(current) == 36
    assert current.status.since
    current.close()


def test_without_an_undamaged_generation_the_undamaged_countries_are_served(data: Path) -> None:
    """Only France is damaged; answers that need it are 503"""
    generation_id = world.publish(data, make_companies("Un"))
    os.truncate(data / generation_id / "FR.shard", 4_096)
    with run_server(data) as server:
        readiness = server.ask("/readyz")
        replies = {
            path: server.ask(f"/api/v1/societes{path}")
            for path in ("?pays=UK", "?pays=UK&pays=FR", "", "/UK/Un1", "/FR/Un1")
        }
        tool = client.send_modern(
            server, "tools/call", {"name": "search_companies", "arguments": {}}
        )

    assert (readiness.json["refusee"], readiness.json["pays_manquants"]) == (generation_id, ["FR"])
    assert replies["?pays=UK"].json["total"] == 12  # `make_companies` has 10 + len("Un") a country
    assert replies["/UK/Un1"].status == 200
    for path in ("?pays=UK&pays=FR", "", "/FR/Un1"):
        assert replies[path].status == 503
        assert b" FR" in replies[path].body
    assert tool.status == 503


def test_a_generation_with_a_truncated_shard_is_replaced_by_the_previous_one(data: Path) -> None:
    """If the previous one is damaged too, the newest is served without its damaged country"""
    first_id = world.publish(data, make_companies("Un"))
    second_id = world.publish(data, make_companies("Deux"))
    current = start_on(data)
    assert current.generation == second_id

    os.truncate(data / second_id / "UK.shard", 4_096)
    current.leave_damaged()

    assert current.generation == first_id
    assert count_companies(current, "UK") == 12  # 10 + len("Un")
    # Both generations are damaged now: the newest is served without its damaged country.
    os.truncate(data / first_id / "EE.shard", 0)
    current.leave_damaged()
    assert current.status.missing == ("UK",)
    # 14 is 10 + len("Deux").
    assert (current.generation, count_companies(current, "EE")) == (second_id, 14)
    current.close()


def test_damage_that_a_worker_notes_counts_for_other_workers_and_the_next_start(
    data: Path,
) -> None:
    """A repaired file, which has another inode, is used again"""
    first_id = world.publish(data, make_companies("Un"))
    second_id = world.publish(data, make_companies("Deux"))
    first_worker, second_worker = start_on(data), start_on(data)

    first_worker.damage.add(data / second_id / "FR.shard")
    second_worker.leave_damaged()
    next_start = start_on(data)

    assert (second_worker.generation, next_start.generation) == (first_id, first_id)
    content = (data / second_id / "FR.shard").read_bytes()
    (data / second_id / "FR.shard").unlink()
    (data / second_id / "FR.shard").write_bytes(content)
    start_after_repair = start_on(data)
    assert (start_after_repair.generation, start_after_repair.status.refused) == (second_id, None)
    for current in (first_worker, second_worker, next_start, start_after_repair):
        current.close()


def test_a_start_after_workers_died_by_sigbus_compares_the_digests_of_shards(data: Path) -> None:
    """The size of the damaged file is right, so only its digest shows the damage"""
    first_id = world.publish(data, make_companies("Un"))
    second_id = world.publish(data, make_companies("Deux"))
    damage(data, second_id)
    current = CurrentGeneration(data, data.with_name("state"))
    current.start(compare_first=True)

    assert (current.generation, current.status.refused) == (first_id, second_id)
    current.close()


def test_a_repaired_generation_is_served_again_after_sighup(data: Path) -> None:
    async def repair_and_refresh() -> None:
        """Open a generation whose French shard is damaged, repair the file, and refresh as SIGHUP does."""
        generation_id = world.publish(data, make_companies("Un"))
        path = data / generation_id / "FR.shard"
        content = path.read_bytes()
        path.write_bytes(content[:-1])
        current = start_on(data)
        assert list(current.status.missing) == ["FR"]
        path.write_bytes(content)
        await current.refresh(again=True)
        assert not current.status.missing
        assert current.status.refused is None
        assert count_companies(current) == 36  # 3 countries of 10 + len("Un") companies
        current.close()

    asyncio.run(repair_and_refresh())
