"""The log: one JSON object per line on stderr (contract G11).

Each request has one line, written after its response was sent. `redact` masks keys in lines, and the values of unknown
parameters are left out, since a client may put a key into the URL by mistake (A5, serve/http/connection.py). Addresses
are cut to /24 or /48 (serve/request/client_address.py).

Writes do not wait for the reader: a stuck log must neither stop the server nor fill its memory. If the disk is full, or
a pipe is closed or stuck, up to `LIMIT` bytes wait and are retried. Further lines are dropped and counted; the count is
logged as soon as there is room. The exception is a regular file on a disk that hangs: the system cannot write to a file
without waiting for the disk.
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

# The most bytes of lines that are written together: up to this size, other processes cannot write into the middle of a
# write to a pipe (POSIX, PIPE_BUF).
_PAGE_BYTES: Final = 4_096
LIMIT: Final = 1 << 20  # waiting bytes: about 3 000 requests
RETRY_SECONDS: Final = 0.1  # between two attempts to write waiting lines
_END_SECONDS: Final = 1.0  # the longest wait for the last lines, at the end of the process

# For writing without waiting for the reader.
_OPEN_FLAGS: Final = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_WITH_LINE_BREAK: Final = orjson.OPT_APPEND_NEWLINE


@dataclass(slots=True)
class RequestTrace:
    """The fields of a request for its log line; each step of a request sets more of them."""

    request_id: str
    path: str
    route: str | None = None
    plan: str | None = None
    generation: str | None = None
    pairs: Sequence[tuple[str, str]] = ()
    address: str | None = None  # of the caller, as trusted proxies report it
    account: str | None = None
    tool: str | None = None  # the MCP tool that was called; never its arguments
    # The result of counting: taken, charged, already, free, or the code of a refusal.
    quota: str = ""
    # The network whose place the request occupies, and the time (perf_counter) at which the request got the place
    # (serve/access/loop_guard.py).
    lane: str | None = None
    entered: float = 0.0
    # By perf_counter, because the clock of uvloop, which aiohttp would use, has a resolution of a millisecond.
    started: float = field(default_factory=perf_counter)

    @property
    def seconds(self) -> float:
        """Seconds since the request began."""
        return perf_counter() - self.started


def line(level: str, event: str, fields: Mapping[str, Any]) -> bytes:
    """A line of the log as JSON, with its line break; keys and other secrets in it are masked."""
    document = {"time": datetime.now(UTC), "level": level, "event": event, **fields}
    try:
        text = orjson.dumps(document, option=_WITH_LINE_BREAK)
    except TypeError:
        # Undecodable bytes of a request arrive here as lone surrogates, which JSON cannot contain.
        text = orjson.dumps(_replace_surrogates(document), option=_WITH_LINE_BREAK)
    lower = text.lower()
    # Most lines have none of these texts, and substring searches are ten times as fast as the pattern.
    if b"%" in lower or b"soc_" in lower or b"bearer" in lower:
        return redact(text.decode()).encode()
    return text


def _replace_surrogates(value: Any) -> Any:
    """Replace lone surrogates in the texts of a value, at any depth."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_replace_surrogates(part) for part in value]
    return value


class LogWriter:
    """A writer of complete lines, in order; any thread may use it.

    A write has complete lines, up to a page. A killed process loses the lines of its last turn of the event loop; a
    stopped process loses the lines that cannot be written within a second.

    Attributes:
        on_loss: called for each dropped line.
    """

    def __init__(self, descriptor: int, notice: Callable[[int], bytes]) -> None:
        """Write to `descriptor`; `notice` makes the line with the number of dropped lines."""
        self._descriptor = descriptor
        self._notice = notice
        self.on_loss: Callable[[], None] | None = None
        self._descriptors = ExitStack()
        self._send: Callable[[bytes], int] | None = None  # made by `_sender` at the first write
        self._lines: deque[bytes] = deque()
        self._size = 0  # bytes of the waiting lines
        self._dropped = 0  # since the last notice
        self._scheduled = False  # whether `_write_waiting` will run
        self._lock = Lock()

    def write_soon(self, line: bytes) -> None:
        """Write `line` at the end of this turn of the event loop, together with other lines."""
        self._append(line)
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._write_waiting)

    def write(self, text: str) -> None:
        """Write a line now, if possible; `logging` calls this, and `flush`."""
        self._append(text.encode())
        self.flush()

    def flush(self) -> bool:
        """Write the waiting lines; return whether all were written."""
        with self._lock:
            try:
                self._write_all()
            except OSError:  # the stream is full, closed or stuck, so the lines stay in the queue
                return False
            return not self._lines

    def end(self) -> None:
        """Write the waiting lines and close the descriptor; lines that cannot be written within a second are lost."""
        deadline = monotonic() + _END_SECONDS
        while not self.flush() and monotonic() < deadline:
            sleep(RETRY_SECONDS)
        with self._lock:
            self._send = None
            self._descriptors.close()

    def _append(self, line: bytes) -> None:
        """Queue a line, or count it as dropped if the queue is full."""
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

    def _write_waiting(self) -> None:
        """Write the waiting lines, again after RETRY_SECONDS while some cannot be written."""
        self._scheduled = not self.flush()
        if self._scheduled:
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self._write_waiting)

    def _write_all(self) -> None:
        """Write all lines, a page at a time. Raises OSError."""
        lines = self._lines
        while lines:
            if self._send is None:
                self._send = _sender(self._descriptor, self._descriptors)
            page, count = lines[0], 1
            while count < len(lines) and len(page) + len(lines[count]) <= _PAGE_BYTES:
                page += lines[count]
                count += 1
            self._remove_written(count, page, self._send(page))

    def _remove_written(self, count: int, page: bytes, written: int) -> None:
        """Remove the first `count` lines, joined in `page`; put back the bytes after the first `written`."""
        for _ in range(count):
            self._lines.popleft()
        self._size -= written
        if written < len(page):
            self._lines.appendleft(page[written:])


def _sender(descriptor: int, descriptors: ExitStack) -> Callable[[bytes], int]:
    """A function that writes to a descriptor without waiting, and returns the number of written bytes.

    The mode of `descriptor` is not changed: other processes, and the terminal, share it.

    Args:
        descriptors: closes the descriptors that the function needs.

    Raises:
        OSError: a pipe without a reader.
    """
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(kind):  # the journal of systemd
        stream = descriptors.enter_context(socket.socket(fileno=os.dup(descriptor)))
        return lambda page: stream.send(page, socket.MSG_DONTWAIT)
    if not stat.S_ISREG(kind):
        # A file that is opened again has its own mode, in which writes do not wait. Without /proc, or on the terminal
        # of another user, this fails, and writes may wait.
        with suppress(FileNotFoundError, PermissionError):
            descriptor = os.open(f"/proc/self/fd/{descriptor}", _OPEN_FLAGS)
            descriptors.callback(os.close, descriptor)
    return lambda page: os.write(descriptor, page)


def _loss_notice(lines: int) -> bytes:
    """The line about `lines` dropped lines."""
    return line("warning", "log lines were lost", {"lines": lines})


# The writer of this process.
stderr: Final = LogWriter(2, _loss_notice)


class JsonLines(logging.Formatter):
    """Formats a log record as a line of JSON; `extra={"fields": …}` adds keys."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record, without its line break, which `logging` adds."""
        fields = dict(getattr(record, "fields", {}))
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return line(record.levelname.lower(), record.getMessage(), fields).decode().rstrip("\n")


def set_up() -> None:
    """Send all log lines of this process to stderr as JSON."""
    handler = logging.StreamHandler(stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
