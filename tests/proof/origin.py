"""A web server that serves a folder with faults, which a seeded generator draws for each request.

Without faults it answers ranges as RFC 9110 §14 requires. It counts the bytes that it sends, and calls a function
after a given number of bytes: a test kills the client with it.
"""

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

# A fault that is listed twice is drawn twice as often.
FAULTS: Final = (
    "cut", "cut", "flip", "whole", "shifted", "busy", "error", "slow", "longer", "short", "silent",
)  # fmt: skip
_RANGE: Final = re.compile(r"bytes=(\d+)-")
_SLOW_PIECES: Final = 8  # the pieces of a body that is sent slowly
_SLOW_SECONDS: Final = 0.02  # the pause after each piece, and before an alarm


class Origin:
    """A folder `root` to serve; a share `faulty` of the requests gets a fault.

    Attributes:
        fault_counts: the number of requests by fault, "" for no fault.
        requests: the number of requests.
        sent: the number of bytes of bodies.
        alarm: a number of bytes, and the function to call once so many are sent; None for no alarm.
    """

    def __init__(self, root: Path, seed: int = 0, faulty: float = 0.0) -> None:
        """Serve the files below `root`; a share `faulty` of the requests gets a fault drawn with `seed`."""
        self.root = root
        self.faulty = faulty
        self.fault_counts: Counter[str] = Counter()
        self.requests = 0
        self.sent = 0
        self.alarm: tuple[int, Callable[[], None]] | None = None  # (bytes sent, call)
        self._chance = random.Random(seed)
        self._lock = threading.Lock()

    def fault(self) -> str:
        """Draw the fault of the next request, "" for no fault."""
        with self._lock:
            self.requests += 1
            fault = self._chance.choice(FAULTS) if self._chance.random() < self.faulty else ""
            self.fault_counts[fault] += 1
            return fault

    def position(self, size: int) -> int:
        """Draw a position below `size`."""
        with self._lock:
            return self._chance.randrange(max(1, size))

    def count(self, size: int) -> None:
        """Count sent bytes; call the alarm once, when its number is reached."""
        with self._lock:
            self.sent += size
            alarm = self.alarm if self.alarm and self.sent >= self.alarm[0] else None
            if alarm:
                self.alarm = None
        if alarm:
            # On a fast machine all bytes of a file are sent before the client stores the first of them.
            time.sleep(_SLOW_SECONDS)
            alarm[1]()


class _Handler(BaseHTTPRequestHandler):
    """The requests of one connection; a subclass has the origin."""

    origin: Origin

    def do_GET(self) -> None:
        """Answer with a file, from the requested byte on, with the drawn fault."""
        path = self.origin.root / self.path.lstrip("/")
        fault = self.origin.fault()
        if fault == "silent":
            return
        if fault in ("busy", "error"):
            self._refuse(503 if fault == "busy" else 500)
            return
        try:
            content = path.read_bytes()
        except OSError:
            self._refuse(404)
            return
        byte_range = _RANGE.fullmatch(self.headers.get("Range", ""))
        start = int(byte_range[1]) if byte_range and fault != "whole" else 0
        if byte_range and start >= len(content):
            self._refuse(416)
            return
        self._send(content, start, fault)

    def _send(self, content: bytes, start: int, fault: str) -> None:
        """Send the rest of `content` from `start` on, changed by the fault."""
        body = bytearray(content[start:])
        if fault == "flip" and body:
            body[self.origin.position(len(body))] ^= 1 << self.origin.position(8)
        if fault == "longer":
            body += b"x" * 70_000
        if fault == "short":
            del body[self.origin.position(len(body)) :]
        self.send_response(206 if start else 200)
        if start:
            sent_start = start - 1 if fault == "shifted" else start
            self.send_header(
                "Content-Range", f"bytes {sent_start}-{len(content) - 1}/{len(content)}"
            )
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault == "cut":
            del body[self.origin.position(len(body)) :]
        piece_size = max(1, len(body) // _SLOW_PIECES) if fault == "slow" else 16_384
        for position in range(0, len(body), piece_size):
            self.wfile.write(body[position : position + piece_size])
            self.origin.count(len(body[position : position + piece_size]))
            if fault == "slow":
                time.sleep(_SLOW_SECONDS)

    def _refuse(self, status: int) -> None:
        """Send an error with a body that is not ASCII."""
        body = b"<h1>Orl\xc3\xa9ans</h1>"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status == 503:
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        """Serve the connection until the client ends it."""
        with suppress(ConnectionError):  # a client that was killed
            super().handle()

    def finish(self) -> None:
        """End the connection."""
        with suppress(ConnectionError):  # a client that was killed
            super().finish()

    def log_message(self, *_: object) -> None:
        """Log nothing."""
        pass


@contextmanager
def serve(origin: Origin) -> Iterator[str]:
    """Serve `origin` from a thread; yield its address."""
    handler = type("Handler", (_Handler,), {"origin": origin})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
