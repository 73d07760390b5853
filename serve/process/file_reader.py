"""A program that reads files into memory and compares them, at the lowest priority, in a process of its own.

In the server, a reading thread would take Python's lock thousands of times, and a thread of low priority would hold the
lock while others have the processor. This process shares only two pipes with the server. It imports no module of the
server, so it starts in a few hundredths of a second.

stdin has the request, a line of JSON. stdin closes when the server ends; then this process ends too.

    turn    a file to lock: of several processes, the one with the lock reads
    each    whether the others wait for their turn; if not, they end once the reading process is ready
    ranges  [path, start, stop]: parts of files to read into memory first, in this order
    files   path: BLAKE3 in hexadecimal, for each file to compare after that
    keep    whether compared files stay in memory too

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

_PIECE_BYTES: Final = 4 << 20  # bytes that are read at once
_WAIT_S: Final = 0.05  # seconds between two attempts to get the lock
_LOWEST: Final = 19  # the nice value of the lowest priority
# ioprio_set(2): the number of the system call by machine, the target "this process", the class "idle".
_IOPRIO_SET: Final = {"x86_64": 251, "aarch64": 30}
_THIS_PROCESS: Final = 1
_IDLE: Final = 3 << 13

_Range = tuple[str, int, int]  # the path of a file, the first byte, the end


def main() -> int:
    """Read and compare the files of the request on stdin; return 1 if a file cannot be read, else 0."""
    _lower_priority()
    request: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    try:
        _read_and_compare(request)
    except OSError as error:
        _send_message(fault=str(error))
        return 1
    return 0


def _read_and_compare(request: Mapping[str, Any]) -> None:
    """Wait for the lock, read the ranges into memory, and compare the files with their digests. Raises OSError.

    Without `each`, nothing is read if another process has read the ranges meanwhile.
    """
    ranges: list[_Range] = [(path, start, stop) for path, start, stop in request["ranges"]]
    lock_file = os.open(request["turn"], os.O_RDONLY)
    if not _has_turn(lock_file, all_read=request["each"]):
        _send_message(ready=0)
        return
    _send_message(ready=sum(len(piece) for range_ in ranges for _, piece in _pieces(*range_)))
    if not request["each"]:
        # With the shared lock, the waiting processes see that the ranges are in memory, and end.
        fcntl.flock(lock_file, fcntl.LOCK_SH)
    compared_bytes = 0
    for path, digest in request["files"].items():
        # The ranges of this file that stay in memory even without `keep`.
        kept_ranges = [range_ for range_ in ranges if range_[0] == path]
        hasher = blake3()
        for position, piece in _pieces(path, 0, None):
            hasher.update(piece)
            compared_bytes += len(piece)
            if not request["keep"] and not _overlaps(kept_ranges, position, position + len(piece)):
                _drop_from_memory(path, position, len(piece))
        if hasher.hexdigest() != digest:
            _send_message(damaged=path)
    _send_message(compared=compared_bytes)


def _has_turn(lock_file: int, *, all_read: bool) -> bool:
    """Wait for the lock; True if this process must read, False if another process has read the ranges.

    If `all_read`, each process reads when it gets the lock, so the result is always True.
    """
    # The reading process has an exclusive lock, and a shared lock once its ranges are in memory. So a process that gets
    # a shared lock need not read.
    while True:
        for kind in (fcntl.LOCK_EX,) if all_read else (fcntl.LOCK_EX, fcntl.LOCK_SH):
            with suppress(BlockingIOError):
                fcntl.flock(lock_file, kind | fcntl.LOCK_NB)
                return kind == fcntl.LOCK_EX
        _end_with_server(_WAIT_S)


def _pieces(path: str, start: int, stop: int | None) -> Iterator[tuple[int, memoryview]]:
    """The pieces of a file from byte `start` to `stop` (None: to its end), each with its position in the file.

    Each piece overwrites the memory of the previous one, so the caller must use it before it takes the next.
    """
    buffer = memoryview(bytearray(_PIECE_BYTES))
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # With SEQUENTIAL the kernel reads further ahead; WILLNEED would put its reads before those of other processes.
        os.posix_fadvise(file, start, 0, os.POSIX_FADV_SEQUENTIAL)
        while stop is None or start < stop:
            _end_with_server()
            size = _PIECE_BYTES if stop is None else min(_PIECE_BYTES, stop - start)
            size_read = os.preadv(file, [buffer[:size]], start)
            if not size_read:
                return
            yield start, buffer[:size_read]
            start += size_read
    finally:
        os.close(file)


def _overlaps(ranges: Iterable[_Range], start: int, stop: int) -> bool:
    """Whether one of these ranges of the same file has bytes from `start` to `stop`."""
    return any(first < stop and start < last for _, first, last in ranges)


def _drop_from_memory(path: str, start: int, size: int) -> None:
    """Let the system drop a part of a file from memory."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    os.posix_fadvise(file, start, size, os.POSIX_FADV_DONTNEED)
    os.close(file)


def _end_with_server(seconds: float = 0) -> None:
    """Wait `seconds`, and end this process if stdin is readable: the server has closed it."""
    if select.select([sys.stdin], [], [], seconds)[0]:
        raise SystemExit(1)


def _send_message(**message: object) -> None:
    """Write a message as a line of JSON to stdout."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _lower_priority() -> None:
    """Give this process the lowest priority for the processor, and on Linux for the disk."""
    os.nice(_LOWEST)
    number = _IOPRIO_SET.get(platform.machine())
    if sys.platform == "linux" and number is not None:
        ctypes.CDLL(None).syscall(number, _THIS_PROCESS, 0, _IDLE)


if __name__ == "__main__":
    raise SystemExit(main())
