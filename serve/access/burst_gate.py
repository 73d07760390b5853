"""The burst limits of D7, checked before anything else of a request is read.

A bucket belongs to an organisation, however many keys it has (A8), or else to an address. An address
has one bucket for searches and records, with a limit per day, and one each for public lists, pages and files. A caller
with an invalid key counts as a visitor here too (A1), so that keys cannot be tried at will. A refused
call takes nothing from any counter (D1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final, Protocol

from quota.bursts import Wait
from quota.plans import Plan
from serve.access import counter_headers
from serve.access.counter_headers import BurstRemaining, PlanLimits
from serve.access.rights import Caller
from serve.config import BurstLimits
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.text import Text
from serve.request.client_address import bucket

# Bytes of a form that count as one more: the largest list counts as 65, of 300 a minute.
SENT: Final = 64 << 10
# Pages of the account per minute and person.
ACCOUNT_PAGES: Final = 120


class Limiter(Protocol):
    """The part of quota.bursts.BurstLimiter that the server uses."""

    def allow(self, who: str, per_minute: int, now: float, calls: int = 1) -> Wait: ...

    def day(self, who: str, limit: int, now: float) -> Wait: ...

    def visit(self, who: str, per_minute: int, per_day: int, now: float) -> tuple[Wait, Wait]: ...


@dataclass(frozen=True, slots=True)
class BurstGate:
    """The burst limits of each plan, by slug, and those of what is no call (per minute and address)."""

    limiter: Limiter
    limits: Mapping[str, PlanLimits]
    debit: BurstLimits

    def count_call(self, caller: Caller, address: str | None, now: datetime) -> BurstRemaining:
        """Count a search, a record or a look at the account.

        Raises:
            ApiError: 429 `trop_de_requetes`.
        """
        limits = self.limits[caller.plan.slug]
        if caller.account is not None:
            who = f"compte {caller.account.id}"
            return BurstRemaining(self._minute(who, limits.par_minute, now, limits.fixed))
        who = f"visiteur {bucket(address)}"
        minute, day = self.limiter.visit(who, limits.par_minute, limits.par_jour, now.timestamp())
        for window, limit, wait in (
            ("minute", limits.par_minute, minute),
            ("jour", limits.par_jour, day),
        ):
            if wait.seconds:
                headers = counter_headers.of_visitor(limits)
                raise _too_fast(window, limit, wait.seconds, now, headers)
        return BurstRemaining(minute.remaining, day.remaining)

    def calls_a_minute(self, plan: Plan) -> Text:
        """The calls of an organisation with `plan`, as a part of a message."""
        return errors.text("appels_par_minute", count=self.limits[plan.slug].par_minute)

    def lists(self, address: str | None, now: datetime) -> None:
        """Count a public list.

        Raises:
            ApiError: 429 `trop_de_requetes`.
        """
        self._other(f"listes {bucket(address)}", self.debit.listes, now)

    def pages(self, address: str | None, now: datetime, sent: int = 0) -> None:
        """Count a page, or a form, which counts once more for each SENT of its bytes.

        Raises:
            ApiError: 429 `trop_de_requetes`.
        """
        self._other(f"pages {bucket(address)}", self.debit.pages, now, 1 + sent // SENT)

    def account_page(self, person: str, now: datetime) -> None:
        """Count a page of the account.

        Raises:
            ApiError: 429 `trop_de_requetes`.
        """
        wait = self.limiter.allow(f"page {person}", ACCOUNT_PAGES, now.timestamp())
        if wait.seconds:
            raise too_many("minute", ACCOUNT_PAGES, wait.seconds, now)

    def files(self, address: str | None, now: datetime) -> None:
        """Count an answer that is sent as it is.

        Raises:
            ApiError: 429 `trop_de_requetes`.
        """
        self._other(f"fichiers {bucket(address)}", self.debit.fichiers, now)

    def _other(self, who: str, limit: int, now: datetime, calls: int = 1) -> None:
        self._minute(who, limit, now, counter_headers.UNMETERED, calls)

    def _minute(
        self, who: str, limit: int, now: datetime, headers: Mapping[str, str], calls: int = 1
    ) -> int:
        wait = self.limiter.allow(who, limit, now.timestamp(), calls)
        if wait.seconds:
            raise _too_fast("minute", limit, wait.seconds, now, headers)
        return wait.remaining


def too_many(window: str, limit: int, wait: float, now: datetime) -> ApiError:
    """429: a limit of the `minute` or the `jour` is used up for `wait` seconds."""
    seconds = max(1, ceil(wait))
    quota = counter_headers.quota("debit", limit, limit, now + timedelta(seconds=seconds))
    return ApiError(
        "trop_de_requetes_du_jour" if window == "jour" else "trop_de_requetes",
        quota=quota,
        retry_after=seconds,
    )


def _too_fast(
    window: str, limit: int, wait: float, now: datetime, headers: Mapping[str, str]
) -> ApiError:
    error = too_many(window, limit, wait, now)
    burst = counter_headers.of_burst(window, limit, max(1, ceil(wait)))
    error.headers |= {**headers, **burst}
    return error
