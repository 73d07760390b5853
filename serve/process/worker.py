"""One serving process: it listens, follows DATA/CURRENT, and stops without losing a request.

SIGTERM and SIGINT: stop accepting, answer the requests that still arrive on open connections, finish
those in flight, exit. SIGHUP: look for a new generation now. The sockets are bound by the process
that starts this one (serve/process/port.py).
"""

import asyncio
import ctypes
import gc
import os
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from aiohttp import web

from quota.bursts import BurstLimiter
from quota.open_store import open_store
from serve.access.context import make_context
from serve.access.store_holder import StoreHolder
from serve.app import PRODUCT, App
from serve.config import Config
from serve.contract import activities
from serve.contract.errors import ApiError
from serve.generation.current_generation import CurrentGeneration
from serve.generation.open_generation import OpenGeneration
from serve.http.connection import make_server
from serve.observe.log import stderr
from serve.process import read_ahead
from serve.process.port import DRAIN_SECONDS, LINGER_SECONDS
from shards.errors import ShardError
from shards.generations.generation_files import Generation

_BACKLOG: Final = 1_024
# Net allocations (objects made minus objects freed) before Python looks for reference cycles.
_COLLECTION_THRESHOLD: Final = 10_000
# Seconds after which a server that is still read into memory says that it is ready.
_READING_SECONDS: Final = 60.0

# Variables of glibc's allocator, the numbers of mallopt(3) for them, and their values.
_ALLOCATOR: Final = (
    ("MALLOC_TRIM_THRESHOLD_", -1, 1 << 20),
    ("MALLOC_MMAP_THRESHOLD_", -3, 1 << 20),
    ("MALLOC_ARENA_MAX", -8, 2),
)


def run(
    config: Config,
    listeners: Sequence[socket.socket],
    *,
    ready: Callable[[], None],
    parent: int,
    doubted: bool = False,
    replaces: bool = False,
) -> None:
    """Serve on `listeners` until a signal stops it, on uvloop if the platform has it.

    Args:
        ready: called once connections are accepted.
        parent: a descriptor that becomes readable when the parent process ends, and this one with it.
        doubted: reading the shards has ended processes, so they are compared before they are read.
        replaces: it takes the place of a worker that was ready, so the shards are in memory.
    """
    _tune_allocator()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(config, listeners, ready, parent, doubted, replaces))


async def _serve(
    config: Config,
    listeners: Sequence[socket.socket],
    ready: Callable[[], None],
    parent: int,
    doubted: bool,
    replaces: bool,
) -> None:
    assert config.data and config.state
    current = CurrentGeneration(config.data, config.state)
    current.start(doubted=doubted)
    store = _start_store(config)
    limiter = BurstLimiter(config.state)
    stop = asyncio.Event()
    _listen_to_signals(stop, current, parent)
    context = make_context(config, current, store, limiter, PRODUCT)
    stderr.on_loss = context.metrics.log_line_lost
    app = App(context, limiter)
    _prepare(current)
    reading = StartupReader(current)
    current.compare_with(read_ahead.compare)
    if config.warm:
        current.read_unread(reading.start)
        if current.generation is not None and not replaces:
            reading.hold_back()
    current.prepare_with(partial(_prepare_next, warm=config.warm))
    server = make_server(app.handler, context.metrics, context.lanes)
    runner = web.ServerRunner(server, shutdown_timeout=DRAIN_SECONDS)
    sites = await _start_sites(runner, listeners)
    opener = asyncio.create_task(store.keep_open())
    # It ends once the store is open, or with an error that another process of this server does not have.
    opener.add_done_callback(lambda task: stop.set() if _has_failed(task) else None)
    follower = asyncio.create_task(current.follow())
    others = [
        asyncio.create_task(context.key_usage.run(store)),
        asyncio.create_task(context.metrics.keep_measuring()),
        *map(asyncio.create_task, app.background()),
    ]
    # It never ends by itself: if it does, no further generation would be noticed.
    follower.add_done_callback(lambda _: stop.set())
    _tune_collector()
    ready()
    await app.begin()
    try:
        await stop.wait()
    finally:
        tasks = [follower, opener, *others, *reading.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for site in sites:
            await site.stop()
        await server.drain(LINGER_SECONDS)
        await runner.cleanup()
        await app.close()
        current.close()
        store.close()
        limiter.close()
        stderr.end()
    for task in (follower, opener):
        if not task.cancelled():
            task.result()


def _has_failed(task: asyncio.Task[None]) -> bool:
    return not task.cancelled() and task.exception() is not None


def _start_store(config: Config) -> StoreHolder:
    """The store of the settings, opened if it can be opened now."""
    assert config.state
    leased, strict = config.lease, config.quota_strict
    opener = partial(open_store, config.quota, config.state, lease=leased, strict=strict)
    store = StoreHolder(opener)
    store.start()
    return store


async def _start_sites(
    runner: web.ServerRunner, listeners: Sequence[socket.socket]
) -> Sequence[web.SockSite]:
    """Accept connections on the sockets."""
    await runner.setup()
    sites = [web.SockSite(runner, listener, backlog=_BACKLOG) for listener in listeners]
    for site in sites:
        await site.start()
    return sites


def _prepare(current: CurrentGeneration) -> None:
    """Make what many requests need before connections are accepted: each takes some tenths of a second of Python."""
    activities.activity_index()
    # A search says what is wrong.
    with suppress(ApiError, ShardError), current.lease() as generation:
        generation.shards.own_session()


async def _prepare_next(generation: OpenGeneration, *, warm: bool) -> None:
    """Gather the arrays of a later generation, which was just compared, and keep it in memory if it fits."""
    await asyncio.to_thread(generation.shards.own_session)
    opened = generation.generation
    if warm and read_ahead.fits(opened.shard_files):
        read_ahead.keep(opened)


class StartupReader:
    """Reads each generation into memory that is served without having been read, one at a time."""

    def __init__(self, current: CurrentGeneration) -> None:
        self._current = current
        self.tasks: list[asyncio.Task[None]] = []

    def hold_back(self) -> None:
        """Let /readyz wait until the shards are in memory, for a minute at most."""
        self._current.is_reading = True
        asyncio.get_running_loop().call_later(_READING_SECONDS, self._end)

    def start(self, opened: Generation) -> None:
        """Read a generation in place of the one that is being read."""
        for task in self.tasks:
            task.cancel()
        read = read_ahead.read(opened, self._end, self._current.damage.add)
        self.tasks = [asyncio.create_task(read)]

    def _end(self) -> None:
        self._current.is_reading = False


def _tune_allocator() -> None:
    """Let glibc return large arrays to the system as soon as they are freed, in the processes of exports too.

    By itself it takes larger and larger ones from its heap, of which each thread has one, and keeps twice as much.
    A value of the operator's environment stays.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    for name, option, value in _ALLOCATOR:
        if name not in os.environ:
            os.environ[name] = str(value)
            if mallopt:  # not in musl
                mallopt(option, value)


def _tune_collector() -> None:
    """Exclude the objects of the start from the search for cycles, and search less often.

    Those objects live as long as the process, and a request leaves cycles only where it failed.
    Python's default, a search every 700 objects, takes a twentieth of the time of a keyed search.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECTION_THRESHOLD)


def _listen_to_signals(stop: asyncio.Event, current: CurrentGeneration, parent: int) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, current.wake)
    loop.add_reader(parent, stop.set)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # a platform without it; asyncio's own loop does the same, slower
        return None
    return uvloop.new_event_loop
