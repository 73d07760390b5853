"""A mirror of a faulty source, killed at any moment: generations are whole, the last one is there.

The source cuts connections, flips bits, ignores ranges, answers 500 and 503, sends slowly, too much
or too little (origin.py). The mirror is killed (-9) at a random byte. Meanwhile a reader verifies
every byte of the published generation.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from shards.analyses import market
from shards.changes import comparison
from shards.errors import ShardError
from shards.generations import generation_files, pointer, publication
from shards.generations import reference as references
from shards.generations.locks import ReadLock
from tests import ROOT, world
from tests.proof.origin import Origin, serving
from tests.world import Company, company

ROUNDS: Final = int(os.environ.get("PROOF_ROUNDS", "60"))
FAULTY: Final = 0.45
KILLED: Final = 0.6  # of the rounds
ROUND_SECONDS: Final = 60.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(100 + 10 * ROUNDS)]


class Mirror:
    """`python -m shards sync --follow`, started again after each kill."""

    def __init__(self, source: str, data: Path, log: Path) -> None:
        self._command = [
            sys.executable, "-m", "shards", "sync", source, str(data), "--follow", "0.05",
        ]  # fmt: skip
        self._log = log.open("a")
        self.kills = 0
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self._command, cwd=ROOT, text=True, stdout=self._log, stderr=self._log
        )

    def kill(self) -> None:
        self.kills += 1
        self.process.kill()

    def keep_up(self) -> None:
        """Start the process again if it was killed; it must not end in another way."""
        status = self.process.poll()
        if status is not None:
            assert status == -signal.SIGKILL
            self.process = self._start()

    def stop(self) -> int:
        with self.process:
            self.process.terminate()
            status = self.process.wait(timeout=30)
        self._log.close()
        return status


class Watch:
    """A thread that verifies the published generation in a loop."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.reads = 0
        self.seen: list[str] = []
        self.faults: list[str] = []

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(0.01):
            name = None
            try:
                name = pointer.current_name(self._data)
                if name:
                    self._look(self._data / name)
            except (ShardError, OSError) as error:
                # Two generations later the folder may be removed after CURRENT was read.
                if name is None or pointer.current_name(self._data) == name:
                    self.faults.append(str(error))

    def _look(self, folder: Path) -> None:
        reading = ReadLock(folder)
        try:
            generation_files.verify_digests(folder, generation_files.read_manifest(folder))
        finally:
            reading.end()
        self.reads += 1
        if folder.name not in self.seen[-1:]:
            self.seen.append(folder.name)


def test_a_mirror_shows_whole_generations_only_and_ends_on_the_newest(tmp_path: Path) -> None:
    chance = random.Random(7)
    origin = Origin(tmp_path / "source", seed=7, faulty=FAULTY)
    data, log = tmp_path / "mirror", tmp_path / "log"
    builder = Builder(origin.root, chance)
    made = [builder.publish(0)]
    whole = 0  # bytes of full copies of all generations
    with serving(origin) as source, Watch(data) as watch:
        mirror = Mirror(source, data, log)
        try:
            for number in range(1, ROUNDS + 1):
                if chance.random() < KILLED:
                    origin.alarm = (origin.sent + chance.randrange(400_000), mirror.kill)
                _until(partial(_shows, data, made[-1]), mirror, made[-1])
                whole += generation_files.read_manifest(data / made[-1]).size
                if number < ROUNDS:
                    made.append(builder.publish(number))
            origin.faulty, origin.alarm = 0.0, None
            _until(lambda: not (data / ".mirror").exists(), mirror, "cleared away")
        finally:
            status = mirror.stop()

    assert status == 0
    assert watch.faults == []
    assert set(watch.seen) <= set(made)
    output = log.read_text()
    resumed, damaged = output.count("resumed"), output.count("damaged on the way")
    print(  # noqa: T201 - the figures of tests/proof/README.md
        f"{ROUNDS} rounds, {mirror.kills} kills, {origin.requests} requests, "
        f"{sum(origin.met.values()) - origin.met['']} faults {dict(origin.met)}; "
        f"{watch.reads} reads; {origin.sent:,} bytes sent, "
        f"{whole:,} in the generations; {resumed} rounds resumed, "
        f"{damaged} met files damaged on the way"
    )
    assert resumed > 0
    assert damaged > 0
    assert origin.sent < whole


def _shows(data: Path, generation: str) -> bool:
    return pointer.current_name(data) == generation


def _until(claim: Callable[[], bool], mirror: Mirror, what: str) -> None:
    deadline = time.monotonic() + ROUND_SECONDS
    while not claim():
        assert time.monotonic() < deadline, f"{what}: not in {ROUND_SECONDS:g} s"
        mirror.keep_up()
        time.sleep(0.01)


@dataclass
class Builder:
    """A publisher of generations: each differs from the one before in one country and in a file
    long enough to be cut; the largest country stays the same."""

    data: Path
    chance: random.Random

    def publish(self, number: int) -> str:
        staged = publication.make_staging_folder(self.data)
        found = [company("UK", str(n), f"Royal Tool Control {n} Ltd") for n in range(1_500)]
        found += [company("EE", str(n), f"Ännchen {number} {n}") for n in range(20)]
        for iso2 in world.COUNTRIES:
            self._shard(staged / generation_files.shard_name(iso2), iso2, found)
        lists = references.dump(world.reference(found))
        (staged / generation_files.REFERENCE).write_bytes(lists)
        report = f'{{"pays": {{}}, "note": "{self.chance.randbytes(150_000).hex()}"}}'
        (staged / generation_files.QUALITY).write_text(report)
        return publication.publish(
            self.data,
            staged,
            sources=(),
            compare=comparison.compare_all,
            derive=market.files,
        )

    def _shard(self, path: Path, iso2: str, found: list[Company]) -> None:
        known = pointer.current_name(self.data)
        if known and iso2 != "EE":
            os.link(self.data / known / path.name, path)
        else:
            world.write_shard(path, iso2, found)
