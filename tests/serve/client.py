"""A server on a real socket in a thread, and the standard library's client to ask it with.

http.client changes nothing of a path and follows nothing, so what is tested is what is sent.
"""

import asyncio
import http.client
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
from aiohttp import web

from quota import plans
from quota.accounts import Account, effective_plan
from quota.bursts import BurstLimiter as Limiter
from quota.ledger import account_rows
from quota.ledger.exports import Usage
from quota.store.interface import LedgerStore, Store
from quota.store.lmdb_store import LmdbStore
from serve.access.context import Clock, ServerContext, make_context, utc_now
from serve.access.store_holder import StoreHolder
from serve.app import PRODUCT, App
from serve.config import BurstLimits, Config, EditorSettings, MailSettings, Network, PaymentSettings
from serve.contract.feature import Product
from serve.generation.current_generation import CurrentGeneration
from serve.http.connection import make_server
from serve.surfaces.site import cookies
from serve.surfaces.site.cookies import Signer
from tests.quota.filling import create_account, create_key
from tests.serve import conformance

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


# Tests that are not about the burst limits must not meet them.
GENEROUS = BurstLimits(*[1_000_000] * len(fields(BurstLimits)))
PLANS = plans.load()


@dataclass(frozen=True)
class Customer:
    """An account with a key."""

    account: str
    key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


@dataclass(frozen=True)
class Served:
    """A running server and its counters."""

    port: int
    context: ServerContext = field(repr=False)
    lines: list[bytes] = field(repr=False)  # what it logged of each request
    signer: Signer = field(repr=False)
    loop: asyncio.AbstractEventLoop = field(repr=False)

    @property
    def store(self) -> LedgerStore:
        store = self.context.holder.store
        assert isinstance(store, LedgerStore)
        return store

    def customer(self, plan: str = "free", *, api_tool: bool | None = None) -> Customer:
        """A new account with a key; with the API tool where that is an option, unless told so."""
        tool = PLANS[plan].outil_api == "option" if api_tool is None else api_tool
        now = self.context.now()
        account: Account = create_account(self.store, plan, PLANS, now, api_tool=tool).result(10)
        _, key = create_key(self.store, account.id, PLANS, now).result(10)
        return Customer(account.id, key)

    def ask(
        self,
        path: str,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Reply:
        """Send a request; `params` make the query string. The answer must be as described."""
        target = f"{path}?{urlencode(params)}" if params else path
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, target, body, headers=dict(headers or {}))
            response = connection.getresponse()
            # As they are named in RFC 9110; http.client would look them up in any case.
            reply = Reply(response.status, dict(response.getheaders()), response.read())
        conformance.check(method, target, reply.status, reply.headers, reply.body)
        return reply

    def usage(self, customer: Customer) -> Usage:
        account = self.store.read(account_rows.account_of, customer.account).result()
        return self.store.usage(
            account.id, effective_plan(account, PLANS), self.context.now()
        ).result()

    def used(self, customer: Customer) -> int:
        """The calls that an account has made today."""
        return self.usage(customer).calls.used

    def raw(self, sent: str) -> bytes:
        """All that comes back for these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(sent.encode())
            return b"".join(iter(lambda: connection.recv(65_536), b""))

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


def logged(served: Served, wanted: Callable[[Any], bool], number: int) -> list[Any]:
    """The first lines that are wanted; a line is written just after its answer has been sent."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        lines = [orjson.loads(line) for line in list(served.lines)]
        found = [line for line in lines if wanted(line)]
        if len(found) >= number:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{number} lines were awaited, {len(found)} came")


@contextmanager
def serving(
    data: Path,
    base_url: str = "",
    *,
    state: Path | None = None,
    debit: BurstLimits = GENEROUS,
    trusted: Sequence[Network] = (),
    now: Clock = utc_now,
    contact: str | None = None,
    opener: Callable[[Path], Store] = LmdbStore,
    makers: int = 2,
    courriel: MailSettings | None = None,
    editeur: EditorSettings | None = None,
    paiement: PaymentSettings | None = None,
    product: Product = PRODUCT,
) -> Iterator[Served]:
    """Serve what is published in `data` until the block ends.

    Args:
        opener: opens the store of the state folder; a test may put a broken one in its place.
        makers: processes that make workbooks.
    """
    folder = state or Path(tempfile.mkdtemp(dir=data.parent))
    folder.mkdir(exist_ok=True)
    published = CurrentGeneration(data)
    counters = StoreHolder(partial(opener, folder))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        limiter = Limiter(folder, memory=folder)
        config = Config(
            debit=debit,
            base_url=base_url,
            trusted_proxies=tuple(trusted),
            contact=contact,
            courriel=courriel,
            editeur=editeur,
            paiement=paiement,
            state=folder,
            makers=makers,
        )
        context = make_context(config, published, counters, limiter, product, now)
        lines: list[bytes] = []
        server = asyncio.run_coroutine_threadsafe(
            _start(context, limiter, lines.append), loop
        ).result(20)
        try:
            yield Served(server.port, context, lines, cookies.load_signer(folder), loop)
        finally:
            asyncio.run_coroutine_threadsafe(server.stop(), loop).result(20)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()


@cache
def unstarted_context(base_url: str = "") -> ServerContext:
    """The context of a server that does not run, and has no data."""
    folder = Path(tempfile.mkdtemp())
    published, counters = CurrentGeneration(folder), StoreHolder(partial(LmdbStore, folder))
    limiter = Limiter(folder, memory=folder)
    return make_context(Config(base_url=base_url), published, counters, limiter, PRODUCT)


@dataclass(frozen=True)
class _Server:
    context: ServerContext
    app: App
    runner: web.ServerRunner
    tasks: "list[asyncio.Task[None]]"
    port: int

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)
        await self.runner.cleanup()
        await self.app.close()
        self.context.published.close()
        self.context.holder.close()
        await asyncio.get_running_loop().shutdown_default_executor()


async def _start(
    context: ServerContext, limiter: Limiter, write: Callable[[bytes], None]
) -> _Server:
    context.published.start()
    context.holder.start()
    app = App(context, limiter)
    server = make_server(app.handler, context.metrics, context.lanes, write)
    runner = web.ServerRunner(server, shutdown_timeout=5)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port: int = runner.addresses[0][1]
    tasks = [
        asyncio.create_task(context.published.follow()),
        asyncio.create_task(context.holder.keep_open()),
        asyncio.create_task(context.key_usage.run(context.holder)),
        *map(asyncio.create_task, app.background()),
    ]
    return _Server(context, app, runner, tasks, port)
