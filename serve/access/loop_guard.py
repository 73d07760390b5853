"""Guards that keep a client from blocking the event loop: places for visitors, and a thread for bodies.

Places: each network has a lane (`_Lane`) with a few places for callers without an account. A network is an IPv4 address
or an IPv6 /48; a customer can have 65 536 /64 networks, so a /64 would be too small. The loop takes one step of each
ready request, so a client with sixty connections would slow down every step of all other requests. Therefore requests
of a network wait here for a place. After a request its place stays taken for as long as the request lasted (2 to 50
ms), so that a network uses at most half of the loop. After a refusal the place stays taken for 50 ms, so that a place
refuses at most 20 requests a second. Callers with an account have their own limits (serve/access/burst_gate.py) and do
not wait here.

Bodies: parsing the body of a client without a key can take as long as a hundred searches. A short body is parsed on the
loop. Longer bodies are parsed one after the other in a single thread, so that at most one competes with the loop for
Python's lock.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import Final, TypeVar

from serve.contract.errors import ApiError
from serve.generation import open_generation
from serve.generation.open_generation import VISIT
from serve.observe.log import RequestTrace
from serve.request.client_address import lane_key

T = TypeVar("T")

# The fewest and the most seconds that a place stays taken after a request; after a refusal it stays taken for the most.
_SHORTEST_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.05

# The most bytes of a body that is parsed on the loop, which takes a millisecond at most. Nearly all bodies are shorter.
LARGEST_ON_LOOP: Final = 8 << 10

# The single thread in which longer bodies are parsed.
_body_thread: Final = ThreadPoolExecutor(1, thread_name_prefix="bodies")


class VisitorLanes:
    """The lanes of all networks in one process, in which requests without an account wait for a place."""

    def __init__(self, places: int) -> None:
        """Begin without lanes; a network gets its lane with its first request.

        Args:
            places: the number of requests of a network that are answered at the same time.
        """
        self._places = places
        self._lanes: dict[str, _Lane] = {}

    async def enter(self, trace: RequestTrace) -> None:
        """Wait until the network of a request has a free place, and take it.

        A network has few places, so that it cannot fill the server. A request that has a place already does not wait.
        """
        if trace.lane is not None:
            return
        network = lane_key(trace.address)
        lane = self._lanes.get(network)
        if lane is None:
            lane = self._lanes[network] = _Lane(self._places)
        if lane.free > 0:
            lane.free -= 1
        else:
            await self._wait(network, lane)
        trace.lane, trace.entered = network, perf_counter()
        VISIT.set(True)  # searches of this task run in the thread of visitors

    def leave(self, trace: RequestTrace, *, refused: bool = False) -> None:
        """Give back the place of a request, if it has one, after a pause: a long pause if the request was `refused`."""
        if trace.lane is not None:
            network, trace.lane = trace.lane, None
            VISIT.set(False)
            duration = perf_counter() - trace.entered
            pause = max(_SHORTEST_PAUSE, min(duration, _LONGEST_PAUSE))
            if refused or trace.quota == "trop_de_requetes":
                pause = _LONGEST_PAUSE
            asyncio.get_running_loop().call_later(pause, self._give_back, network)

    async def _wait(self, network: str, lane: "_Lane") -> None:
        """Wait in line until another request of the network gives its place to this one.

        If the client leaves meanwhile (the task is cancelled), a place that was just given goes to the next in line.
        """
        place = asyncio.get_running_loop().create_future()
        lane.waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            # This request was given the place, then cancelled, so another request gets it.
            if place.done() and not place.cancelled():
                self._give_back(network)
            raise

    def _give_back(self, network: str) -> None:
        """Give a place to the first request that still waits; if none does, the place is free."""
        lane = self._lanes[network]
        while lane.waiting:
            waiting_request = lane.waiting.popleft()
            if not waiting_request.done():  # a done one was cancelled while it waited
                waiting_request.set_result(None)
                return
        lane.free += 1
        if lane.free == self._places:  # all places are free: no request of the network is left
            del self._lanes[network]


class _Lane:
    """The number of free places of a network, and the requests that wait for a place, as futures."""

    __slots__ = ("free", "waiting")

    def __init__(self, free: int) -> None:
        self.free = free
        self.waiting: deque[asyncio.Future[None]] = deque()


async def parse(size: int, read: Callable[[], T]) -> T:
    """Call `read`, which parses a body of `size` bytes, on the loop or in the thread.

    A cancelled caller still waits for the thread, because the thread may read a generation, which the caller must not
    release before.
    """
    if size <= LARGEST_ON_LOOP:
        return read()
    return await open_generation.run_in(_body_thread, partial(_read_without_traceback, read))


def _read_without_traceback(read: Callable[[], T]) -> T:
    """Call `read`, and raise its error without a traceback.

    The traceback refers to the parsed values, so the loop would have to free them.
    """
    try:
        return read()
    except ApiError as error:
        error.__cause__ = error.__context__ = None
        raise error.with_traceback(None)  # noqa: B904 - the same error is raised again
