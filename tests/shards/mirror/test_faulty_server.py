"""A web server that sends raw bytes, valid or not: parts that stay, and the message of each fault."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shards.mirror import client, download
from shards.mirror.blobs import Downloader
from shards.mirror.source import FaultError, SyncError
from shards.mirror.source_kinds import Web
from tests.shards.mirror.sources import manifest_file

CONTENT = bytes(range(256)) * 400
FILE = manifest_file(CONTENT)
PART_SIZE = 50_000
PAGE = b"<!doctype html><h1>502 Bad Gateway</h1>"


def response(status: str, *headers: str, body: bytes = b"") -> bytes:
    """The bytes of an HTTP response."""
    return "\r\n".join((f"HTTP/1.1 {status}", *headers, "", "")).encode("latin-1") + body


REST = response(
    "206 Partial Content", f"Content-Range: bytes {PART_SIZE}-{len(CONTENT) - 1}/{len(CONTENT)}",
    f"Content-Length: {len(CONTENT) - PART_SIZE}", body=CONTENT[PART_SIZE:],
)  # fmt: skip
WHOLE = response("200 OK", f"Content-Length: {len(CONTENT)}", body=CONTENT)
WEB_PAGE = response("200 OK", "Content-Type: text/html; charset=utf-8", body=PAGE)
SHORT = response("200 OK", "Content-Length: 9", body=b"too short")
EMPTY = response("200 OK", "Content-Length: 0")
OTHER_RANGE = response("206 P", f"Content-Range: bytes 5-99/{len(CONTENT)}", body=CONTENT[5:100])
NO_RANGE = response("206 P", "Content-Range: bits 1 to 9", body=CONTENT)
BAD_CHUNK = response("200 OK", "Transfer-Encoding: chunked", body=b"3\r\nabc\r\n")


@contextmanager
def serve_responses(*responses: bytes, later: bytes = b"") -> Iterator[tuple[str, list[bytes]]]:
    """Run a server with one response per connection; yields its address and the list of the requests so far.

    The last response is repeated; the bytes `later` are sent 0.1 s after each response.
    """
    requests: list[bytes] = []

    def serve(listening: socket.socket) -> None:
        """Answer one request per connection."""
        while True:
            connection, _ = listening.accept()
            with connection:
                request = connection.recv(1 << 16)
                if request == b"stop":
                    return
                requests.append(request)
                connection.sendall(responses[min(len(requests), len(responses)) - 1])
                if later:
                    threading.Event().wait(0.1)
                    connection.sendall(later)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        port = listening.getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}", requests
        finally:
            with socket.create_connection(("127.0.0.1", port)) as stopping:
                stopping.sendall(b"stop")
            thread.join()


def fetch(url: str, folder: Path) -> bytes:
    """Download FILE from a web source into a folder; return its content."""
    blob = folder / FILE.blake3
    Downloader(Web(url, {}), chance=lambda: 0.0).fetch("EE.shard", FILE, blob)
    return blob.read_bytes()


def range_starts(requests: list[bytes]) -> list[int]:
    """The first byte that each request asks for; 0 for a request without a range."""
    ranges = (re.search(rb"Range: bytes=(\d+)-", request) for request in requests)
    return [int(match[1]) if match else 0 for match in ranges]


@pytest.mark.parametrize(
    "fault", [WEB_PAGE, SHORT, EMPTY, response("502 Bad Gateway"), response("520 Odd")]
)
def test_a_wrong_response_does_not_discard_the_part(tmp_path: Path, fault: bytes) -> None:
    (tmp_path / f"{FILE.blake3}.part").write_bytes(CONTENT[:PART_SIZE])

    with serve_responses(fault, fault, REST) as (url, requests):
        assert fetch(url, tmp_path) == CONTENT

    assert range_starts(requests) == [PART_SIZE, PART_SIZE, PART_SIZE]


@pytest.mark.parametrize("fault", [response("416 Range Not Satisfiable"), OTHER_RANGE, NO_RANGE])
def test_a_source_that_cannot_continue_a_file_sends_it_in_full(
    tmp_path: Path, fault: bytes
) -> None:
    (tmp_path / f"{FILE.blake3}.part").write_bytes(CONTENT[:PART_SIZE])

    with serve_responses(fault, WHOLE) as (url, requests):
        assert fetch(url, tmp_path) == CONTENT

    assert range_starts(requests) == [PART_SIZE, 0]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (WEB_PAGE, "sends a web page instead of the file"),
        (SHORT, "has 9 bytes there and 102,400 in its manifest"),
        (OTHER_RANGE, "sends the bytes from 5 on instead of the bytes from 0 on"),
        (NO_RANGE, "answers 206 with the Content-Range 'bits 1 to 9', which cannot be understood"),
        (response("416 Range"), "answers 416 to a request for all"),
        (response("304 Not Modified"), "answers 304"),
        (response("503 Busy", "Retry-After: 900"), "answers 503 and requests a wait of 900 s"),
        (WHOLE[:-400], "breaks off at byte 102,000 of 102,400: the connection was closed"),
        (b"", "cannot be read: the connection was closed before an answer"),
        (WHOLE[:12], "cannot be read: the connection was closed before an answer"),
        (b"SSH-2.0-OpenSSH\r\n", "cannot be read: the answer is not valid HTTP"),
        (response("200 OK", "Content-Length: x"), "cannot be read: the answer is not valid HTTP"),
        (response("302 Found", "Location: /\xe9"), "redirects to '/\\udce9', which is not an address"),
        (response("302 Found", "Location: http://xn--a-ecp.ru/"),
         "redirects to 'http://xn--a-ecp.ru/', which is not an address"),
    ],
)  # fmt: skip
def test_the_message_of_a_fault_has_its_values_and_a_remedy(
    tmp_path: Path, fault: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "TRIES", 1)
    with serve_responses(fault) as (url, _), pytest.raises(FaultError) as refusal:
        fetch(url, tmp_path)

    assert str(refusal.value) == f"{url}/EE.shard {message}; check the source, or try again later"


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (response("403 Forbidden"), "answers 403; set MIRROR_TOKEN"),
        (response("200 OK", "Content-Encoding: gzip"), "the encoding 'gzip' without .* switch compression off there"),
        (response("302 Found", "Location: /EE.shard"), "redirects more than 5 times; give another address"),
    ],
)  # fmt: skip
def test_a_refused_request_is_not_tried_again(tmp_path: Path, fault: bytes, message: str) -> None:
    with serve_responses(fault) as (url, _), pytest.raises(SyncError, match=message) as refusal:
        fetch(url, tmp_path)

    assert not isinstance(refusal.value, FaultError)


def test_a_malformed_chunk_ends_a_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """aiohttp raises neither an error nor a timeout."""
    monkeypatch.setattr(download, "TRIES", 1)
    monkeypatch.setattr(client, "SILENCE_SECONDS", 2)
    with (
        serve_responses(BAD_CHUNK, later=b"zz\r\nabc\r\n") as (url, _),
        pytest.raises(FaultError, match=r"breaks off at byte 3: no byte for 2 s"),
    ):
        fetch(url, tmp_path)
