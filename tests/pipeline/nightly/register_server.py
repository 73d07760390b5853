"""A register's web server that replays published files, and fails in every way that a test asks for.

It runs in a thread of the test. Each address has its ways to answer, taken in turn; the last one stays.
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

LAST_MODIFIED = "Sat, 21 Nov 2026 03:00:00 GMT"
_PIECE = 1 << 12

Way = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]


@dataclass
class RegisterServer:
    """Files by address, the ways in which each is answered, and the requests that came."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    ways: dict[str, list[Way]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    def publish(self, path: str, content: bytes | Path, *ways: Way) -> str:
        """Publish `content` at `path`; return its address."""
        self.files[path] = content.read_bytes() if isinstance(content, Path) else content
        self.ways[path] = list(ways) or [honest]
        return self.url + path

    def headers(self, name: str, path: str | None = None) -> list[str | None]:
        """The values of a header, request by request; by default those for every path."""
        return [headers.get(name) for asked, headers in self.asked if path in (None, asked)]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.path_qs, dict(request.headers)))
        if request.path not in self.files:
            raise web.HTTPNotFound
        ways = self.ways[request.path]
        way = ways.pop(0) if len(ways) > 1 else ways[0]
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await way(request, self.files[request.path])
        finally:
            self.at_once -= 1


@contextmanager
def serving(host: str = "127.0.0.1") -> Iterator[RegisterServer]:
    """A server on a free port of `host`."""
    server, started, stop = RegisterServer(), threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
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


# -- ways to answer ------------------------------------------------------------------


def tag(content: bytes) -> str:
    return f'"{sha256(content).hexdigest()[:12]}"'


async def honest(request: web.Request, content: bytes) -> web.StreamResponse:
    """Conditions and ranges as RFC 9110 has them."""
    return await _send(request, content)


async def bare(_: web.Request, content: bytes) -> web.StreamResponse:
    """Neither validators nor ranges, as a page that makes its file anew for each request."""
    return web.Response(body=content)


def cut(at: int) -> Way:
    """The announced length, of which `at` bytes come."""

    async def way(request: web.Request, content: bytes) -> web.StreamResponse:
        return await _send(request, content, stop=at)

    return way


def slow(seconds: float) -> Way:
    """A pause before each piece of 4 KiB."""

    async def way(request: web.Request, content: bytes) -> web.StreamResponse:
        return await _send(request, content, pause=seconds)

    return way


def status(code: int, **headers: str) -> Way:
    async def way(_: web.Request, __: bytes) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=code, headers=named)

    return way


async def page(_: web.Request, __: bytes) -> web.StreamResponse:
    """A page for people, with the status of success."""
    return web.Response(text="Maintenance", content_type="text/html")


def portions(size: int) -> Way:
    """At most `size` bytes for a range, as RFC 9110 §14.4 allows."""

    async def way(request: web.Request, content: bytes) -> web.StreamResponse:
        start = request.http_range.start or 0
        body = content[start : start + size]
        where = f"bytes {start}-{start + len(body) - 1}/{len(content)}"
        headers = {"Content-Range": where, "ETag": tag(content)}
        return web.Response(status=206, body=body, headers=headers)

    return way


async def _send(
    request: web.Request, content: bytes, stop: int | None = None, pause: float = 0.0
) -> web.StreamResponse:
    headers: dict[str, Any] = {"ETag": tag(content), "Last-Modified": LAST_MODIFIED}
    if request.headers.get("If-None-Match") == tag(content):
        return web.Response(status=304, headers=headers)
    start, code = 0, 200
    same = request.headers.get("If-Range") in (None, tag(content))
    if same and (asked := request.http_range.start):
        if asked >= len(content):
            return web.Response(status=416)
        start, code = asked, 206
        headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
    response = web.StreamResponse(status=code, headers=headers)
    response.content_length = len(content) - start
    await response.prepare(request)
    for at in range(start, len(content) if stop is None else stop, _PIECE):
        await asyncio.sleep(pause)
        await response.write(content[at : at + _PIECE])
    if stop is not None and request.transport:
        request.transport.close()
    return response
