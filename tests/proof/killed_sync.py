"""A program that ends rounds of a mirror at every step, by SIGKILL or by a failing system call.

A step is a number of bytes that the source has sent, or the n-th time that the round opens, renames, links, creates or
removes something below DATA (audit events of CPython). The mirror has generation A, the source has B. For each step a
forked child runs the round on a copy of the mirror, so each kill ends a running round. The parent then checks that A or
B is published and whole, and runs the round again to its end. `python -m tests.proof.killed_sync FOLDER STRIDE` prints
a line of JSON: ends by kind of step, and faults. FOLDER has `source/` and `mirror/`; with STRIDE 1 every byte is a
step.
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

# The audit events that are steps.
EVENTS: Final = frozenset(
    {"open", "os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"}
)
_DONE, _FAILED, _OTHER = 0, 3, 4  # exit codes of a child: success, an expected error, a crash

# The function that the audit hook calls, if any. An audit hook cannot be removed, so there is one; a child sets this.
_on_event: list[Callable[[], None]] = []


class CutSource:
    """A folder as a source that calls `at_end` once it has sent `most_bytes` bytes; `sent` counts its bytes."""

    name = "cut"

    def __init__(self, folder: Path, most_bytes: int, at_end: Callable[[], None]) -> None:
        self._folder = Folder(folder)
        self._bytes_left = most_bytes
        self._at_end = at_end
        self.sent = 0

    @asynccontextmanager
    async def open(self, path: str, start: int = 0) -> AsyncIterator[Body]:
        """Open a file of the folder; its pieces count towards `sent`."""
        async with self._folder.open(path, start) as body:
            yield Body(body.start, self._pieces(body.pieces))

    async def _pieces(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Pass the pieces on; end the round in the piece that exceeds the limit."""
        async for piece in pieces:
            self.sent += len(piece)
            if len(piece) > self._bytes_left:
                # The mirror has written these bytes when it requests more.
                yield piece[: self._bytes_left]
                self._at_end()
            self._bytes_left -= len(piece)
            yield piece


def main(folder: Path, stride: int) -> None:
    """End a round of the mirror once at each step, and print how the rounds ended and the faults that they left.

    A step is every `stride`-th received byte, where the process dies, and every event below DATA, where it dies
    ("event") or gets an error of a full disk ("error").
    """
    sys.addaudithook(_audit_hook)
    source, mirror_folder, data = folder / "source", folder / "mirror", folder / "data"
    generations = {str(pointer.current_name(mirror_folder)), str(pointer.current_name(source))}
    byte_count, event_count = _count_steps(source, mirror_folder, data)
    steps = [("byte", number) for number in range(0, byte_count, stride)]
    steps += [(kind, number) for kind in ("event", "error") for number in range(event_count)]
    end_counts: Counter[str] = Counter()
    faults = []
    for kind, number in steps:
        _copy_mirror(mirror_folder, data)
        status = _run_in_child(lambda: _run_round(source, data, kind, number))  # noqa: B023 - runs at once
        end_counts[f"{kind} {_end_name(status)}"] += 1
        if fault := _fault_after_end(data, source, generations):
            faults.append(f"{kind} {number}: {fault}")
    shutil.rmtree(data)
    print(  # noqa: T201
        json.dumps(
            {"bytes": byte_count, "events": event_count, "ends": end_counts, "faults": faults}
        )
    )


def _audit_hook(event: str, arguments: tuple[object, ...]) -> None:
    """Call the function of `_on_event` for an event below DATA."""
    if _on_event and event in EVENTS and any("/data/" in str(argument) for argument in arguments):
        _on_event[0]()


def _count_steps(source: Path, mirror_folder: Path, data: Path) -> tuple[int, int]:
    """The bytes that a complete round receives, and the number of its events."""
    _copy_mirror(mirror_folder, data)
    counter = Counter[str]()
    _on_event.append(lambda: counter.update(["event"]))
    cut = CutSource(source, sys.maxsize, lambda: None)
    mirror(_downloader(cut), data, MirrorOptions())
    _on_event.clear()
    return cut.sent, counter["event"]


def _run_round(source: Path, data: Path, kind: str, number: int) -> None:
    """Run a round of the mirror, in a child process, that ends at the step `number` of its `kind` (`main`)."""
    steps_left = [number]

    def end_at_step() -> None:
        """Count an event below DATA; at the one numbered `number`, die, or fail as on a full disk (kind "error")."""
        steps_left[0] -= 1
        if steps_left[0] < 0 and kind == "event":
            _die()
        if steps_left[0] == -1:  # this call fails, later ones succeed
            raise OSError(errno.ENOSPC, "No space left on device (injected)")

    if kind != "byte":
        _on_event.append(end_at_step)
    mirror(
        _downloader(CutSource(source, number if kind == "byte" else sys.maxsize, _die)),
        data,
        MirrorOptions(),
    )


def _run_in_child(run: Callable[[], None]) -> int:
    """Run a function in a forked process, which may die in it; return the status as `waitpid` gives it."""
    pid = os.fork()
    if not pid:
        status = _DONE
        try:
            run()
        except (ShardError, OSError):
            status = _FAILED
        except BaseException:  # noqa: BLE001 - any other error is a crash, which the test counts
            status = _OTHER
        os._exit(status)
    return os.waitpid(pid, 0)[1]


def _end_name(status: int) -> str:
    """The end of a child: the name of a signal, `done`, `failed` or `crashed`."""
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return {_DONE: "done", _FAILED: "failed"}.get(os.WEXITSTATUS(status), "crashed")


def _fault_after_end(data: Path, source: Path, generations: set[str]) -> str:
    """The fault of a mirror after an interrupted round, or "".

    The published generation must be undamaged, and the next round must publish that of the source and tidy up.
    """
    try:
        name = str(pointer.current_name(data))
        if name not in generations:
            return f"{name} is published"
        generation_files.verify_digests(data / name, generation_files.read_manifest(data / name))
        mirror(_downloader(Folder(source)), data, MirrorOptions())
        if pointer.current_name(data) != pointer.current_name(source):
            return "the next round did not publish the generation of the source"
        left_over = [
            path.name
            for path in data.iterdir()
            if path.name == BLOBS or path.name.startswith(".partial")
        ]
        return f"{left_over} were left" if left_over else ""
    except (ShardError, OSError) as error:
        return repr(error)


def _copy_mirror(mirror_folder: Path, data: Path) -> None:
    """Replace `data` by a copy of the mirror."""
    if data.exists():
        shutil.rmtree(data)
    shutil.copytree(mirror_folder, data)


def _die() -> None:
    """Kill this process, which cannot clean up."""
    os.kill(os.getpid(), signal.SIGKILL)


def _downloader(source: MirrorSource) -> Downloader:
    """A downloader that repeats a failed request without a pause."""
    return Downloader(source, chance=lambda: 0.0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
