"""New generations under load: no answer or workbook mixes two of them, and flipped bits are refused."""

import asyncio
import io
import os
import random
import re
import signal
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from quota.plans import load
from quota.store.lmdb_store import LmdbStore
from serve.generation.current_generation import CurrentGeneration
from tests import world
from tests.proof.reading import Readers, Response
from tests.quota.filling import create_account, create_key
from tests.serve.processes import ask, children, eventually, read_line, server_process, stop
from tests.world import Company, company

SWAPS = int(os.environ.get("PROOF_SWAPS", "20"))  # generations that are published
READS = int(os.environ.get("PROOF_READS", "10000"))  # answers, at least
FLIPS = int(os.environ.get("PROOF_FLIPS", "1000"))  # bits that are flipped
CONNECTIONS = 8  # of the readers
EXPORTED = 1_000  # companies, so that an export takes longer than a switch
# Settings that lift the limits by the minute.
HIGH_LIMITS = "[debit]\nvisiteur = 100000000\nvisiteur_jour = 100000000\nlistes = 100000000\nsimultanes = 100000000\n"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200 + SWAPS * 15 + READS // 300)]

PLANS = load()
PATHS = ("/api/v1/societes?tri=nom&pays=EE", "/api/v1/pays", "/api/v1/societes?q=nuit&tri=recent")


def generation_companies(number: int) -> list[Company]:
    """The companies of a generation. Each Estonian name has the number of the generation; so does their count.

    The French companies are always the same, so all generations share their file.
    """
    return [
        *(company("EE", f"{i}", f"Nuit {number} {i}") for i in range(EXPORTED + number)),
        *(company("FR", f"{i}", f"Orléans {i}") for i in range(50)),
    ]


@dataclass
class GenerationNumbers:
    """The number of each generation, from its first answer."""

    numbers: dict[str, int] = field(default_factory=dict)

    def fault(self, response: Response) -> str | None:
        """The fault of a response, or None: header, total and names must be of the same generation."""
        if response.status != 200:
            return f"{response.status}: {response.body[:200]!r}"
        body = orjson.loads(response.body)
        if "pays" in body:
            counts = {row["iso2"]: row["n_societes"] for row in body["pays"]}
            labels = {counts["EE"] - EXPORTED}
        else:
            labels = {int(row["nom"].split()[1]) for row in body["societes"]}
            labels.add(body["total"] - EXPORTED)
        generation = response.headers["x-donnees-version"]
        number = self.numbers.setdefault(generation, min(labels))
        return None if labels == {number} else f"{labels} in {generation}, whose number is {number}"


