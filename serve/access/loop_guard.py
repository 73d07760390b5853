"""The places of callers without an account: a few for each network, so that no client holds the event loop for others.

The network is an IPv4 address or an IPv6 /48: a customer with 65 536 networks of a /64 would else have as many places.
The loop answers whatever is ready, in turn. A client with sixty connections has sixty requests ready at once, and each
other request would wait for them at every step of its own. So requests of one network wait here for a place, and their
place stays taken for as long as the request lasted: the network has half of the loop at most. After a refusal it stays
taken for longer, so whoever asks on and on is refused a few times a second. Callers with an account have limits of
their own (serve/access/burst_gate.py) and never wait here.
"""

import asyncio
from collections import deque
from time import perf_counter
from typing import Final

from serve.generation.open_generation import VISIT
from serve.observe.request_trace import RequestTrace
from serve.request.client_address import site

# Seconds that a place stays taken beyond a request, at least and at most; the latter after a refusal.
_SHORTEST_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.05


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
