"""A server on a real socket in a thread, and the standard library's client to ask it with.

http.client changes nothing of a path and follows nothing, so what is tested is what is sent.
"""

import asyncio
import http.client
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
from aiohttp import web

from quota import plans
from serve.app import make_handler
from serve.connection import make_server
from serve.published import Published

# One path of each route that reads a generation, and paths that are refused in different ways.
PATHS = [
    "/api/v1/pays",
    "/api/v1/secteurs",
    "/api/v1/sous-secteurs?secteur=edition",
    "/api/v1/societes",
    "/api/v1/societes/FR/552100554",
]
REFUSED = ["/api/v1/societes?x=1", "/api/v1/inconnue", "/api/v1/societes/FR/absente", "/api/v1"]


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error."""
        return str(self.json["erreur"]["code"])


@dataclass(frozen=True)
class Served:
    """A running server."""

    port: int

    def ask(
        self,
        path: str,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a request; `params` make the query string."""
        target = f"{path}?{urlencode(params)}" if params else path
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, target, headers=dict(headers or {}))
            response = connection.getresponse()
            # As they are named in RFC 9110; http.client would look them up in any case.
            return Reply(response.status, dict(response.getheaders()), response.read())

    def search(self, **params: str) -> Any:
        """The body of a search that must succeed."""
        reply = self.ask("/api/v1/societes", params=params)
        assert reply.status == 200, reply.body
        return reply.json

    def refused(self, path: str = "/api/v1/societes", **params: str) -> Any:
        """The body of a request that must be refused with 400."""
        reply = self.ask(path, params=params)
        assert reply.status == 400, reply.body
        return reply.json


@contextmanager
def serving(data: Path, base_url: str = "") -> Iterator[Served]:
    """Serve what is published in `data` until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        server = asyncio.run_coroutine_threadsafe(_start(data, base_url), loop).result(20)
        yield Served(server.port)
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(20)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()


@dataclass(frozen=True)
class _Server:
    published: Published
    runner: web.ServerRunner
    follower: "asyncio.Task[None]"
    port: int

    async def stop(self) -> None:
        self.follower.cancel()
        await asyncio.wait([self.follower])
        await self.runner.cleanup()
        self.published.close()
        await asyncio.get_running_loop().shutdown_default_executor()


async def _start(data: Path, base_url: str) -> _Server:
    published = Published(data)
    published.start()
    handler = make_handler(published, plans.load(), base_url)
    runner = web.ServerRunner(make_server(handler), shutdown_timeout=5)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port: int = runner.addresses[0][1]
    return _Server(published, runner, asyncio.create_task(published.follow()), port)