@contextmanager
def key_headers(state: Path) -> Iterator[list[dict[str, str]]]:
    """Create keys of several accounts, since each may export only a few times; yield their headers."""
    store, now = LmdbStore(state), datetime.now(UTC)
    headers = []
    for _ in range(1 + SWAPS // 50):
        account = create_account(store, "integral", PLANS, now).result()
        _, key_text = create_key(store, account.id, PLANS, now).result()
        headers.append({"Authorization": f"Bearer {key_text}"})
    yield headers
    store.close()


def test_no_answer_and_no_workbook_is_mixed_while_generations_change(tmp_path: Path) -> None:
    """G9, G10: with reads in flight and exports that last longer than a switch"""
    data, numbers = tmp_path / "data", GenerationNumbers()
    published = [world.publish(data, generation_companies(0))]
    (tmp_path / "serve.toml").write_text(HIGH_LIMITS)
    flags = ("--config", str(tmp_path / "serve.toml"))
    with server_process(data, *flags) as process, key_headers(data.with_name("state")) as keys:
        address = read_line(process)
        readers = Readers(address, PATHS, numbers.fault)
        exports = asyncio.run(_publish_generations(data, process.pid, readers, keys, published))
        (worker,) = children(process.pid)
        # A file of Estonia for each of two generations, which share the files of the other countries. The generation
        # of an export is closed a moment after the export.
        assert eventually(lambda: len(_mapped_inodes(worker)) == 4)
        stop(process)

    figures = f"{SWAPS} switches, {readers.answers} reads, {exports} exports"
    sys.stdout.write(f"[{figures}, {len(readers.faults)} faults] ")  # pytest -s shows it
    assert readers.faults == []
    assert readers.answers >= READS
    assert exports >= 3
    assert numbers.numbers == {name: number for number, name in enumerate(published)}


async def _publish_generations(
    data: Path, pid: int, readers: Readers, keys: list[dict[str, str]], published: list[str]
) -> int:
    """Publish SWAPS generations while `readers` send requests; return the number of exports made meanwhile.

    Each generation is served before the next is published. `published` gets their names.
    """
    readers_task = asyncio.create_task(readers.run(CONNECTIONS))
    published_all = asyncio.Event()
    export_task = asyncio.create_task(_export_repeatedly(readers, keys, published_all))
    for number in range(1, SWAPS + 1):
        published.append(await asyncio.to_thread(world.publish, data, generation_companies(number)))
        os.kill(pid, signal.SIGHUP)
        await _wait_for_generation(readers.address, published[-1])
        while readers.answers < READS * number // SWAPS and not readers.faults:
            await asyncio.sleep(0.01)
    published_all.set()
    exports = await export_task
    readers.stop()
    await readers_task
    return exports


async def _wait_for_generation(address: str, generation: str) -> None:
    """Wait until the server serves a generation."""
    async with asyncio.timeout(120):  # the process that reads ahead has the lowest priority
        while True:
            _, body = await asyncio.to_thread(ask, address, "/readyz")
            if orjson.loads(body).get("generation") == generation:
                return
            await asyncio.sleep(0.01)


async def _export_repeatedly(
    readers: Readers, keys: list[dict[str, str]], ended: asyncio.Event
) -> int:
    """Export Estonia in a loop until `ended` is set; return the number of exports.

    Each workbook must be complete and of one generation.
    """
    count = 0
    while not ended.is_set():
        key = keys[count % len(keys)]
        status, body = await asyncio.to_thread(
            ask, readers.address, "/api/v1/export?pays=EE&tri=nom", key
        )
        count += 1
        names = _names_in_workbook(body) if status == 200 else []
        numbers = {number for number, _ in names}
        expected = EXPORTED + int(next(iter(numbers), -1))
        if len(numbers) != 1 or len(set(names)) != expected:
            readers.faults.append(f"export: {status}, {len(names)} names of {sorted(numbers)}")
    return count


def _names_in_workbook(workbook: bytes) -> list[tuple[str, str]]:
    """The number of the generation and of the company in each Estonian name of a workbook."""
    with zipfile.ZipFile(io.BytesIO(workbook)) as file:
        texts = b"".join(file.read(name) for name in file.namelist() if name.endswith(".xml"))
    return [
        (number.decode(), company.decode())
        for number, company in re.findall(rb"Nuit (\d+) (\d+)", texts)
    ]


def _mapped_inodes(pid: int) -> set[str]:
    """The inodes of the shards that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split()[4] for line in lines if ".shard" in line}


def test_every_flipped_bit_is_refused_and_the_old_generation_is_still_served(
    tmp_path: Path,
) -> None:
    """G9: in manifest, lists, shards and changes, before the server switches"""
    chance = random.Random(7)

    async def scenario() -> None:
        """Flip one bit of the next generation at a time; undamaged, it is served at the end."""
        served = CurrentGeneration(tmp_path)
        companies = [company("EE", f"{i}", f"Ä {i}", ca_eur=float(i)) for i in range(40)]
        first_generation = world.publish(tmp_path, companies)
        served.start()
        second_generation = world.publish(tmp_path, [*companies, company("UK", "1", "É")])
        files = [path for path in (tmp_path / second_generation).iterdir() if not _is_shared(path)]
        files += [path for path in (tmp_path / "changes").rglob("*") if path.is_file()]
        for _ in range(FLIPS):
            path = chance.choice(files)
            content = path.read_bytes()
            position, bit = chance.randrange(len(content)), 1 << chance.randrange(8)
            path.write_bytes(
                content[:position] + bytes([content[position] ^ bit]) + content[position + 1 :]
            )
            await served.refresh(again=True)
            state = served.status
            assert (state.generation, state.refused) == (first_generation, second_generation), (
                path,
                position,
                bit,
            )
            path.write_bytes(content)
        await served.refresh(again=True)
        assert served.generation == second_generation
        served.close()

    asyncio.run(scenario())


def _is_shared(path: Path) -> bool:
    """True for a file that both generations share."""
    return path.stat().st_nlink > 1
