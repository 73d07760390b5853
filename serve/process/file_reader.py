"""The program that reads files once and compares them, at the lowest priority: a process of its own.

A thread of a server that reads gigabytes takes Python's lock thousands of times, and a thread of low priority that has
it keeps it while others have the processor. This process shares nothing with the server but two pipes. It imports no
module of the server, so that it starts in a few hundredths of a second.

stdin has the request, a line of JSON, and ends when the server does, and this process with it:

    turn    a file: of several processes, the one that locks it reads
    each    whether the others wait for their turn; if not, they end once that one is ready
    ranges  [path, start, stop]: parts of files to bring into memory first, in this order
    files   path: BLAKE3 in hexadecimal, of each file that is compared then
    keep    whether what is compared stays in memory as well

stdout has lines of JSON: `{"ready": bytes}` once the ranges are in memory, `{"damaged": path}` for a file with another
digest, `{"compared": bytes}` at the end, `{"fault": text}` if a file cannot be read.
"""

import ctypes
import fcntl
import json
import os
import platform
import select
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from blake3 import blake3

_PIECE: Final = 4 << 20
_WAIT_S: Final = 0.05
_LOWEST: Final = 19
# ioprio_set(2): its number by machine, the target "this process", the class "idle".
_CALLS: Final = {"x86_64": 251, "aarch64": 30}
_THIS_PROCESS: Final = 1
_IDLE: Final = 3 << 13

_Range = tuple[str, int, int]


def main() -> int:
    """Answer the request on stdin; 0, or 1 if a file cannot be read."""
    _lower_priority()
    request: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    try:
        _answer(request)
    except OSError as error:
        _tell(fault=str(error))
        return 1
    return 0


def _answer(request: Mapping[str, Any]) -> None:
    ranges: list[_Range] = [(path, start, stop) for path, start, stop in request["ranges"]]
    turn = os.open(request["turn"], os.O_RDONLY)
    if not _has_turn(turn, each=request["each"]):
        _tell(ready=0)
        return
    _tell(ready=sum(len(piece) for one in ranges for _, piece in _pieces(*one)))
    if not request["each"]:
        fcntl.flock(turn, fcntl.LOCK_SH)
    compared = 0
    for path, digest in request["files"].items():
        kept = [one for one in ranges if one[0] == path]
        found = blake3()
        for place, piece in _pieces(path, 0, None):
            found.update(piece)
            compared += len(piece)
            if not request["keep"] and not _overlaps(kept, place, place + len(piece)):
                _drop(path, place, len(piece))
        if found.hexdigest() != digest:
            _tell(damaged=path)
    _tell(compared=compared)


def _has_turn(turn: int, *, each: bool) -> bool:
    """Whether this process is to read, once it may; False once another one that does is ready, unless each reads."""
    while True:
        for kind in (fcntl.LOCK_EX,) if each else (fcntl.LOCK_EX, fcntl.LOCK_SH):
            with suppress(BlockingIOError):
                fcntl.flock(turn, kind | fcntl.LOCK_NB)
                return kind == fcntl.LOCK_EX
        _end_with_server(_WAIT_S)


def _pieces(path: str, start: int, stop: int | None) -> Iterator[tuple[int, memoryview]]:
    """The places and contents of a part of a file; each piece is in the memory of the one before."""
    buffer = memoryview(bytearray(_PIECE))
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # With SEQUENTIAL the kernel reads further ahead; WILLNEED would queue before other reads.
        os.posix_fadvise(file, start, 0, os.POSIX_FADV_SEQUENTIAL)
        while stop is None or start < stop:
            _end_with_server()
            wanted = _PIECE if stop is None else min(_PIECE, stop - start)
            read = os.preadv(file, [buffer[:wanted]], start)
            if not read:
                return
            yield start, buffer[:read]
            start += read
    finally:
        os.close(file)


def _overlaps(ranges: Iterable[_Range], start: int, stop: int) -> bool:
    return any(first < stop and start < last for _, first, last in ranges)


def _drop(path: str, start: int, size: int) -> None:
    """Let the system drop a part of a file from memory."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    os.posix_fadvise(file, start, size, os.POSIX_FADV_DONTNEED)
    os.close(file)


def _end_with_server(seconds: float = 0) -> None:
    """Wait, and end this process if the server has ended: then stdin can be read to its end."""
    if select.select([sys.stdin], [], [], seconds)[0]:
        raise SystemExit(1)


def _tell(**message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _lower_priority() -> None:
    os.nice(_LOWEST)
    number = _CALLS.get(platform.machine())
    if sys.platform == "linux" and number is not None:
        ctypes.CDLL(None).syscall(number, _THIS_PROCESS, 0, _IDLE)


if __name__ == "__main__":
    raise SystemExit(main())
