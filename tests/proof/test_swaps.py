"""New generations under load: no answer and no workbook mixes two, and flipped bits are refused."""

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
from tests.serve.processes import ask, children, line_of, started, stop
from tests.world import Company, company

SWAPS = int(os.environ.get("PROOF_SWAPS", "36"))
READS = int(os.environ.get("PROOF_READS", "20000"))
FLIPS = int(os.environ.get("PROOF_FLIPS", "1000"))
CONNECTIONS = 8
EXPORTED = 1_000  # companies: their export lasts longer than a swap
GENEROUS = "[debit]\nvisiteur = 100000000\nvisiteur_jour = 100000000\nlistes = 100000000\nsimultanes = 100000000\n"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200 + SWAPS * 5 + READS // 300)]

PLANS = load()
PATHS = ("/api/v1/societes?tri=nom&pays=EE", "/api/v1/pays", "/api/v1/societes?q=nuit&tri=recent")


def night(number: int) -> list[Company]:
    """The companies of one generation: every Estonian name holds its number, and so does their count.

    France never changes, so all generations share its file.
    """
    return [
        *(company("EE", f"{i}", f"Nuit {number} {i}") for i in range(EXPORTED + number)),
        *(company("FR", f"{i}", f"Orléans {i}") for i in range(50)),
    ]


@dataclass
class GenerationNumbers:
    """The number of each generation, taken from its first answer."""

    numbers: dict[str, int] = field(default_factory=dict)

    def fault(self, response: Response) -> str | None:
        """The fault of a response: header, total and names must be of one generation."""
        if response.status != 200:
            return f"{response.status}: {response.body[:200]!r}"
        body = orjson.loads(response.body)
        if "pays" in body:
            counts = {one["iso2"]: one["n_societes"] for one in body["pays"]}
            found = {counts["EE"] - EXPORTED}
        else:
            found = {int(one["nom"].split()[1]) for one in body["societes"]}
            found.add(body["total"] - EXPORTED)
        generation = response.headers["x-donnees-version"]
        number = self.numbers.setdefault(generation, min(found))
        return None if found == {number} else f"{found} in {generation}, which is of {number}"


@contextmanager
def key(state: Path) -> Iterator[list[dict[str, str]]]:
    """Headers with keys of several accounts: each may export only a few times."""
    store, now = LmdbStore(state), datetime.now(UTC)
    made = []
    for _ in range(1 + SWAPS // 50):
        account = create_account(store, "integral", PLANS, now).result()
        _, text = create_key(store, account.id, PLANS, now).result()
        made.append({"Authorization": f"Bearer {text}"})
    yield made
    store.close()


def test_no_answer_and_no_workbook_is_mixed_while_generations_change(tmp_path: Path) -> None:
    """G9, G10: with reads in flight and exports that span swaps"""
    data, numbers = tmp_path / "data", GenerationNumbers()
    published = [world.publish(data, night(0))]
    (tmp_path / "serve.toml").write_text(GENEROUS)
    flags = ("--config", str(tmp_path / "serve.toml"))
    with started(data, *flags) as process, key(data.with_name("state")) as keys:
        address = line_of(process)
        readers = Readers(address, PATHS, numbers.fault)
        exports = asyncio.run(_nights(data, process.pid, readers, keys, published))
        (serving,) = children(process.pid)
        mapped = _shards(serving)
        stop(process)

    figures = f"{SWAPS} swaps, {readers.answers} reads, {exports} exports"
    sys.stdout.write(f"[{figures}, {len(readers.faults)} faults] ")  # pytest -s shows it
    assert readers.faults == []
    assert readers.answers >= READS
    assert exports >= 3
    assert numbers.numbers == {name: number for number, name in enumerate(published)}
    # An Estonia for each of two generations; they share the files of the other countries.
    assert len(mapped) == 4


async def _nights(
    data: Path, pid: int, readers: Readers, keys: list[dict[str, str]], published: list[str]
) -> int:
    reading = asyncio.create_task(readers.run(CONNECTIONS))
    done = asyncio.Event()
    exporting = asyncio.create_task(_exports(readers, keys, done))
    for number in range(1, SWAPS + 1):
        published.append(await asyncio.to_thread(world.publish, data, night(number)))
        os.kill(pid, signal.SIGHUP)
        await _until(readers.address, published[-1])
        while readers.answers < READS * number // SWAPS and not readers.faults:
            await asyncio.sleep(0.01)
    done.set()
    exports = await exporting
    readers.stop()
    await reading
    return exports


async def _until(address: str, generation: str) -> None:
    async with asyncio.timeout(30):
        while True:
            _, body = await asyncio.to_thread(ask, address, "/readyz")
            if orjson.loads(body).get("generation") == generation:
                return
            await asyncio.sleep(0.01)


async def _exports(readers: Readers, keys: list[dict[str, str]], done: asyncio.Event) -> int:
    """Export Estonia in a loop; each workbook must be whole and of one generation."""
    count = 0
    while not done.is_set():
        holder = keys[count % len(keys)]
        status, body = await asyncio.to_thread(
            ask, readers.address, "/api/v1/export?pays=EE&tri=nom", holder
        )
        count += 1
        names = _names(body) if status == 200 else []
        numbers = {number for number, _ in names}
        wanted = EXPORTED + int(next(iter(numbers), -1))
        if len(numbers) != 1 or len(set(names)) != wanted:
            readers.faults.append(f"export: {status}, {len(names)} names of {sorted(numbers)}")
    return count


def _names(workbook: bytes) -> list[tuple[str, str]]:
    with zipfile.ZipFile(io.BytesIO(workbook)) as file:
        texts = b"".join(file.read(name) for name in file.namelist() if name.endswith(".xml"))
    return [(a.decode(), b.decode()) for a, b in re.findall(rb"Nuit (\d+) (\d+)", texts)]


def _shards(pid: int) -> set[str]:
    """The inodes of the shards that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split()[4] for line in lines if ".shard" in line}


def test_every_bit_that_flips_is_refused_and_the_old_generation_serves_on(tmp_path: Path) -> None:
    """G9: in manifest, lists, shards and changes, before the server switches"""
    chance = random.Random(7)

    async def scenario() -> None:
        published = CurrentGeneration(tmp_path)
        small = [company("EE", f"{i}", f"Ä {i}", ca_eur=float(i)) for i in range(40)]
        first = world.publish(tmp_path, small)
        published.start()
        second = world.publish(tmp_path, [*small, company("UK", "1", "É")])
        files = [path for path in (tmp_path / second).iterdir() if not _shared(path)]
        files += [path for path in (tmp_path / "changes").rglob("*") if path.is_file()]
        for _ in range(FLIPS):
            path = chance.choice(files)
            whole = path.read_bytes()
            place, bit = chance.randrange(len(whole)), 1 << chance.randrange(8)
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            await published.refresh(again=True)
            standing = published.status
            assert (standing.generation, standing.refused) == (first, second), (path, place, bit)
            path.write_bytes(whole)
        await published.refresh(again=True)
        assert published.generation == second
        published.close()

    asyncio.run(scenario())


def _shared(path: Path) -> bool:
    """True for a file that both generations share."""
    return path.stat().st_nlink > 1
