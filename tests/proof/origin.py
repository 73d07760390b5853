"""A web server that serves a folder with faults, drawn per request from a seeded generator.

Without faults it answers ranges as RFC 9110 §14 requires. It counts the bytes that it sends, and
calls a function at a given count: a test kills the client there.
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

FAULTS: Final = (
    "cut", "cut", "flip", "whole", "shifted", "busy", "error", "slow", "longer", "short", "silent",
)  # fmt: skip
_RANGE: Final = re.compile(r"bytes=(\d+)-")
_SLOW_PIECES: Final = 8
_SLOW_SECONDS: Final = 0.02


class Origin:
    """The folder `root`, served; a share `faulty` of the requests meets a fault.

    Attributes:
        met: requests by fault, "" for those without.
        sent: bytes of bodies.
        alarm: a count of bytes, and the function to call when it is reached.
    """

    def __init__(self, root: Path, seed: int = 0, faulty: float = 0.0) -> None:
        self.root = root
        self.faulty = faulty
        self.met: Counter[str] = Counter()
        self.requests = 0
        self.sent = 0
        self.alarm: tuple[int, Callable[[], None]] | None = None
        self._chance = random.Random(seed)
        self._lock = threading.Lock()

    def fault(self) -> str:
        """The fault of the next request, "" for none."""
        with self._lock:
            self.requests += 1
            fault = self._chance.choice(FAULTS) if self._chance.random() < self.faulty else ""
            self.met[fault] += 1
            return fault

    def position(self, size: int) -> int:
        """A random position below `size`."""
        with self._lock:
            return self._chance.randrange(max(1, size))

    def count(self, size: int) -> None:
        with self._lock:
            self.sent += size
            alarm = self.alarm if self.alarm and self.sent >= self.alarm[0] else None
            if alarm:
                self.alarm = None
        if alarm:
            alarm[1]()


class _Handler(BaseHTTPRequestHandler):
    origin: Origin

    def do_GET(self) -> None:
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
        asked = _RANGE.fullmatch(self.headers.get("Range", ""))
        start = int(asked[1]) if asked and fault != "whole" else 0
        if asked and start >= len(content):
            self._refuse(416)
            return
        self._send(content, start, fault)

    def _send(self, content: bytes, start: int, fault: str) -> None:
        body = bytearray(content[start:])
        if fault == "flip" and body:
            body[self.origin.position(len(body))] ^= 1 << self.origin.position(8)
        if fault == "longer":
            body += b"x" * 70_000
        if fault == "short":
            del body[self.origin.position(len(body)) :]
        self.send_response(206 if start else 200)
        if start:
            claimed = start - 1 if fault == "shifted" else start
            self.send_header("Content-Range", f"bytes {claimed}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault == "cut":
            del body[self.origin.position(len(body)) :]
        step = max(1, len(body) // _SLOW_PIECES) if fault == "slow" else 16_384
        for at in range(0, len(body), step):
            self.wfile.write(body[at : at + step])
            self.origin.count(len(body[at : at + step]))
            if fault == "slow":
                time.sleep(_SLOW_SECONDS)

    def _refuse(self, status: int) -> None:
        body = b"<h1>Orl\xc3\xa9ans</h1>"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status == 503:
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client that was killed
            super().handle()

    def finish(self) -> None:
        with suppress(ConnectionError):
            super().finish()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(origin: Origin) -> Iterator[str]:
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
