"""A mirror of a faulty source, killed at any moment: each generation is whole, and the newest one arrives.

The source cuts connections, flips bits, ignores ranges, answers 500 and 503, and sends too slowly, too much or too
little (origin.py). The mirror is killed (-9) at a random byte. Meanwhile a thread verifies every byte of the published
generation.
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
from tests.proof.origin import Origin, serve
from tests.world import Company, company

ROUNDS: Final = int(os.environ.get("PROOF_ROUNDS", "60"))
FAULTY: Final = 0.45  # share of the requests with a fault
KILLED: Final = 0.6  # share of the rounds with a kill
ROUND_SECONDS: Final = 180.0  # the longest round

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 + 10 * ROUNDS)]


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
        """Start the process; its output goes to the log."""
        return subprocess.Popen(
            self._command, cwd=ROOT, text=True, stdout=self._log, stderr=self._log
        )

    def kill(self) -> None:
        """Kill the process; `keep_up` starts it again."""
        self.kills += 1
        self.process.kill()

    def keep_up(self) -> None:
        """Start the process again if it was killed; any other end fails the test."""
        status = self.process.poll()
        if status is not None:
            assert status == -signal.SIGKILL
            self.process = self._start()

    def stop(self) -> int:
        """Ask the process to end; return its exit code."""
        with self.process:
            self.process.terminate()
            status = self.process.wait(timeout=120)
        self._log.close()
        return status


class Watch:
    """A thread that verifies the published generation in a loop."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.reads = 0
        self.verified: list[str] = []
        self.faults: list[str] = []

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        """Verify the published generation again and again, until the end; add what is damaged to `faults`."""
        while not self._end.wait(0.01):
            name = None
            try:
                name = pointer.current_name(self._data)
                if name:
                    self._verify(self._data / name)
            except (ShardError, OSError) as error:
                # After two more generations the folder may be removed although CURRENT named it when it was read.
                if name is None or pointer.current_name(self._data) == name:
                    self.faults.append(str(error))

    def _verify(self, folder: Path) -> None:
        """Verify every byte of a generation under a read lock; count the reading, and add a new name to `verified`."""
        reading = ReadLock(folder)
        try:
            generation_files.verify_digests(folder, generation_files.read_manifest(folder))
        finally:
            reading.end()
        self.reads += 1
        if folder.name not in self.verified[-1:]:
            self.verified.append(folder.name)


def test_a_mirror_shows_whole_generations_only_and_ends_on_the_newest(tmp_path: Path) -> None:
    chance = random.Random(7)
    origin = Origin(tmp_path / "source", seed=7, faulty=FAULTY)
    data, log = tmp_path / "mirror", tmp_path / "log"
    builder = Builder(origin.root, chance)
    names = [builder.publish(0)]
    whole_bytes = 0  # the bytes of complete copies of all generations
    with serve(origin) as source, Watch(data) as watch:
        mirror = Mirror(source, data, log)
        try:
            for number in range(1, ROUNDS + 1):
                if chance.random() < KILLED:
                    origin.alarm = (origin.sent + chance.randrange(400_000), mirror.kill)
                if number == ROUNDS:  # so that no kill comes after the last round
                    origin.alarm = None
                _wait_for(partial(_publishes, data, names[-1]), mirror, names[-1])
                whole_bytes += generation_files.read_manifest(data / names[-1]).size
                if number < ROUNDS:
                    names.append(builder.publish(number))
            origin.faulty = 0.0
            _wait_for(lambda: not (data / ".mirror").exists(), mirror, "cleaned up")
        finally:
            status = mirror.stop()

    assert status == 0
    assert watch.faults == []
    assert set(watch.verified) <= set(names)
    output = log.read_text()
    resumed_rounds, damaged_rounds = output.count("resumed"), output.count("damaged in transit")
    print(  # noqa: T201 - the figures of tests/proof/README.md
        f"{ROUNDS} rounds, {mirror.kills} kills, {origin.requests} requests, "
        f"{sum(origin.fault_counts.values()) - origin.fault_counts['']} faults {dict(origin.fault_counts)}; "
        f"{watch.reads} reads; {origin.sent:,} bytes sent, "
        f"{whole_bytes:,} in the generations; {resumed_rounds} rounds resumed, "
        f"{damaged_rounds} had files damaged in transit"
    )
    assert resumed_rounds > 0
    assert damaged_rounds > 0
    assert origin.sent < whole_bytes  # unchanged files are not sent again


def _publishes(data: Path, generation: str) -> bool:
    """Whether the mirror has published a generation."""
    return pointer.current_name(data) == generation


def _wait_for(is_true: Callable[[], bool], mirror: Mirror, goal: str) -> None:
    """Wait until `is_true` returns True; start the mirror again after each kill."""
    deadline = time.monotonic() + ROUND_SECONDS
    while not is_true():
        assert time.monotonic() < deadline, f"{goal}: not in {ROUND_SECONDS:g} s"
        mirror.keep_up()
        time.sleep(0.01)


@dataclass
class Builder:
    """A publisher of generations: each differs from the previous one in a country and in a long file,
    so that the transfer can be cut; the largest country stays the same."""

    data: Path
    chance: random.Random

    def publish(self, number: int) -> str:
        """Publish a generation, in which only the Estonian companies depend on `number`; return its name."""
        staged = publication.make_staging_folder(self.data)
        companies = [company("UK", str(n), f"Royal Tool Control {n} Ltd") for n in range(1_500)]
        companies += [company("EE", str(n), f"Ännchen {number} {n}") for n in range(20)]
        for iso2 in world.COUNTRIES:
            self._add_shard(staged / generation_files.shard_name(iso2), iso2, companies)
        lists = references.dump(world.reference(companies))
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

    def _add_shard(self, path: Path, iso2: str, companies: list[Company]) -> None:
        """Write the shard of Estonia; link all other shards to those of the previous generation."""
        current = pointer.current_name(self.data)
        if current and iso2 != "EE":
            os.link(self.data / current / path.name, path)
        else:
            world.write_shard(path, iso2, companies)
