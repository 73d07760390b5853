"""May this caller pass now? The burst limits of D7, before anything of a request is looked at.

A bucket belongs to an organisation, whatever the number of its keys (A8), or else to an address:
one for searches and records, with a limit of the day, and one for the public lists. Whoever sends a
key that is not valid is a visitor here too (A1), so that keys cannot be tried at will. A call that
is refused takes nothing, from no counter (D1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Protocol

from quota.bursts.gcra import Wait
from serve.access import quota_headers
from serve.access.caller import Caller
from serve.access.quota_headers import Left, Terms
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.request.client_address import bucket


class Limiter(Protocol):
    """quota.bursts.limiter.BurstLimiter, or what a test puts in its place."""

    def allow(self, who: str, per_minute: int, now: float) -> Wait: ...

    def day(self, who: str, limit: int, now: float) -> Wait: ...


@dataclass(frozen=True, slots=True)
class BurstGate:
    """The limits, by the slug of a plan, and that of the lists."""

    limiter: Limiter
    terms: Mapping[str, Terms]
    listes: int

    def identified(self, caller: Caller, address: str | None, now: datetime) -> Left:
        """Let a search, a record or the account pass.

        Raises:
            ApiError: 429 `trop_de_requetes`.
        """
        terms = self.terms[caller.plan.slug]
        if caller.account is not None:
            who = f"compte {caller.account.id}"
            return Left(self._minute(who, terms.par_minute, now, terms.fixed))
        who = f"visiteur {bucket(address)}"
        minute = self._minute(who, terms.par_minute, now, quota_headers.unmetered(terms))
        wait = self.limiter.day(who, terms.par_jour, now.timestamp())
        if wait.seconds:
            raise _refused(
                "jour", terms.par_jour, wait.seconds, now, quota_headers.unmetered(terms)
            )
        return Left(minute, wait.remaining)

    def lists(self, address: str | None, now: datetime) -> None:
        """Let a public list pass.

        Raises:
            ApiError: 429 `trop_de_requetes`.
        """
        self._minute(f"listes {bucket(address)}", self.listes, now, quota_headers.UNMETERED)

    def _minute(self, who: str, limit: int, now: datetime, headers: Mapping[str, str]) -> int:
        wait = self.limiter.allow(who, limit, now.timestamp())
        if wait.seconds:
            raise _refused("minute", limit, wait.seconds, now, headers)
        return wait.remaining


def _refused(
    window: str, limit: int, wait: float, now: datetime, headers: Mapping[str, str]
) -> ApiError:
    again = max(1, ceil(wait))
    told = quota_headers.quota("debit", limit, limit, now + timedelta(seconds=again))
    error = errors.trop_de_requetes(told, again, window)
    error.headers |= {**headers, **quota_headers.spent(window, limit, again)}
    return error
