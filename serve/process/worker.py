"""A serving process: it listens, follows DATA/CURRENT, and stops without losing a request.

SIGTERM and SIGINT: stop accepting, answer the requests that still arrive on open connections, finish requests in
flight, exit. SIGHUP: look for a new generation now. The parent process binds the sockets (serve/process/port.py).
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

_BACKLOG: Final = 1_024  # connections that wait to be accepted, for each socket
# Net allocations (new objects minus freed objects) before Python looks for reference cycles.
_COLLECTION_THRESHOLD: Final = 10_000
# Seconds after which /readyz no longer waits for the shards to be read into memory.
_READING_SECONDS: Final = 60.0

# Variables of glibc's allocator, the numbers of mallopt(3) for them, and their values: bytes, bytes, heaps.
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
    compare_first: bool = False,
    is_replacement: bool = False,
) -> None:
    """Serve on `listeners` until a signal stops it, on uvloop if the platform has it.

    Args:
        ready: called once connections are accepted.
        parent: a descriptor that becomes readable when the parent process ends; then this process ends too.
        compare_first: reading the shards may have killed workers, so the shards are compared before they are read.
        is_replacement: this worker replaces a worker that was ready, so the shards are already in memory.
    """
    _tune_allocator()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(config, listeners, ready, parent, compare_first, is_replacement))


async def _serve(
    config: Config,
    listeners: Sequence[socket.socket],
    ready: Callable[[], None],
    parent: int,
    compare_first: bool,
    is_replacement: bool,
) -> None:
    """Open everything, accept connections, wait for a signal, close everything; the arguments are those of `run`."""
    assert config.data and config.state
    current = CurrentGeneration(config.data, config.state)
    current.start(compare_first=compare_first)
    store = _start_store(config)
    limiter = BurstLimiter(config.state)
    stop = asyncio.Event()
    _listen_to_signals(stop, current, parent)
    context = make_context(config, current, store, limiter, PRODUCT)
    stderr.on_loss = context.metrics.log_losses.inc
    app = App(context, limiter)
    _fill_caches(current)
    reading = StartupReader(current)
    current.compare_with(read_ahead.compare)
    if config.warm:
        current.on_unchecked(reading.start)
        if current.generation is not None and not is_replacement:
            reading.hold_back()  # /readyz refuses until the shards are in memory
    current.prepare_with(partial(_prepare_next, warm=config.warm))
    server = make_server(app.handler, context.metrics, context.lanes)
    runner = web.ServerRunner(server, shutdown_timeout=DRAIN_SECONDS)
    sites = await _start_sites(runner, listeners)
    opener = asyncio.create_task(store.keep_open())
    # The task ends once the store is open. If it fails, this process stops, and its parent starts another process,
    # which may be able to open the store.
    opener.add_done_callback(lambda task: stop.set() if _has_failed(task) else None)
    follower = asyncio.create_task(current.follow())
    other_tasks = [
        asyncio.create_task(context.key_usage.run(store)),
        asyncio.create_task(context.metrics.keep_measuring()),
        *map(asyncio.create_task, app.background()),
    ]
    # If the follower ends, this process stops, since it would not notice new generations.
    follower.add_done_callback(lambda _: stop.set())
    _tune_collector()
    ready()
    await app.begin()
    try:
        await stop.wait()
    finally:
        tasks = [follower, opener, *other_tasks, *reading.tasks]
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
    """Whether an ended task has raised an exception."""
    return not task.cancelled() and task.exception() is not None


def _start_store(config: Config) -> StoreHolder:
    """The store of the settings, opened if that is possible now."""
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


def _fill_caches(current: CurrentGeneration) -> None:
    """Fill caches before connections are accepted, so that no first request waits some tenths of a second for each."""
    activities.activity_index()
    # An error is ignored here, because the first search reports it as well.
    with suppress(ApiError, ShardError), current.lease() as generation:
        generation.shards.own_session()


async def _prepare_next(generation: OpenGeneration, *, warm: bool) -> None:
    """Prepare the arrays of a compared new generation, and keep the generation in memory if it fits."""
    await asyncio.to_thread(generation.shards.own_session)
    opened = generation.generation
    if warm and read_ahead.fit_in_memory(opened.shard_files):
        read_ahead.keep_in_memory(opened)


class StartupReader:
    """Reads generations into memory that are served before they have been read, one at a time."""

    def __init__(self, current: CurrentGeneration) -> None:
        """Read nothing yet; /readyz and reports of damage concern `current`."""
        self._current = current
        self.tasks: list[asyncio.Task[None]] = []

    def hold_back(self) -> None:
        """Let /readyz wait until the shards are in memory, at most a minute."""
        self._current.is_reading = True
        asyncio.get_running_loop().call_later(_READING_SECONDS, self._stop_waiting)

    def start(self, opened: Generation) -> None:
        """Read this generation, and stop reading any other."""
        for task in self.tasks:
            task.cancel()
        read = read_ahead.read(opened, self._stop_waiting, self._current.damage.add)
        self.tasks = [asyncio.create_task(read)]

    def _stop_waiting(self) -> None:
        """Let /readyz no longer refuse because shards are not in memory yet."""
        self._current.is_reading = False


def _tune_allocator() -> None:
    """Let glibc return large arrays to the system as soon as they are freed, also in the processes of exports.

    By default glibc would keep larger and larger arrays in its heaps, one per thread, and use twice the memory. A value
    in the operator's environment is not changed.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    for name, option, value in _ALLOCATOR:
        if name not in os.environ:
            os.environ[name] = str(value)
            if mallopt:  # not in musl
                mallopt(option, value)


def _tune_collector() -> None:
    """Exclude the objects of the start from garbage collection, and collect less often.

    These objects live as long as the process, and only a failed request leaves reference cycles. Python's default, a
    collection every 700 objects, takes a twentieth of the time of a search with a key.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECTION_THRESHOLD)


def _listen_to_signals(stop: asyncio.Event, current: CurrentGeneration, parent: int) -> None:
    """Set `stop` at SIGTERM, SIGINT and the end of the parent (its pipe `parent` closes); check CURRENT at SIGHUP."""
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, current.wake)
    loop.add_reader(parent, stop.set)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The factory of uvloop's event loop; None for the loop of asyncio."""
    try:
        import uvloop
    except ImportError:  # not on this platform; asyncio's loop is slower
        return None
    return uvloop.new_event_loop
