"""What is known of a request when its log line is written; each step of serve/app.py adds to it."""

from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from aiohttp import web

from serve.params import Pairs


@dataclass(slots=True)
class Trace:
    request_id: str
    route: str | None = None
    plan: str | None = None
    generation: str | None = None
    pairs: Pairs = ()
    # uvloop's own clock, which aiohttp would measure with, counts whole milliseconds.
    started: float = field(default_factory=perf_counter)

    @property
    def milliseconds(self) -> float:
        """How long the request has taken so far."""
        return round((perf_counter() - self.started) * 1_000, 3)


TRACE: Final = web.RequestKey("TRACE", Trace)
