"""One serving process: it listens on a socket, follows DATA/CURRENT, and stops without a loss.

SIGTERM and SIGINT: stop accepting, answer what still comes on open connections, finish what is in
flight, leave. SIGHUP: look for a new generation now. The socket is bound by whoever starts the
process (serve/process/port.py).
"""

import asyncio
import gc
import signal
import socket
from collections.abc import Callable
from functools import partial
from typing import Final

from aiohttp import web

from quota.bursts.limiter import BurstLimiter
from quota.open_store import open_store
from serve.access.context import make_context
from serve.access.store_holder import StoreHolder
from serve.config import Config
from serve.data.current_generation import CurrentGeneration
from serve.export.worker_pool import WorkerPool
from serve.http.app import make_handler
from serve.http.connection import Server, make_server
from serve.process import handover
from serve.process.handover import HandoverError
from serve.process.port import DRAIN_SECONDS, LINGER_SECONDS
from serve.process.read_ahead import ReadAhead
from serve.website import signing
from serve.website.page_request import make_page_context
from shards.generations import generation_files

_BACKLOG: Final = 1_024
# Objects that are made and not freed, net, until Python looks for cycles among them.
_YOUNG: Final = 10_000


def run(
    config: Config,
    bound: socket.socket,
    *,
    ready: Callable[[], None],
    parent: int | None = None,
    others: int = 0,
) -> None:
    """Serve on `bound` until told to stop, on the fastest event loop there is.

    Args:
        ready: called once connections are accepted.
        parent: a descriptor that becomes readable when the process must not outlive its parent.
        others: sockets of the server whose place is taken, which listen on the same port.
    """
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(config, bound, ready, parent, others))


async def _serve(
    config: Config,
    bound: socket.socket,
    ready: Callable[[], None],
    parent: int | None,
    others: int,
) -> None:
    assert config.data and config.state
    published = CurrentGeneration(config.data)
    published.start()
    if others and published.generation is None:
        raise HandoverError(f"nothing in {config.data} can be served: the old server stays")
    counters = StoreHolder(
        partial(
            open_store, config.quota, config.state, lease=config.lease, strict=config.quota_strict
        )
    )
    counters.start()
    limiter = BurstLimiter(config.state)
    makers = WorkerPool(config.spool or config.state / "exports", config.makers)
    makers.start()
    stop = asyncio.Event()
    _listen_to_signals(stop, published, parent)
    server = _server(config, published, counters, limiter, makers)
    runner = web.ServerRunner(server, shutdown_timeout=DRAIN_SECONDS)
    await runner.setup()
    listener = web.SockSite(runner, bound, backlog=_BACKLOG)
    await listener.start()
    opener = asyncio.create_task(counters.keep_open())
    follower = asyncio.create_task(published.follow())
    # It never ends by itself: if it does, no generation would be taken up any more.
    follower.add_done_callback(lambda _: stop.set())
    alone = asyncio.create_task(_take_over(bound, config.workers, others))
    ready()
    _spare_the_collector()
    warming = _warming(config, published)
    try:
        await stop.wait()
    finally:
        if warming:
            warming.stop()
        for task in (opener, follower, alone):
            task.cancel()
        await asyncio.wait([follower, opener, alone])
        await listener.stop()
        await server.drain(LINGER_SECONDS)
        await runner.cleanup()
        await makers.close()
        published.close()
        counters.close()
        limiter.close()
    if not follower.cancelled():
        follower.result()


def _spare_the_collector() -> None:
    """Let Python look for cycles among what requests leave, not among what lasts.

    What there is after the start stays as long as the process, and a request leaves no cycles but
    where it failed: to look every 700 objects is a twentieth of a keyed search.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)


def _server(
    config: Config,
    published: CurrentGeneration,
    counters: StoreHolder,
    limiter: BurstLimiter,
    makers: WorkerPool,
) -> Server:
    """What answers, of these parts."""
    assert config.state
    context = make_context(config, published, counters, limiter, makers)
    pages = make_page_context(context, signing.load(config.state), limiter)
    return make_server(make_handler(pages), context.metrics)


async def _take_over(bound: socket.socket, workers: int, others: int) -> None:
    """Have all new connections, until the server that had the port is gone."""
    if others and handover.steer(bound, others):
        port = bound.getsockname()[1]
        while handover.listening(port) > workers:
            await asyncio.sleep(handover.PAUSE_SECONDS)
        handover.steer_no_more(bound)


def _warming(config: Config, published: CurrentGeneration) -> ReadAhead | None:
    """The thread that reads the generation being served, if that is wanted and there is one."""
    generation = published.generation
    if not config.warm or generation is None:
        return None
    assert config.data
    folder = config.data / generation
    files = sorted(folder.glob("*.shard"), key=lambda path: path.stat().st_size)
    warming = ReadAhead(
        folder / generation_files.MANIFEST, files, lambda: published.generation == generation
    )
    warming.start()
    return warming


def _listen_to_signals(
    stop: asyncio.Event, published: CurrentGeneration, parent: int | None
) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, published.wake)
    if parent is not None:
        loop.add_reader(parent, stop.set)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # a platform without it; asyncio's own loop does the same, slower
        return None
    return uvloop.new_event_loop
