"""The headers and objects that report a counter: D3, D11, the `quota` object of D4, the IETF draft.

`RateLimit-Policy` and `RateLimit` follow draft-ietf-httpapi-ratelimit-headers (structured fields,
RFC 9651): what a plan allows and what is left of it, `jour` for the calls of the UTC day, `mois` for
the exports of the UTC month, `minute` for the token bucket of D7. A response that any cache may keep
has none of these headers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final, NamedTuple

from quota.ledger.calls import Meter
from quota.plans import Plan
from serve.access.rights import apercu
from serve.config import BurstLimits

MINUTE: Final = 60
DAY: Final = 86_400

# A public list has no daily quota, for anybody.
UNMETERED: Final = {"X-Quota-Limit": "0", "X-Quota-Used": "0"}

Headers = dict[str, str]


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """The limits of a plan.

    Attributes:
        par_minute: calls per minute.
        par_jour: calls per day: of an address for a visitor, of the organisation for all others.
        fixed: the headers that are the same on every response.
    """

    par_minute: int
    par_jour: int
    fixed: Mapping[str, str]


class BurstRemaining(NamedTuple):
    """The requests that the burst limits leave after this one; only a visitor has a `jour`."""

    minute: int
    jour: int = 0


# Of a request that is not admitted yet.
NO_LIMITS: Final = PlanLimits(0, 0, {})
NOTHING_LEFT: Final = BurstRemaining(0)


def plan_limits(plan: Plan, debit: BurstLimits) -> PlanLimits:
    """The limits of a plan, with those of the section `[debit]`."""
    par_minute = int(getattr(debit, plan.slug))
    par_jour = debit.visiteur_jour if apercu(plan) else plan.appels_api_par_jour
    fixed = {
        "X-Plafond-Resultats": str(plan.resultats_par_recherche),
        "X-Quota-Limit": str(plan.appels_api_par_jour),
        "RateLimit-Policy": f'"jour";q={par_jour};w={DAY}, "minute";q={par_minute};w={MINUTE}',
    }
    return PlanLimits(par_minute, par_jour, fixed)


def visitor(limits: PlanLimits, left: BurstRemaining, now: datetime) -> Headers:
    """The headers of a visitor, whose calls are limited by address but not metered (A10)."""
    reset = DAY - int(now.timestamp()) % DAY
    return {
        **limits.fixed,
        "X-Quota-Used": "0",
        "X-Quota-Reset": str(reset),
        "RateLimit": f'"jour";r={left.jour};t={reset}, "minute";r={left.minute}',
    }


def calls(limits: PlanLimits, meter: Meter, left: BurstRemaining, now: datetime) -> Headers:
    """The calls of an organisation today, this one included (D3)."""
    reset = seconds(meter.reset, now)
    rest = max(0, meter.limit - meter.used)
    return {
        **limits.fixed,
        "X-Quota-Used": str(meter.used),
        "X-Quota-Reset": str(reset),
        "RateLimit": f'"jour";r={rest};t={reset}, "minute";r={left.minute}',
    }


def exports(limits: PlanLimits, meter: Meter, left: BurstRemaining, now: datetime) -> Headers:
    """The exports of an organisation this month, this one included if it counts (D3)."""
    reset = seconds(meter.reset, now)
    start = (meter.reset - timedelta(days=1)).replace(day=1)
    whole = seconds(meter.reset, start)
    rest = max(0, meter.limit - meter.used)
    policy = f'"mois";q={meter.limit};w={whole}, "minute";q={limits.par_minute};w={MINUTE}'
    return {
        "X-Quota-Limit": str(meter.limit),
        "X-Quota-Used": str(meter.used),
        "X-Quota-Reset": str(reset),
        "RateLimit-Policy": policy,
        "RateLimit": f'"mois";r={rest};t={reset}, "minute";r={left.minute}',
    }


def credits(cost: int, left: int) -> Headers:
    """The headers of a record: the credits that it cost, and those that remain (D11)."""
    return {"X-Credits-Debites": str(cost), "X-Credits-Restants": str(left)}


def of_visitor(limits: PlanLimits) -> Headers:
    """The daily quota of a visitor who was refused."""
    return {**limits.fixed, "X-Quota-Used": "0"}


def of_burst(window: str, limit: int, wait: int) -> Headers:
    """A burst limit that is used up for `wait` seconds; `window` is `minute` or `jour`."""
    return {
        "RateLimit-Policy": f'"{window}";q={limit};w={MINUTE if window == "minute" else DAY}',
        "RateLimit": f'"{window}";r=0;t={wait}',
    }


def is_of_day(headers: Mapping[str, str]) -> bool:
    """Do these headers say that the burst limit of the day is used up?

    >>> is_of_day(of_burst("jour", 1000, 76_696)), is_of_day(of_burst("minute", 60, 1))
    (True, False)
    """
    return headers.get("RateLimit-Policy", "").startswith('"jour";')


def quota(kind: str, limite: int, utilise: int, reset: datetime) -> dict[str, Any]:
    """The object of D4; `utilise` may exceed `limite` where the plan was lowered since."""
    return {
        "type": kind,
        "limite": limite,
        "utilise": utilise,
        "restant": max(0, limite - utilise),
        "reinitialisation": iso(reset),
    }


def seconds(reset: datetime, now: datetime) -> int:
    """Whole seconds until `reset`, never 0: a client must not come back too early."""
    return max(1, ceil((reset - now).total_seconds()))


def iso(moment: datetime) -> str:
    """A moment in UTC as it is on the wire: `2026-11-22T00:00:00Z`."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
