"""A register's web server that replays published files, and fails in the ways that a test sets.

It runs in a thread of the test. Each path has a list of responders: each request uses the next one, and the last one
answers all later requests.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from aiohttp import web

LAST_MODIFIED = "Sat, 21 Nov 2026 03:00:00 GMT"  # of every file
_CHUNK_BYTES = 1 << 12  # bytes that are sent at a time

# A responder makes the response to a request from the content of the published file.
Responder = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]


@dataclass
class RegisterServer:
    """Files and responders by path, and the requests received, each as its path and its headers."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    responders: dict[str, list[Responder]] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    open_requests: int = 0
    most_open_requests: int = 0

    def publish(self, path: str, content: bytes | Path, *responders: Responder) -> str:
        """Publish `content` at `path`; return its URL."""
        self.files[path] = content.read_bytes() if isinstance(content, Path) else content
        self.responders[path] = list(responders) or [follow_rfc9110]
        return self.url + path

    def headers(self, name: str, path: str | None = None) -> list[str | None]:
        """The value of a header in each request for `path`, by default in all requests; None if it is missing."""
        return [
            headers.get(name) for requested, headers in self.requests if path in (None, requested)
        ]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Record the request, and answer it by the next responder of its path."""
        self.requests.append((request.path_qs, dict(request.headers)))
        if request.path not in self.files:
            raise web.HTTPNotFound
        responders = self.responders[request.path]
        respond = responders.pop(0) if len(responders) > 1 else responders[0]
        self.open_requests += 1
        self.most_open_requests = max(self.most_open_requests, self.open_requests)
        try:
            return await respond(request, self.files[request.path])
        finally:
            self.open_requests -= 1


@contextmanager
def running_server(host: str = "127.0.0.1") -> Iterator[RegisterServer]:
    """Run a server of register files on a free port of `host`, in a thread, until the end of the block."""
    server, started, stop = RegisterServer(), threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        """Start the server, set its address and `started`, and answer requests until `stop` is set."""
        app = web.Application()
        app.router.add_get("/{path:.*}", server.answer)
        runner = web.AppRunner(app, shutdown_timeout=0)
        await runner.setup()
        site = web.TCPSite(runner, host, 0)
        await site.start()
        port = runner.addresses[0][1]
        server.url = f"http://{host}:{port}"
        started.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    started.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


# -- responders ----------------------------------------------------------------------


def etag(content: bytes) -> str:
    """The ETag that the server gives to `content`."""
    return f'"{sha256(content).hexdigest()[:12]}"'


async def follow_rfc9110(request: web.Request, content: bytes) -> web.StreamResponse:
    """Send the file, or the part or the status 304 that RFC 9110 requires for the request."""
    return await _send(request, content)


async def send_without_validators(_: web.Request, content: bytes) -> web.StreamResponse:
    """Send the file without ETag, date or ranges, as a page that generates it for each request."""
    return web.Response(body=content)


def cut_at(at: int) -> Responder:
    """A responder that announces the full length, sends only the first `at` bytes, and closes the connection."""

    async def respond(request: web.Request, content: bytes) -> web.StreamResponse:
        return await _send(request, content, stop=at)

    return respond


def pause_between_chunks(seconds: float) -> Responder:
    """A responder that sends the file with a pause of `seconds` before each chunk of 4 KiB."""

    async def respond(request: web.Request, content: bytes) -> web.StreamResponse:
        return await _send(request, content, pause=seconds)

    return respond


def send_status(code: int, **headers: str) -> Responder:
    """A responder that sends a status without a body; in the names of `headers`, `_` stands for `-`."""

    async def respond(_: web.Request, __: bytes) -> web.StreamResponse:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=code, headers=fields)

    return respond


async def send_html_page(_: web.Request, __: bytes) -> web.StreamResponse:
    """Send a web page instead of the file, with status 200."""
    return web.Response(text="Maintenance", content_type="text/html")


def send_in_portions(size: int) -> Responder:
    """A responder that sends at most `size` bytes of a requested range, as RFC 9110 §14.4 allows."""

    async def respond(request: web.Request, content: bytes) -> web.StreamResponse:
        start = request.http_range.start or 0
        body = content[start : start + size]
        content_range = f"bytes {start}-{start + len(body) - 1}/{len(content)}"
        headers = {"Content-Range": content_range, "ETag": etag(content)}
        return web.Response(status=206, body=body, headers=headers)

    return respond


async def _send(
    request: web.Request, content: bytes, stop: int | None = None, pause: float = 0.0
) -> web.StreamResponse:
    """Send the content from the requested byte to byte `stop`, with a pause of `pause` seconds before each chunk.

    The status is 304 for unchanged content, and 416 for a range after the end of the content.
    """
    headers: dict[str, Any] = {"ETag": etag(content), "Last-Modified": LAST_MODIFIED}
    if request.headers.get("If-None-Match") == etag(content):
        return web.Response(status=304, headers=headers)
    start, code = 0, 200
    is_same_edition = request.headers.get("If-Range") in (None, etag(content))
    if is_same_edition and (offset := request.http_range.start):
        if offset >= len(content):
            return web.Response(status=416)
        start, code = offset, 206
        headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
    response = web.StreamResponse(status=code, headers=headers)
    response.content_length = len(content) - start
    await response.prepare(request)
    for position in range(start, len(content) if stop is None else stop, _CHUNK_BYTES):
        await asyncio.sleep(pause)
        await response.write(content[position : position + _CHUNK_BYTES])
    if stop is not None and request.transport:
        request.transport.close()
    return response
