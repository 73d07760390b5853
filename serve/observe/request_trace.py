"""The record of a request from which its log line is written; each step of serve/http adds to it."""

from dataclasses import dataclass, field
from time import perf_counter

from serve.request.query_string import Pairs


@dataclass(slots=True)
class RequestTrace:
    """The facts of one request, as far as they are known."""

    request_id: str
    path: str
    route: str | None = None
    plan: str | None = None
    generation: str | None = None
    pairs: Pairs = ()
    address: str | None = None  # of the caller, behind trusted proxies
    account: str | None = None
    tool: str | None = None  # the MCP tool that was called; never its arguments
    # The result of counting: taken, charged, already, free, or the code of a refusal.
    quota: str = ""
    # The network whose place the request has, and since when (serve/access/loop_guard.py).
    lane: str | None = None
    entered: float = 0.0
    # aiohttp would measure with the clock of uvloop, which counts whole milliseconds.
    started: float = field(default_factory=perf_counter)

    @property
    def seconds(self) -> float:
        """Seconds since the request began."""
        return perf_counter() - self.started
