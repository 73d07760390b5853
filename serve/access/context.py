"""The values that every request needs: the data, the counters, the limits, the plans.

One context serves a whole process. Nothing in it changes but what `published` holds.
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

Clock = Callable[[], datetime]
S = TypeVar("S")


def utc_now() -> datetime:
    """The clock of a server."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ServerContext:
    """The values that every request needs.

    Attributes:
        offers: JSON of `offre_suivante`, by the slug of a plan.
        services: what features opened for this process, by its type: the pool of exports, the outbox of mails.
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
        """The service of a type that a feature opened; None where none did."""
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
