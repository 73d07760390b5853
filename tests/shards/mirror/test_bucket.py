"""A bucket whose server sends a byte now and then."""

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from shards.mirror.source import FaultError, read_small
from shards.mirror.source_kinds import Bucket

PAUSE_S = 0.05


class _Dripping(http.server.BaseHTTPRequestHandler):
    """Ten minutes of a file of 12 kB."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        for name, value in (
            ("Content-Length", "12000"), ("ETag", '"a"'), ("Last-Modified", "Mon, 23 Nov 2026 00:00:00 GMT")
        ):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):
            for _ in range(12_000):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(PAUSE_S)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def dripping() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Dripping) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_bucket_that_drips_is_given_up(dripping: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pieces come as they are sent, so that whoever reads them sees how slow they are"""
    pytest.importorskip("obstore")
    settings = {"AWS_ENDPOINT_URL": dripping, "AWS_SKIP_SIGNATURE": "true", "AWS_REGION": "x"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("shards.mirror.source.SMALL_SECONDS", 1.0)
    found: list[BaseException] = []

    def ask() -> None:
        try:
            read_small(Bucket("s3://bucket/data", settings), "CURRENT", 1 << 16)
        except FaultError as error:
            found.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(30)

    assert not asking.is_alive()
    assert "has not come in 1 s" in str(found[0])
