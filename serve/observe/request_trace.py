"""What is known of a request when its log line is written; each step of serve/http/app.py adds to it."""

from dataclasses import dataclass, field
from time import perf_counter

from serve.request.params import Pairs


@dataclass(slots=True)
class RequestTrace:
    request_id: str
    path: str
    route: str | None = None
    plan: str | None = None
    generation: str | None = None
    pairs: Pairs = ()
    address: str | None = None  # of the caller, behind proxies that are trusted
    account: str | None = None
    tool: str | None = None  # of the MCP, where one was called; never its arguments
    # What became of the counters: taken, charged, already, free, or the code of a refusal.
    quota: str = ""
    # uvloop's own clock, which aiohttp would measure with, counts whole milliseconds.
    started: float = field(default_factory=perf_counter)

    @property
    def seconds(self) -> float:
        """How long the request has taken so far."""
        return perf_counter() - self.started
