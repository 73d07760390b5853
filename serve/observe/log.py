"""The log: one JSON object per line on stderr (contract G11).

Each request has one line, written after its response was sent. No line ever contains a key: every
line passes `redact`, and the values of unknown parameters are left out, since one may be a key put
into the URL by mistake (A5, serve/http/connection.py). Addresses are cut to /24 or /48
(serve/request/client_address.py).

Lines are written without ever waiting for their reader: a log that cannot be written must not stop the server, nor fill
its memory. What a full disk, a closed pipe or a reader that is stuck does not take is held, up to `LIMIT` bytes, and
tried again; further lines are dropped, counted, and the count is written as soon as there is room. A regular file on a
disk that hangs is the exception: the system has no write to a file that does not wait for the disk.
"""

import asyncio
import logging
import os
import socket
import stat
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from time import monotonic, perf_counter, sleep
from typing import Any, Final

import orjson

from serve.contract.secret_mask import redact

# Up to this size other processes cannot write into the middle of a write to a pipe (POSIX, PIPE_BUF).
_PAGE: Final = 4_096
LIMIT: Final = 1 << 20  # bytes that wait: some 3 000 requests
RETRY_SECONDS: Final = 0.1
_END_SECONDS: Final = 1.0

_NEVER_WAITING: Final = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_AS_A_LINE: Final = orjson.OPT_APPEND_NEWLINE


@dataclass(slots=True)
class RequestTrace:
    """The facts of one request for its line, as far as they are known; each step of serve/http adds to them."""

    request_id: str
    path: str
    route: str | None = None
    plan: str | None = None
    generation: str | None = None
    pairs: Sequence[tuple[str, str]] = ()
    address: str | None = None  # of the caller, behind trusted proxies
    account: str | None = None
    tool: str | None = None  # the MCP tool that was called; never its arguments
    # The result of counting: taken, charged, already, free, or the code of a refusal.
    quota: str = ""
    # The network whose place the request has, and since when (serve/access/loop_guard.py).
    lane: str | None = None
    entered: float = 0.0
    # aiohttp would measure with the clock of uvloop, which counts whole milliseconds.
    started: float = field(default_factory=perf_counter)

    @property
    def seconds(self) -> float:
        """Seconds since the request began."""
        return perf_counter() - self.started


def line(level: str, event: str, fields: Mapping[str, Any]) -> bytes:
    """A line of the log, with its line end."""
    document = {"time": datetime.now(UTC), "level": level, "event": event, **fields}
    try:
        text = orjson.dumps(document, option=_AS_A_LINE)
    except TypeError:
        # Undecodable bytes of a request arrive here as lone surrogates, which JSON cannot contain.
        text = orjson.dumps(_clean(document), option=_AS_A_LINE)
    lower = text.lower()
    # Most lines contain none, and a few substring searches are ten times as fast as the pattern.
    if b"%" in lower or b"soc_" in lower or b"bearer" in lower:
        return redact(text.decode()).encode()
    return text


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(key): _clean(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_clean(part) for part in value]
    return value


class LogWriter:
    """A writer of whole lines, in order; any thread may use it.

    Each write holds whole lines, one page together at most. A killed process loses the lines of its
    last turn of the event loop; a stopped one loses those that nobody takes within a second.

    Attributes:
        on_loss: called for each line that is dropped.
    """

    def __init__(self, descriptor: int, notice: Callable[[int], bytes]) -> None:
        """Write to `descriptor`; `notice` makes the line that says how many were dropped."""
        self._descriptor = descriptor
        self._notice = notice
        self.on_loss: Callable[[], None] | None = None
        self._opened = ExitStack()
        self._send: Callable[[bytes], int] | None = None
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._dropped = 0  # since the last notice
        self._scheduled = False
        self._lock = Lock()

    def write_soon(self, line: bytes) -> None:
        """Write `line` at the end of this turn of the event loop, with the others of the turn."""
        self._append(line)
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def write(self, text: str) -> None:
        """Write a line before returning, if it is taken; `logging` calls this, and `flush`."""
        self._append(text.encode())
        self.flush()

    def flush(self) -> bool:
        """Write what waits; whether all of it was taken."""
        with self._lock:
            try:
                self._flush()
            except OSError:  # full, closed or stuck: the lines stay where they are
                return False
            return not self._lines

    def end(self) -> None:
        """Write what waits, and close what was opened; after a second without success it is lost."""
        deadline = monotonic() + _END_SECONDS
        while not self.flush() and monotonic() < deadline:
            sleep(RETRY_SECONDS)
        with self._lock:
            self._send = None
            self._opened.close()

    def _append(self, line: bytes) -> None:
        with self._lock:
            if self._size + len(line) > LIMIT:
                self._dropped += 1
                if self.on_loss:
                    self.on_loss()
                return
            if self._dropped:
                notice = self._notice(self._dropped)
                self._dropped = 0
                self._lines.append(notice)
                self._size += len(notice)
            self._lines.append(line)
            self._size += len(line)

    def _turn(self) -> None:
        self._scheduled = not self.flush()
        if self._scheduled:
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self._turn)

    def _flush(self) -> None:
        lines = self._lines
        while lines:
            if self._send is None:
                self._send = _sender(self._descriptor, self._opened)
            page, count = lines[0], 1
            while count < len(lines) and len(page) + len(lines[count]) <= _PAGE:
                page += lines[count]
                count += 1
            self._remove_written(count, page, self._send(page))

    def _remove_written(self, count: int, page: bytes, written: int) -> None:
        """Remove the first `count` lines, a page of which the first bytes were written."""
        for _ in range(count):
            self._lines.popleft()
        self._size -= written
        if written < len(page):
            self._lines.appendleft(page[written:])


def _sender(descriptor: int, opened: ExitStack) -> Callable[[bytes], int]:
    """A function that writes to a descriptor without waiting, and returns how many bytes it wrote.

    The mode of `descriptor` stays: it belongs to every process that shares it, and to the terminal.

    Args:
        opened: closes what the function needs open.

    Raises:
        OSError: a pipe that nobody reads.
    """
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(kind):  # the journal of systemd
        stream = opened.enter_context(socket.socket(fileno=os.dup(descriptor)))
        return lambda page: stream.send(page, socket.MSG_DONTWAIT)
    if not stat.S_ISREG(kind):
        # Without /proc, or on the terminal of another user, writes may wait.
        with suppress(FileNotFoundError, PermissionError):
            descriptor = os.open(f"/proc/self/fd/{descriptor}", _NEVER_WAITING)
            opened.callback(os.close, descriptor)
    return lambda page: os.write(descriptor, page)


def _notice(lines: int) -> bytes:
    return line("warning", "log lines were lost", {"lines": lines})


# The one writer of a process.
stderr: Final = LogWriter(2, _notice)


class JsonLines(logging.Formatter):
    """Formats a log record as a line of JSON; `extra={"fields": …}` adds keys."""

    def format(self, record: logging.LogRecord) -> str:
        fields = dict(getattr(record, "fields", {}))
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return line(record.levelname.lower(), record.getMessage(), fields).decode().rstrip("\n")


def set_up() -> None:
    """Send every log line of this process to stderr as JSON."""
    handler = logging.StreamHandler(stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
