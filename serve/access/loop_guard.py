"""The guards of the event loop, which no client may hold for others: places of visitors, and a thread for bodies.

Places: callers without an account have a few for each network. The network is an IPv4 address or an IPv6 /48: a
customer with 65 536 networks of a /64 would else have as many places. The loop answers whatever is ready, in turn. A
client with sixty connections has sixty requests ready at once, and each other request would wait for them at every step
of its own. So requests of one network wait here for a place, and their place stays taken for as long as the request
lasted: the network has half of the loop at most. After a refusal it stays taken for longer, so whoever asks on and on
is refused a few times a second. Callers with an account have limits of their own (serve/access/burst_gate.py) and never
wait here.

Bodies: a client without a key may send a body that takes Python as long as a hundred searches. A short one is parsed
where it is; any other in the one thread of the process, one after the other, so that at most one competes with the loop
for Python's lock.
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
from serve.request.client_address import site

T = TypeVar("T")

# Seconds that a place stays taken beyond a request, at least and at most; the latter after a refusal.
_SHORTEST_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.05

# Bytes of a body that are parsed on the loop, in a millisecond at most. Nearly every question is shorter.
PARSED_HERE: Final = 8 << 10

_thread: Final = ThreadPoolExecutor(1, thread_name_prefix="bodies")


class VisitorLanes:
    """The places of all networks in one process."""

    def __init__(self, places: int) -> None:
        """
        Args:
            places: requests of one network that are answered at the same time.
        """
        self._places = places
        self._lanes: dict[str, _Lane] = {}

    async def enter(self, trace: RequestTrace) -> None:
        """Wait for a place for a request, unless it has one already."""
        if trace.lane is not None:
            return
        network = site(trace.address)
        lane = self._lanes.get(network)
        if lane is None:
            lane = self._lanes[network] = _Lane(self._places)
        if lane.free > 0:
            lane.free -= 1
        else:
            await self._wait(network, lane)
        trace.lane, trace.entered = network, perf_counter()
        VISIT.set(True)

    def leave(self, trace: RequestTrace, *, refused: bool = False) -> None:
        """Give back the place of a request, if it has one; others get it after a pause, a long one if `refused`."""
        if trace.lane is not None:
            network, trace.lane = trace.lane, None
            VISIT.set(False)
            lasted = perf_counter() - trace.entered
            pause = max(_SHORTEST_PAUSE, min(lasted, _LONGEST_PAUSE))
            if refused or trace.quota == "trop_de_requetes":
                pause = _LONGEST_PAUSE
            asyncio.get_running_loop().call_later(pause, self._give_back, network)

    async def _wait(self, network: str, lane: "_Lane") -> None:
        turn = asyncio.get_running_loop().create_future()
        lane.waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back(network)
            raise

    def _give_back(self, network: str) -> None:
        lane = self._lanes[network]
        while lane.waiting:
            turn = lane.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        lane.free += 1
        if lane.free == self._places:
            del self._lanes[network]


class _Lane:
    """The places of a network that are free, and the requests that wait for one."""

    __slots__ = ("free", "waiting")

    def __init__(self, free: int) -> None:
        self.free = free
        self.waiting: deque[asyncio.Future[None]] = deque()


async def parse(size: int, read: Callable[[], T]) -> T:
    """The result of `read`, which parses a body of `size` bytes.

    A cancelled caller still waits for it, since it may read a generation that the caller leases.
    """
    if size <= PARSED_HERE:
        return read()
    return await open_generation.run_in(_thread, partial(_read, read))


def _read(read: Callable[[], T]) -> T:
    """The result of `read`; its error leaves nothing behind that was parsed, which the loop would have to free."""
    try:
        return read()
    except ApiError as error:
        error.__cause__ = error.__context__ = None
        raise error.with_traceback(None)  # noqa: B904 - it is the same error
