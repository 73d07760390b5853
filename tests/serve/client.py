"""A server in a thread, on a real socket, and a client of the standard library.

http.client neither changes a path nor follows a redirect, so the server receives exactly the path of the test.
"""

import asyncio
import http.client
import socket
import tempfile
import threading
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
from tests.serve.processes import eventually

# Paths whose answers are read from a generation.
DATA_PATHS = [
    "/api/v1/pays",
    "/api/v1/secteurs",
    "/api/v1/sous-secteurs?secteur=edition",
    "/api/v1/societes",
    "/api/v1/societes/FR/552100554",
]
# Paths that are errors: an unknown parameter, route and company, and the prefix of the API alone.
REFUSED_PATHS = [
    "/api/v1/societes?x=1",
    "/api/v1/inconnue",
    "/api/v1/societes/FR/absente",
    "/api/v1",
]


@dataclass(frozen=True)
class Reply:
    """A response, as a client receives it."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error response."""
        return str(self.json["erreur"]["code"])


# Burst limits that no test reaches. Tests of a limit replace it by a low one.
UNREACHABLE_LIMITS = BurstLimits(*[1_000_000] * len(fields(BurstLimits)))
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
class Server:
    """A running server, with methods that send requests to it and read its counters."""

    port: int
    context: ServerContext = field(repr=False)
    lines: list[bytes] = field(repr=False)  # its log: a line per request
    signer: Signer = field(repr=False)  # makes cookies that the server accepts
    loop: asyncio.AbstractEventLoop = field(repr=False)  # runs in the thread of the server

    @property
    def store(self) -> LedgerStore:
        """The open store of accounts and counters."""
        store = self.context.holder.store
        assert isinstance(store, LedgerStore)
        return store

    def customer(self, plan: str = "free", *, api_tool: bool | None = None) -> Customer:
        """Create an account with a key.

        Args:
            api_tool: whether the account has the API tool; by default, if the tool is an option of the plan.
        """
        tool = PLANS[plan].outil_api == "option" if api_tool is None else api_tool
        now = self.context.now()
        account: Account = create_account(self.store, plan, PLANS, now, api_tool=tool).result()
        _, key = create_key(self.store, account.id, PLANS, now).result()
        return Customer(account.id, key)

    def ask(
        self,
        path: str,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Reply:
        """Send a request with the query string `params`. The response must match /openapi.json.

        A busy machine needs up to two minutes for a workbook, which a process of low priority writes.
        """
        target = f"{path}?{urlencode(params)}" if params else path
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)) as connection:
            connection.request(method, target, body, headers=dict(headers or {}))
            response = connection.getresponse()
            # A dict compares the names of headers as RFC 9110 writes them; http.client would ignore case.
            reply = Reply(response.status, dict(response.getheaders()), response.read())
        conformance.check(method, target, reply.status, reply.headers, reply.body)
        return reply

    def usage(self, customer: Customer) -> Usage:
        """The calls and exports that an account has used, and their limits."""
        account = self.store.read(account_rows.account_of, customer.account).result()
        return self.store.usage(
            account.id, effective_plan(account, PLANS), self.context.now()
        ).result()

    def calls_used(self, customer: Customer) -> int:
        """The number of counted calls of an account today."""
        return self.usage(customer).calls.used

    def send_raw(self, request_text: str) -> bytes:
        """Send a request as text; return all bytes until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=120) as connection:
            connection.sendall(request_text.encode())
            return b"".join(iter(lambda: connection.recv(65_536), b""))

    def search(self, **params: str) -> Any:
        """The body of a search. Its status must be 200."""
        reply = self.ask("/api/v1/societes", params=params)
        assert reply.status == 200, reply.body
        return reply.json

    def refusal(self, path: str = "/api/v1/societes", **params: str) -> Any:
        """The body of an error. Its status must be 400."""
        reply = self.ask(path, params=params)
        assert reply.status == 400, reply.body
        return reply.json


def wait_for_log_lines(server: Server, matches: Callable[[Any], bool], number: int) -> list[Any]:
    """Wait for `number` log lines that match, because a line is written just after its response is sent."""

    def matching_lines() -> list[Any]:
        """The lines of the log that match."""
        return [line for line in map(orjson.loads, list(server.lines)) if matches(line)]

    assert eventually(lambda: len(matching_lines()) >= number), matching_lines()
    return matching_lines()


@contextmanager
def run_server(
    data: Path,
    base_url: str = "",
    *,
    state: Path | None = None,
    debit: BurstLimits = UNREACHABLE_LIMITS,
    trusted: Sequence[Network] = (),
    now: Clock = utc_now,
    contact: str | None = None,
    opener: Callable[[Path], Store] = LmdbStore,
    makers: int = 2,
    courriel: MailSettings | None = None,
    editeur: EditorSettings | None = None,
    paiement: PaymentSettings | None = None,
    product: Product = PRODUCT,
) -> Iterator[Server]:
    """Serve the folder `data` until the end of the block.

    Args:
        opener: opens the store of the state folder; a test may pass a store with a fault.
        makers: the number of processes that make workbooks.
    """
    state_folder = state or Path(tempfile.mkdtemp(dir=data.parent))
    state_folder.mkdir(exist_ok=True)
    published = CurrentGeneration(data)
    counters = StoreHolder(partial(opener, state_folder))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        limiter = Limiter(state_folder, memory=state_folder)
        config = Config(
            debit=debit,
            base_url=base_url,
            trusted_proxies=tuple(trusted),
            contact=contact,
            courriel=courriel,
            editeur=editeur,
            paiement=paiement,
            state=state_folder,
            makers=makers,
        )
        context = make_context(config, published, counters, limiter, product, now)
        lines: list[bytes] = []
        server = asyncio.run_coroutine_threadsafe(
            _start_server(context, limiter, lines.append), loop
        ).result()
        try:
            yield Server(server.port, context, lines, cookies.load_signer(state_folder), loop)
        finally:
            asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()


@cache
def unstarted_context(base_url: str = "") -> ServerContext:
    """The context of a server that is not started and has no data."""
    folder = Path(tempfile.mkdtemp())
    published, counters = CurrentGeneration(folder), StoreHolder(partial(LmdbStore, folder))
    limiter = Limiter(folder, memory=folder)
    return make_context(Config(base_url=base_url), published, counters, limiter, PRODUCT)


@dataclass(frozen=True)
class _RunningServer:
    """The parts of a started server that must be closed when it stops."""

    context: ServerContext
    app: App
    runner: web.ServerRunner
    tasks: "list[asyncio.Task[None]]"
    port: int

    async def stop(self) -> None:
        """Cancel the background tasks, close the connections and the files, and end the threads."""
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)
        await self.runner.cleanup()
        await self.app.close()
        self.context.published.close()
        self.context.holder.close()
        await asyncio.get_running_loop().shutdown_default_executor()


async def _start_server(
    context: ServerContext, limiter: Limiter, write: Callable[[bytes], None]
) -> _RunningServer:
    """Start the background tasks of a server, and accept connections on a free port."""
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
    return _RunningServer(context, app, runner, tasks, port)
