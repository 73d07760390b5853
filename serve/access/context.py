"""What every request is answered with: the data, the counters, the limits, the plans.

Made once for a serving process; nothing of it changes while it serves but what `published` holds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from quota.plans import Plan
from serve.access import quota_headers
from serve.access.burst_gate import BurstGate, Limiter
from serve.access.next_plan import offers
from serve.access.store_holder import KeyUsage, StoreHolder
from serve.config import BurstLimits, Network
from serve.data.current_generation import CurrentGeneration
from serve.export.worker_pool import Exporter, WorkerPool
from serve.observe.metrics import Metrics

Clock = Callable[[], datetime]

_DEFAULT_DEBIT: Final = BurstLimits()


@dataclass(frozen=True, slots=True)
class ServerContext:
    """What every request is answered with. `offers`: JSON of `offre_suivante` by plan."""

    published: CurrentGeneration
    counters: StoreHolder
    gate: BurstGate
    plans: Mapping[str, Plan]
    offers: Mapping[str, bytes]
    debit: BurstLimits
    base_url: str
    trusted: Sequence[Network]
    mcp_origins: Sequence[str]
    metrics: Metrics
    now: Clock
    exporter: Exporter | None
    uses: KeyUsage


def make_context(
    published: CurrentGeneration,
    counters: StoreHolder,
    limiter: Limiter,
    plans: Mapping[str, Plan],
    *,
    debit: BurstLimits = _DEFAULT_DEBIT,
    base_url: str = "",
    trusted: Sequence[Network] = (),
    mcp_origins: Sequence[str] = (),
    metrics: Metrics | None = None,
    now: Clock = lambda: datetime.now(UTC),
    makers: WorkerPool | None = None,
) -> ServerContext:
    """A site of these parts; the clock is one of them, so that midnight can be tested."""
    terms = {slug: quota_headers.terms(plan, debit) for slug, plan in plans.items()}
    gate = BurstGate(limiter, terms, debit.listes)
    return ServerContext(
        published,
        counters,
        gate,
        plans,
        offers(plans),
        debit,
        base_url,
        trusted,
        mcp_origins,
        metrics or Metrics(),
        now,
        Exporter(makers, debit.exports, now) if makers else None,
        KeyUsage(),
    )
