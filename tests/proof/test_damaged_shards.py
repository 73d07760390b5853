"""Shards that are damaged while a server reads them: it answers or says that it cannot, and lives on."""

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import orjson
import pytest

from shards.query import ORDERS, STATES
from tests import world
from tests.proof.reading import Readers, Response
from tests.serve.processes import ask, eventually, line_of, started, stop
from tests.world import company

DAMAGES = int(os.environ.get("PROOF_DAMAGES", "3000"))
COMPANIES = 3_000
GENEROUS = "[debit]\nvisiteur = 100000000\nvisiteur_jour = 100000000\nlistes = 100000000\nsimultanes = 100000000\n"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 + DAMAGES // 10)]

FILTERS = (
    "", "&q=a", "&q=lab", "&q=ab+c", "&q=cd+3+fit", "&q=1", "&ca_min=2&effectif_max=6", "&avec_ca=1",
    "&secteur=secteur-62&site_web=1", "&offset=40", "&nace=62.01,62.03&etat=active", "&q=fit&nace=62.0",
)  # fmt: skip
PATHS = [f"/api/v1/societes?tri={tri}{rest}" for tri, rest in product(ORDERS, FILTERS)]
PATHS += [f"/api/v1/societes/EE/{i}" for i in range(20)]
PATHS += [
    f"/api/v1/repartition?par=nace,ville,tranche_ca{rest}"
    for rest in FILTERS
    if "offset" not in rest
]


@dataclass
class Judge:
    """The statuses of responses; an error of the API is JSON.

    An answer may be none: a record whose bits were flipped can unpack to another text.
    """

    statuses: Counter[int] = field(default_factory=Counter)

    def fault(self, response: Response) -> str | None:
        """The fault of a response, or None."""
        self.statuses[response.status] += 1
        if response.status == 200:
            return None
        body = orjson.loads(response.body)
        known = response.status in (404, 500, 503)
        return None if known else f"{response.status} {body}"


def test_flipped_bits_under_load_never_end_the_server(tmp_path: Path) -> None:
    """Every index that comes from a file is compared with the array that it leads to"""
    found = [
        company("EE", f"{i}", f"ab cd {i % 5} Fitlab {i}", division="62", groupe="62.0",
                ca_eur=float(i % 40) if i % 3 else None, effectif=i % 9,
                site_web="https://a.ee" if i % 2 else None, nace_code=f"62.0{i % 4}",
                ville=f"Linn {i % 7}", etat=STATES[i % 4])
        for i in range(COMPANIES)
    ]  # fmt: skip
    generation = world.publish(tmp_path / "data", found)
    path = tmp_path / "data" / generation / "EE.shard"
    (tmp_path / "serve.toml").write_text(GENEROUS)
    with started(tmp_path / "data", "--config", str(tmp_path / "serve.toml")) as process:
        judge = Judge()
        readers = Readers(line_of(process), PATHS, judge.fault)
        asyncio.run(_damage(path, readers))
        assert process.poll() is None
        status, _ = ask(readers.address, "/healthz")
        stop(process)

    sys.stdout.write(f"[{DAMAGES} damages, {dict(judge.statuses)}] ")  # pytest -s shows it
    assert status == 200
    assert readers.faults == []
    assert judge.statuses[200] > DAMAGES // 10
    assert judge.statuses[500]


async def _damage(path: Path, readers: Readers) -> None:
    """Flip bits of the served file, one after the other; they stay."""
    chance = random.Random(11)
    reading = asyncio.create_task(readers.run(8))
    with path.open("r+b", buffering=0) as file:
        size = path.stat().st_size
        for _ in range(DAMAGES):
            place = chance.randrange(size)
            byte = os.pread(file.fileno(), 1, place)[0] ^ 1 << chance.randrange(8)
            os.pwrite(file.fileno(), bytes([byte]), place)
            await asyncio.sleep(0.002)
    readers.stop()
    await reading


def test_a_generation_that_is_cut_is_refused_under_load(tmp_path: Path) -> None:
    """G9: the old one serves on"""
    data = tmp_path / "data"
    found = [company("EE", f"{i}", f"Ä {i}") for i in range(COMPANIES)]
    first = world.publish(data, found[:-1])
    (tmp_path / "serve.toml").write_text(GENEROUS)
    with started(data, "--config", str(tmp_path / "serve.toml")) as process:
        readers = Readers(line_of(process), PATHS[:20], Judge().fault)
        second = world.publish(data, found)
        shard = data / second / "EE.shard"
        os.truncate(shard, shard.stat().st_size // 2)

        async def scenario() -> None:
            reading = asyncio.create_task(readers.run(4))
            os.kill(process.pid, signal.SIGHUP)
            await asyncio.sleep(3)
            readers.stop()
            await reading

        asyncio.run(scenario())
        # On a busy machine the files are read into memory after the work of others.
        assert eventually(lambda: ask(readers.address, "/readyz")[0] == 200)
        _, ready = ask(readers.address, "/readyz")
        stop(process)

    assert orjson.loads(ready)["generation"] == first
    assert readers.faults == []
    assert readers.answers
