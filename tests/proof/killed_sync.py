"""The program that ends rounds of a mirror at every step, by SIGKILL or by a failing system call.

A step is a byte count of what the source has sent, or the n-th time that the round opens, renames, links,
makes or removes something below DATA (audit events of CPython). A child process, forked for each step,
runs the round on a copy of a mirror that has generation A while the source has B. A kill is therefore one
that hit: the child ends by it. The parent then checks that what is published is A or B, whole, and runs
the round again to its end. `python -m tests.proof.killed_sync FOLDER STRIDE` prints one line of JSON:
steps by kind, and faults. FOLDER has `source/` and `mirror/`; with STRIDE 1 every byte is a step.
"""

import errno
import json
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from shards.errors import ShardError
from shards.generations import generation_files, pointer
from shards.mirror.blobs import Downloader
from shards.mirror.mirror import BLOBS, MirrorOptions, mirror
from shards.mirror.source import Body, MirrorSource
from shards.mirror.source_kinds import Folder

EVENTS: Final = frozenset(
    {"open", "os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"}
)
_DONE, _FAILED, _OTHER = 0, 3, 4

# The hook of this process: an audit hook cannot be removed, so there is one, which a child sets.
_on_event: list[Callable[[], None]] = []


class Cut:
    """A folder as a source that calls `at_end` when it has sent so many bytes."""

    name = "cut"

    def __init__(self, folder: Path, sent: int, at_end: Callable[[], None]) -> None:
        self._folder = Folder(folder)
        self._left = sent
        self._at_end = at_end
        self.sent = 0

    @asynccontextmanager
    async def open(self, path: str, start: int = 0) -> AsyncIterator[Body]:
        async with self._folder.open(path, start) as body:
            yield Body(body.start, self._pieces(body.pieces))

    async def _pieces(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for piece in pieces:
            self.sent += len(piece)
            if len(piece) > self._left:
                yield piece[: self._left]  # the client has written these when it asks for more
                self._at_end()
            self._left -= len(piece)
            yield piece


def main(folder: Path, stride: int) -> None:
    """Try all steps and print what was found."""
    sys.addaudithook(_hook)
    source, before, data = folder / "source", folder / "mirror", folder / "data"
    names = {str(pointer.current_name(before)), str(pointer.current_name(source))}
    total, events = _measured(source, before, data)
    steps = [("byte", number) for number in range(0, total, stride)]
    steps += [(kind, number) for kind in ("event", "error") for number in range(events)]
    found: Counter[str] = Counter()
    faults = []
    for kind, number in steps:
        _copy(before, data)
        status = _in_child(lambda: _round(source, data, kind, number))  # noqa: B023 - runs at once
        found[f"{kind} {_ended(status)}"] += 1
        if fault := _fault(data, source, names):
            faults.append(f"{kind} {number}: {fault}")
    shutil.rmtree(data)
    print(json.dumps({"bytes": total, "events": events, "ends": found, "faults": faults}))  # noqa: T201


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if _on_event and event in EVENTS and any("/data/" in str(one) for one in arguments):
        _on_event[0]()


def _measured(source: Path, before: Path, data: Path) -> tuple[int, int]:
    """The bytes that a whole round receives, and its events."""
    _copy(before, data)
    number = Counter[str]()
    _on_event.append(lambda: number.update(["event"]))
    cut = Cut(source, sys.maxsize, lambda: None)
    mirror(_eager(cut), data, MirrorOptions())
    _on_event.clear()
    return cut.sent, number["event"]


def _round(source: Path, data: Path, kind: str, number: int) -> None:
    """A round that ends at a step. In the child."""
    left = [number]

    def step() -> None:
        left[0] -= 1
        if left[0] < 0 and kind == "event":
            _die()
        if left[0] == -1:
            raise OSError(errno.ENOSPC, "No space left on device (injected)")

    if kind != "byte":
        _on_event.append(step)
    mirror(
        _eager(Cut(source, number if kind == "byte" else sys.maxsize, _die)),
        data,
        MirrorOptions(),
    )


def _in_child(run: Callable[[], None]) -> int:
    """Run a function in a process of its own; its status, as `waitpid` gives it."""
    pid = os.fork()
    if not pid:
        status = _DONE
        try:
            run()
        except (ShardError, OSError):
            status = _FAILED
        except BaseException:  # noqa: BLE001 - any other end is a crash, which the test counts
            status = _OTHER
        os._exit(status)
    return os.waitpid(pid, 0)[1]


def _ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return {_DONE: "done", _FAILED: "failed"}.get(os.WEXITSTATUS(status), "crashed")


def _fault(data: Path, source: Path, names: set[str]) -> str:
    """What is wrong after a round that was ended, "" if nothing is."""
    try:
        name = str(pointer.current_name(data))
        if name not in names:
            return f"{name} is published"
        generation_files.verify_digests(data / name, generation_files.read_manifest(data / name))
        mirror(_eager(Folder(source)), data, MirrorOptions())
        if pointer.current_name(data) != pointer.current_name(source):
            return "the next round did not publish what the source has"
        left = [
            path.name
            for path in data.iterdir()
            if path.name == BLOBS or path.name.startswith(".partial")
        ]
        return f"{left} were left" if left else ""
    except (ShardError, OSError) as error:
        return repr(error)


def _copy(before: Path, data: Path) -> None:
    if data.exists():
        shutil.rmtree(data)
    shutil.copytree(before, data)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _eager(source: MirrorSource) -> Downloader:
    return Downloader(source, chance=lambda: 0.0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
