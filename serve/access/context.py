"""The values that every request needs: the data, the counters, the limits, the plans.

A process has one context. Its fields are not replaced; a new generation replaces the content of `published`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from quota import plans as plan_file
from quota.plans import Plan
from serve.access import counter_headers
from serve.access.burst_gate import BurstGate, Limiter
from serve.access.loop_guard import VisitorLanes
from serve.access.rights import offers
from serve.access.store_holder import KeyUsage, StoreHolder
from serve.config import Config
from serve.contract.feature import Product
from serve.generation.current_generation import CurrentGeneration
from serve.observe.metrics import Metrics

# Returns the current time in UTC.
Clock = Callable[[], datetime]
S = TypeVar("S")


def utc_now() -> datetime:
    """The clock of a server: the current time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ServerContext:
    """The values that every request needs.

    Attributes:
        published: has the served generation, and a new one as soon as that is published.
        holder: the store of counters, which may not be open yet.
        gate: the burst limits.
        lanes: the places for visitors (`loop_guard`): how many requests of a network are answered at the same time.
        offers: JSON of `offre_suivante`, by the slug of a plan.
        services: the objects that features opened in this process, by type: the pool of exports, the outbox of mails.
    """

    config: Config
    published: CurrentGeneration
    holder: StoreHolder
    gate: BurstGate
    plans: Mapping[str, Plan]
    offers: Mapping[str, bytes]
    metrics: Metrics
    now: Clock
    key_usage: KeyUsage
    lanes: VisitorLanes
    product: Product
    services: dict[type, Any] = field(default_factory=dict)

    def service(self, kind: type[S]) -> S | None:
        """The object of this type in `services`; None if no feature has opened one."""
        return self.services.get(kind)


def make_context(
    config: Config,
    published: CurrentGeneration,
    holder: StoreHolder,
    limiter: Limiter,
    product: Product,
    now: Clock = utc_now,
) -> ServerContext:
    """The context of a process; the clock is a parameter, so that midnight can be tested."""
    plans = plan_file.load()
    limits = {slug: counter_headers.plan_limits(plan, config.debit) for slug, plan in plans.items()}
    return ServerContext(
        config,
        published,
        holder,
        BurstGate(limiter, limits, config.debit),
        plans,
        offers(plans),
        Metrics(),
        now,
        KeyUsage(),
        VisitorLanes(config.debit.simultanes),
        product,
    )
