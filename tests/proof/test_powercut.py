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
from tests.proof.powercut import Ack, Disk, Event, Link
from tests.proof.tools import need, next_line
from tests.proof.writer import ACCOUNTS, COST, account_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]

COMPANIES = 400  # companies that the writer charges
IMAGES = 2_000  # power cuts, each of which gives an image of the file


class Verdicts(NamedTuple):
    """The number of images that lost an acknowledged charge, and that did not open or did not add up."""

    lost: int
    damaged: int


def test_no_acknowledged_charge_is_lost_and_no_file_is_damaged(tmp_path: Path) -> None:
    recorded = _record_events(tmp_path)

    assert _count_verdicts(recorded, tmp_path, IMAGES) == Verdicts(lost=0, damaged=0)


def test_a_store_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    """Just before the link, when the file has only its `.partial` name, each image of a power cut is an empty store"""
    events = _record_events(tmp_path)
    link_place = events.index(Link())
    chance, disk = random.Random(1), Disk()
    for event in events[:link_place]:
        disk.apply(event)

    with _checker() as read_image:
        contents = [
            read_image(_write_image(tmp_path / "image", disk.cut(chance))) for _ in range(50)
        ]

    assert contents == [{"calls": [0, 0, 0], "credits": [0, 0, 0]}] * 50


def test_the_same_cuts_break_a_store_that_does_not_sync(tmp_path: Path) -> None:
    recorded = _record_events(tmp_path, "--no-sync")

    verdicts = _count_verdicts(recorded, tmp_path, 200)

    assert verdicts.lost + verdicts.damaged > 100  # of 200 images


def _record_events(tmp_path: Path, *options: str) -> list[Event]:
    """Run a writer under strace until it has charged COMPANIES; return the events of its store."""
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
    process = subprocess.run(
        [strace, *powercut.ARGUMENTS, "-o", str(log), *command],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    recorded = powercut.events(log, state / FILE)
    assert sum(isinstance(event, Ack) for event in recorded) == COMPANIES
    _check_model(recorded, state / FILE)
    return recorded


def _check_model(recorded: list[Event], file: Path) -> None:
    """Check the model: without a cut it must give exactly the file."""
    disk = Disk()
    for event in [*recorded, powercut.Sync()]:
        disk.apply(event)

    assert bytes(disk.content) == file.read_bytes()


def _count_verdicts(events: list[Event], tmp_path: Path, images: int) -> Verdicts:
    """Cut the power `images` times, at random events, and check each image.

    A cut before the link is not counted, because the file then has no name. An image has lost a charge if an account
    has fewer calls than were acknowledged before the cut.
    """
    chance = random.Random(2026)
    images_by_event = Counter(chance.randrange(1, len(events)) for _ in range(images))
    disk, acknowledged_calls, lost, damaged, has_name = Disk(), Counter[str](), 0, 0, False
    with _checker() as read_image:
        for number, event in enumerate(events):
            has_name = has_name or isinstance(event, Link)
            for _ in range(images_by_event[number] if has_name else 0):
                contents = read_image(_write_image(tmp_path / "image", disk.cut(chance, event)))
                if contents is None or not _adds_up(contents):
                    damaged += 1
                elif any(
                    n < acknowledged_calls[account]
                    for account, n in zip(ACCOUNTS, contents["calls"], strict=True)
                ):
                    lost += 1
            disk.apply(event)
            if isinstance(event, Ack):
                acknowledged_calls[account_of(int(event.text.split()[1]))] += 1
    return Verdicts(lost, damaged)


def _adds_up(contents: dict[str, list[int]]) -> bool:
    """True if calls and credits agree: each call charged one company, in one transaction."""
    return "damage" not in contents and contents["credits"] == [COST * n for n in contents["calls"]]


def _write_image(folder: Path, content: bytes) -> Path:
    """A new STATE folder with a store of this content."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / FILE).write_bytes(content)
    return folder


@contextmanager
def _checker() -> Iterator["Checker"]:
    """A checker process, which is stopped at the end."""
    check = Checker()
    try:
        yield check
    finally:
        check.stop()


class Checker:
    """The checker process, started again if a damaged file has killed it."""

    def __init__(self) -> None:
        self._process = self._start()

    def __call__(self, folder: Path) -> dict[str, list[int]] | None:
        """The contents of the store of a folder; None if its file crashed the process."""
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
        """End the process and wait for it."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=120)
        self._process.stdout.close()

    def _start(self) -> subprocess.Popen[str]:
        """Start a checker process."""
        return subprocess.Popen(
            [sys.executable, "-m", "tests.proof.checker"], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
