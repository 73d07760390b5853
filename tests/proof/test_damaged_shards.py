"""Shards that are damaged while a server reads them: it sends an answer or an error, and keeps running."""

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
from tests.serve.processes import ask, children, eventually, read_line, server_process, stop
from tests.world import company

DAMAGES = int(os.environ.get("PROOF_DAMAGES", "3000"))  # bits that are flipped
COMPANIES = 3_000
# Settings with limits that the test never reaches: calls a minute and a day, and lists at once.
HIGH_LIMITS = "[debit]\nvisiteur = 100000000\nvisiteur_jour = 100000000\nlistes = 100000000\nsimultanes = 100000000\n"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 + DAMAGES // 10)]

# Parameters that are added to a search.
FILTERS = (
    "", "&q=a", "&q=lab", "&q=ab+c", "&q=cd+3+fit", "&q=1", "&ca_min=2&effectif_max=6", "&avec_ca=1",
    "&secteur=secteur-62&site_web=1", "&offset=40", "&nace=62.01,62.03&etat=active", "&q=fit&nace=62.0",
)  # fmt: skip
PATHS = [f"/api/v1/societes?tri={tri}{parameters}" for tri, parameters in product(ORDERS, FILTERS)]
PATHS += [f"/api/v1/societes/EE/{i}" for i in range(20)]
PATHS += [
    f"/api/v1/repartition?par=nace,ville,tranche_ca{parameters}"
    for parameters in FILTERS
    if "offset" not in parameters
]


@dataclass
class Judge:
    """The statuses of responses; each error is JSON of the API.

    The content of a 200 is not checked: a record with a flipped bit can unpack to another text.
    """

    statuses: Counter[int] = field(default_factory=Counter)

    def fault(self, response: Response) -> str | None:
        """The fault of a response, or None."""
        self.statuses[response.status] += 1
        if response.status == 200:
            return None
        body = orjson.loads(response.body)
        is_expected = response.status in (404, 500, 503)
        return None if is_expected else f"{response.status} {body}"


def test_flipped_bits_under_load_never_end_the_server(tmp_path: Path) -> None:
    """Every index from a file is checked against the bounds of its array"""
    companies = [
        company("EE", f"{i}", f"ab cd {i % 5} Fitlab {i}", division="62", groupe="62.0",
                ca_eur=float(i % 40) if i % 3 else None, effectif=i % 9,
                site_web="https://a.ee" if i % 2 else None, nace_code=f"62.0{i % 4}",
                ville=f"Linn {i % 7}", etat=STATES[i % 4])
        for i in range(COMPANIES)
    ]  # fmt: skip
    generation = world.publish(tmp_path / "data", companies)
    path = tmp_path / "data" / generation / "EE.shard"
    (tmp_path / "serve.toml").write_text(HIGH_LIMITS)
    with server_process(tmp_path / "data", "--config", str(tmp_path / "serve.toml")) as process:
        judge = Judge()
        readers = Readers(read_line(process), PATHS, judge.fault)
        asyncio.run(_flip_bits(path, readers))
        assert process.poll() is None
        status, _ = ask(readers.address, "/healthz")
        stop(process)

    sys.stdout.write(f"[{DAMAGES} damages, {dict(judge.statuses)}] ")  # pytest -s shows it
    assert status == 200
    assert readers.faults == []
    assert judge.statuses[200] > DAMAGES // 10  # the server still answered
    assert judge.statuses[500]  # some damages were noticed


async def _flip_bits(path: Path, readers: Readers) -> None:
    """Flip DAMAGES random bits of the served file while `readers` send requests, and leave the bits flipped."""
    chance = random.Random(11)
    readers_task = asyncio.create_task(readers.run(8))
    with path.open("r+b", buffering=0) as file:
        size = path.stat().st_size
        for number in range(DAMAGES):
            position = chance.randrange(size)
            byte = os.pread(file.fileno(), 1, position)[0] ^ 1 << chance.randrange(8)
            os.pwrite(file.fileno(), bytes([byte]), position)
            await asyncio.sleep(0.002)
            while readers.answers < number // 4 and not readers.faults:
                await asyncio.sleep(0.002)
    readers.stop()
    await readers_task


def test_a_truncated_generation_is_refused_under_load(tmp_path: Path) -> None:
    """G9: the old generation is still served; no response of the readers is wrong or missing"""
    data = tmp_path / "data"
    companies = [company("EE", f"{i}", f"Ä {i}") for i in range(COMPANIES)]
    whole_generation = world.publish(data, companies[:-1])
    (tmp_path / "serve.toml").write_text(HIGH_LIMITS)
    with server_process(data, "--config", str(tmp_path / "serve.toml")) as process:
        readers = Readers(read_line(process), PATHS[:20], Judge().fault)
        (worker,) = children(process.pid)
        os.kill(worker, signal.SIGSTOP)  # it must not switch before the file is truncated
        truncated_generation = world.publish(data, companies)
        shard = data / truncated_generation / "EE.shard"
        os.truncate(shard, shard.stat().st_size // 2)
        os.kill(worker, signal.SIGCONT)

        async def scenario() -> None:
            """Read for 3 s while the server tries to switch to the truncated generation."""
            reading = asyncio.create_task(readers.run(4))
            os.kill(process.pid, signal.SIGHUP)
            await asyncio.sleep(3)
            readers.stop()
            await reading

        asyncio.run(scenario())
        # On a busy machine it takes a while until the files are read into memory.
        assert eventually(lambda: ask(readers.address, "/readyz")[0] == 200)
        _, ready = ask(readers.address, "/readyz")
        stop(process)

    assert orjson.loads(ready)["generation"] == whole_generation
    assert readers.faults == []
    assert readers.answers
