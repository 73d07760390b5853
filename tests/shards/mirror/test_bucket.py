"""A bucket whose server sends nothing after the head of its response, or single bytes with pauses."""

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from shards.mirror.source import FaultError, read_small
from shards.mirror.source_kinds import Bucket

PAUSE_S = 0.05
SILENCE_S = 600.0


class _SlowHandler(http.server.BaseHTTPRequestHandler):
    """Sends a file of 12 kB in ten minutes or more."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send a byte after each pause; the bucket `silent` has the longest pauses."""
        pause_s = SILENCE_S if self.path.startswith("/silent/") else PAUSE_S
        self.send_response(200)
        for name, value in (
            ("Content-Length", "12000"), ("ETag", '"a"'), ("Last-Modified", "Mon, 23 Nov 2026 00:00:00 GMT")
        ):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):
            for _ in range(12_000):
                time.sleep(pause_s)
                self.wfile.write(b"x")
                self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def slow_server() -> Iterator[str]:
    """The address of the slow server."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _SlowHandler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("bucket", ["slow", "silent"])
def test_a_bucket_that_sends_too_slowly_is_given_up(
    slow_server: str, monkeypatch: pytest.MonkeyPatch, bucket: str
) -> None:
    """The client of the bucket passes bytes on as they arrive, so their reader can measure the time"""
    pytest.importorskip("obstore")
    settings = {"AWS_ENDPOINT_URL": slow_server, "AWS_SKIP_SIGNATURE": "true", "AWS_REGION": "x"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("shards.mirror.source.SMALL_SECONDS", 1.0)
    errors: list[BaseException] = []

    def read() -> None:
        """Read the file CURRENT of the bucket, and append the error of the slow server to `errors`."""
        try:
            read_small(Bucket(f"s3://{bucket}/data", settings), "CURRENT", 1 << 16)
        except FaultError as error:
            errors.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(25)  # the client of the bucket itself would wait for a byte for 30 s

    assert not thread.is_alive()
    assert "was not complete within 1 s" in str(errors[0])
