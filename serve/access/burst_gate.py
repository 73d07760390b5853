"""The burst limits of D7, checked before the parameters and the body of a request are read.

A token bucket belongs to an organisation, with all its keys (A8), or else to an address. An address has one bucket for
searches and records, with a limit per day, and one bucket each for public lists, pages and files. A caller with an
invalid key counts as a visitor (A1), so that keys cannot be guessed without limit. A refused call takes nothing from
any counter (D1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final, Protocol

from quota.bursts import BurstDecision
from quota.plans import Plan
from serve.access import counter_headers
from serve.access.counter_headers import BurstRemaining, PlanLimits
from serve.access.rights import Caller
from serve.config import BurstLimits
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.text import Text
from serve.request.client_address import bucket_key

# A form counts as one page, and as one more for every 64 KiB: the largest list uses 65 of the 300 pages of a minute.
FORM_PAGE_BYTES: Final = 64 << 10
# The most pages of the account per minute and person.
ACCOUNT_PAGES: Final = 120


class Limiter(Protocol):
    """The methods of quota.bursts.BurstLimiter that the server uses; `who` names a bucket, `now` is in seconds.

    A wait of 0 seconds means that the call was counted; else it was refused, and nothing was counted.
    """

    def allow(self, who: str, per_minute: int, now: float, calls: int = 1) -> BurstDecision:
        """Count `calls` in the limit of calls per minute of `who`."""
        ...

    def day(self, who: str, limit: int, now: float) -> BurstDecision:
        """Count one call in the limit of calls per day of `who`."""
        ...

    def visit(
        self, who: str, per_minute: int, per_day: int, now: float
    ) -> tuple[BurstDecision, BurstDecision]:
        """Count one call in both limits of `who`; return the decisions of the minute and of the day."""
        ...


@dataclass(frozen=True, slots=True)
class BurstGate:
    """The burst limits: `limits` of each plan, by slug; `debit` of lists, pages and files, per minute and address."""

    limiter: Limiter
    limits: Mapping[str, PlanLimits]
    debit: BurstLimits

    def count_call(self, caller: Caller, address: str | None, now: datetime) -> BurstRemaining:
        """Count a call, such as a search or a record, in the limits of the account or of the visitor's address.

        Raises:
            ApiError: 429 `trop_de_requetes`.
        """
        limits = self.limits[caller.plan.slug]
        if caller.account is not None:
            who = f"compte {caller.account.id}"
            return BurstRemaining(self._count_in_minute(who, limits.par_minute, now, limits.fixed))
        who = f"visiteur {bucket_key(address)}"
        minute, day = self.limiter.visit(who, limits.par_minute, limits.par_jour, now.timestamp())
        for window, limit, decision in (
            ("minute", limits.par_minute, minute),
            ("jour", limits.par_jour, day),
        ):
            if decision.seconds:  # the wait until the next call is allowed: the call was refused
                headers = counter_headers.refused_visitor_headers(limits)
                raise _burst_error(window, limit, decision.seconds, now, headers)
        return BurstRemaining(minute.remaining, day.remaining)

    def calls_a_minute(self, plan: Plan) -> Text:
        """The calls per minute of an organisation with `plan`, as a part of a message."""
        return errors.text("appels_par_minute", count=self.limits[plan.slug].par_minute)

    def lists(self, address: str | None, now: datetime) -> None:
        """Count a request for a public list in the limit of its address.

        Raises:
            ApiError: 429 `trop_de_requetes`.
        """
        self._count_without_quota(f"listes {bucket_key(address)}", self.debit.listes, now)

    def pages(self, address: str | None, now: datetime, form_bytes: int = 0) -> None:
        """Count a page in the limit of its address; a form counts once more for every FORM_PAGE_BYTES of `form_bytes`.

        Raises:
            ApiError: 429 `trop_de_requetes`.
        """
        self._count_without_quota(
            f"pages {bucket_key(address)}", self.debit.pages, now, 1 + form_bytes // FORM_PAGE_BYTES
        )

    def account_page(self, person: str, now: datetime) -> None:
        """Count a page of the account in the limit of the person who is logged in.

        Raises:
            ApiError: 429 `trop_de_requetes`.
        """
        decision = self.limiter.allow(f"page {person}", ACCOUNT_PAGES, now.timestamp())
        if decision.seconds:
            raise too_many("minute", ACCOUNT_PAGES, decision.seconds, now)

    def files(self, address: str | None, now: datetime) -> None:
        """Count a file, an answer that is not a call, a list or a page, in the limit of its address.

        Raises:
            ApiError: 429 `trop_de_requetes`.
        """
        self._count_without_quota(f"fichiers {bucket_key(address)}", self.debit.fichiers, now)

    def _count_without_quota(self, who: str, limit: int, now: datetime, calls: int = 1) -> None:
        """Count a list, a page or a file, which has no daily quota. Raises ApiError 429."""
        self._count_in_minute(who, limit, now, counter_headers.UNMETERED, calls)

    def _count_in_minute(
        self, who: str, limit: int, now: datetime, headers: Mapping[str, str], calls: int = 1
    ) -> int:
        """Count `calls` in the bucket `who`; return the calls that are left. Raises ApiError 429 with `headers`."""
        decision = self.limiter.allow(who, limit, now.timestamp(), calls)
        if decision.seconds:
            raise _burst_error("minute", limit, decision.seconds, now, headers)
        return decision.remaining


def too_many(window: str, limit: int, wait: float, now: datetime) -> ApiError:
    """The 429 for a limit of a `window` (`minute` or `jour`) that is used up for `wait` seconds."""
    seconds = max(1, ceil(wait))
    quota = counter_headers.quota("debit", limit, limit, now + timedelta(seconds=seconds))
    return ApiError(
        "trop_de_requetes_du_jour" if window == "jour" else "trop_de_requetes",
        quota=quota,
        retry_after=seconds,
    )


def _burst_error(
    window: str, limit: int, wait: float, now: datetime, headers: Mapping[str, str]
) -> ApiError:
    """The 429 of `too_many` with `headers` of the daily quota, and with the headers of the burst limit."""
    error = too_many(window, limit, wait, now)
    burst = counter_headers.burst_headers(window, limit, max(1, ceil(wait)))
    error.headers |= {**headers, **burst}
    return error
