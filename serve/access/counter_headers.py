"""The headers and objects that report a counter: D3, D11, the `quota` object of D4, the IETF draft.

`RateLimit-Policy` and `RateLimit` follow draft-ietf-httpapi-ratelimit-headers (structured fields, RFC 9651): the limits
of a plan, and their remainders. `jour` is the calls of the UTC day, `mois` the exports of the UTC month, `minute` the
token bucket of D7. A response for shared caches has none of these headers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final, NamedTuple

from quota.ledger.calls import Meter
from quota.plans import Plan
from serve.access.rights import is_visitor_plan
from serve.config import BurstLimits

# Seconds of the two windows.
MINUTE: Final = 60
DAY: Final = 86_400

# The headers of a response that no daily quota counts, such as a public list.
UNMETERED: Final = {"X-Quota-Limit": "0", "X-Quota-Used": "0"}

# The headers of a response by name.
Headers = dict[str, str]


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """The limits of a plan.

    Attributes:
        par_minute: calls per minute.
        par_jour: calls per day; for a visitor, of the address; for an account, of the organisation.
        fixed: the headers that have the same value on every response to a caller with this plan.
    """

    par_minute: int
    par_jour: int
    fixed: Mapping[str, str]


class BurstRemaining(NamedTuple):
    """The requests that the burst limits leave after the current request; only a visitor has a `jour`."""

    minute: int
    jour: int = 0


# The limits and remaining requests of a request before its admission, when they are not known yet.
NO_LIMITS: Final = PlanLimits(0, 0, {})
NOTHING_LEFT: Final = BurstRemaining(0)


def plan_limits(plan: Plan, debit: BurstLimits) -> PlanLimits:
    """The limits of a plan, from its figures and from the burst limits of the settings (`[debit]`)."""
    par_minute = int(getattr(debit, plan.slug))
    par_jour = debit.visiteur_jour if is_visitor_plan(plan) else plan.appels_api_par_jour
    fixed = {
        "X-Plafond-Resultats": str(plan.resultats_par_recherche),
        "X-Quota-Limit": str(plan.appels_api_par_jour),
        "RateLimit-Policy": f'"jour";q={par_jour};w={DAY}, "minute";q={par_minute};w={MINUTE}',
    }
    return PlanLimits(par_minute, par_jour, fixed)


def visitor(limits: PlanLimits, left: BurstRemaining, now: datetime) -> Headers:
    """The headers of a visitor: its calls are limited by address, and no quota counts them (A10)."""
    reset = DAY - int(now.timestamp()) % DAY
    return {
        **limits.fixed,
        "X-Quota-Used": "0",
        "X-Quota-Reset": str(reset),
        "RateLimit": f'"jour";r={left.jour};t={reset}, "minute";r={left.minute}',
    }


def calls(limits: PlanLimits, meter: Meter, left: BurstRemaining, now: datetime) -> Headers:
    """The headers of an organisation's calls of the day, including the current call (D3)."""
    reset = seconds(meter.reset, now)
    remaining = max(0, meter.limit - meter.used)
    return {
        **limits.fixed,
        "X-Quota-Used": str(meter.used),
        "X-Quota-Reset": str(reset),
        "RateLimit": f'"jour";r={remaining};t={reset}, "minute";r={left.minute}',
    }


def exports(limits: PlanLimits, meter: Meter, left: BurstRemaining, now: datetime) -> Headers:
    """The headers with an organisation's exports of the month and its calls of the minute (D3).

    Args:
        meter: the exports of the month, including the current export if it counts.
        left: the calls that are left in the current minute.
    """
    reset = seconds(meter.reset, now)
    month_start = (meter.reset - timedelta(days=1)).replace(day=1)
    month_seconds = seconds(meter.reset, month_start)
    remaining = max(0, meter.limit - meter.used)
    policy = f'"mois";q={meter.limit};w={month_seconds}, "minute";q={limits.par_minute};w={MINUTE}'
    return {
        "X-Quota-Limit": str(meter.limit),
        "X-Quota-Used": str(meter.used),
        "X-Quota-Reset": str(reset),
        "RateLimit-Policy": policy,
        "RateLimit": f'"mois";r={remaining};t={reset}, "minute";r={left.minute}',
    }


def credits(cost: int, left: int) -> Headers:
    """The headers of a record: the credits charged and the credits left (D11)."""
    return {"X-Credits-Debites": str(cost), "X-Credits-Restants": str(left)}


def refused_visitor_headers(limits: PlanLimits) -> Headers:
    """The headers of the daily quota for a visitor that a burst limit refuses."""
    return {**limits.fixed, "X-Quota-Used": "0"}


def burst_headers(window: str, limit: int, wait: int) -> Headers:
    """The headers of a burst limit that is used up for `wait` seconds; `window` is `minute` or `jour`."""
    return {
        "RateLimit-Policy": f'"{window}";q={limit};w={MINUTE if window == "minute" else DAY}',
        "RateLimit": f'"{window}";r=0;t={wait}',
    }


def is_daily_limit_reached(headers: Mapping[str, str]) -> bool:
    """Whether these headers report the daily burst limit as used up.

    >>> limits = (burst_headers("jour", 1000, 76_696), burst_headers("minute", 60, 1))
    >>> tuple(map(is_daily_limit_reached, limits))
    (True, False)
    """
    return headers.get("RateLimit-Policy", "").startswith('"jour";')


def quota(kind: str, limite: int, utilise: int, reset: datetime) -> dict[str, Any]:
    """The object `quota` of an error (D4); `utilise` may exceed `limite` after a change to a lower plan."""
    return {
        "type": kind,
        "limite": limite,
        "utilise": utilise,
        "restant": max(0, limite - utilise),
        "reinitialisation": iso(reset),
    }


def seconds(reset: datetime, now: datetime) -> int:
    """Whole seconds until `reset`, at least 1: a client must not retry too early."""
    return max(1, ceil((reset - now).total_seconds()))


def iso(moment: datetime) -> str:
    """A moment in UTC, in the format of the API: `2026-11-22T00:00:00Z`."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
