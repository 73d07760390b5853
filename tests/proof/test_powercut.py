"""Power cuts: no acknowledged charge is lost, and the store opens."""

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from quota.store.lmdb_store import FILE
from tests import ROOT
from tests.proof import powercut
from tests.proof.powercut import Ack, Disk, Event, Named
from tests.proof.tools import need, next_line
from tests.proof.writer import ACCOUNTS, COST, account_of

pytestmark = pytest.mark.slow

COMPANIES = 400
IMAGES = 2_000


class Verdicts(NamedTuple):
    """Images that lost an acknowledged charge, and images that did not open or add up."""

    lost: int
    damaged: int


def test_no_acknowledged_charge_is_lost_and_no_file_is_damaged(tmp_path: Path) -> None:
    recorded = _record(tmp_path)

    assert _judge(recorded, tmp_path, IMAGES) == Verdicts(lost=0, damaged=0)


def test_a_store_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    """Before its link there is no file; after it every image is a store."""
    recorded = _record(tmp_path)
    name = recorded.index(Named())
    chance, disk = random.Random(1), Disk()
    for event in recorded[:name]:
        disk.apply(event)

    with _checker() as check:
        contents = [check(_image(tmp_path / "image", disk.cut(chance))) for _ in range(50)]

    assert contents == [{"calls": [0, 0, 0], "credits": [0, 0, 0]}] * 50


def test_the_same_cuts_condemn_a_store_that_does_not_sync(tmp_path: Path) -> None:
    recorded = _record(tmp_path, "--no-sync")

    verdicts = _judge(recorded, tmp_path, 200)

    assert verdicts.lost + verdicts.damaged > 100


def _record(tmp_path: Path, *options: str) -> list[Event]:
    """The events of a writer's store."""
    strace = need("strace", "strace")
    state, log = tmp_path / "state", tmp_path / "strace.log"
    command = [
        sys.executable,
        "-m",
        "tests.proof.writer",
        str(state),
        "7",
        str(COMPANIES),
        *options,
    ]
    done = subprocess.run(
        [strace, *powercut.ARGUMENTS, "-o", str(log), *command],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    recorded = powercut.events(log, state / FILE)
    assert sum(isinstance(event, Ack) for event in recorded) == COMPANIES
    _replay(recorded, state / FILE)
    return recorded


def _replay(recorded: list[Event], file: Path) -> None:
    """Without a cut the model must give the very file, or it proves nothing."""
    disk = Disk()
    for event in [*recorded, powercut.Sync()]:
        disk.apply(event)

    assert bytes(disk.content) == file.read_bytes()


def _judge(recorded: list[Event], tmp_path: Path, images: int) -> Verdicts:
    """Cut the power `images` times, at random moments, and check each image."""
    chance = random.Random(2026)
    moments = Counter(chance.randrange(1, len(recorded)) for _ in range(images))
    disk, acked, lost, damaged, named = Disk(), Counter[str](), 0, 0, False
    with _checker() as check:
        for moment, event in enumerate(recorded):
            named = named or isinstance(event, Named)
            for _ in range(moments[moment] if named else 0):
                contents = check(_image(tmp_path / "image", disk.cut(chance, event)))
                if contents is None or not _adds_up(contents):
                    damaged += 1
                elif any(n < acked[a] for a, n in zip(ACCOUNTS, contents["calls"], strict=True)):
                    lost += 1
            disk.apply(event)
            if isinstance(event, Ack):
                acked[account_of(int(event.text.split()[1]))] += 1
    return Verdicts(lost, damaged)


def _adds_up(contents: dict[str, list[int]]) -> bool:
    """True if calls and credits agree: each call charged one company, in one transaction."""
    return "damage" not in contents and contents["credits"] == [COST * n for n in contents["calls"]]


def _image(folder: Path, content: bytes) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / FILE).write_bytes(content)
    return folder


@contextmanager
def _checker() -> Iterator["Checker"]:
    check = Checker()
    try:
        yield check
    finally:
        check.stop()


class Checker:
    """The checker process, started again when a damaged file has killed it."""

    def __init__(self) -> None:
        self._process = self._start()

    def __call__(self, folder: Path) -> dict[str, list[int]] | None:
        assert self._process.stdin
        self._process.stdin.write(f"{folder}\n")
        self._process.stdin.flush()
        answer = next_line(self._process, 60)
        if not answer:
            self.stop()
            self._process = self._start()
            return None
        contents: dict[str, list[int]] = json.loads(answer)
        return contents

    def stop(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.proof.checker"], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
