"""The limits of log-ins and sign-ups, and the threads in which passwords are hashed.

A hash takes 64 MiB and a tenth of a second, so at most two are computed at once, in threads, and few
wait; any further attempt is refused with 503. Attempts are limited by address, and by account and network
(/24, /48), whether or not the account exists: who tries passwords of an account from one network does not
lock its owner out from another. All attempts at an account together have a higher limit. Sign-ups are
limited by address, by network and by host, since one customer of a provider may have 65 536 networks /64.
A browser that has logged in to an account before has a place of its own there, whoever else tries.
A refused attempt costs no hash.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from math import ceil
from typing import Final, TypeVar

from quota import passwords
from quota.ledger.people import folded
from serve.access import counter_headers
from serve.access.burst_gate import Limiter
from serve.config import BurstLimits
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.request.client_address import bucket, truncated

T = TypeVar("T")

AT_ONCE: Final = 2
WAITING: Final = 16

# Times the limit of an address.
ACCOUNT_TIMES: Final = 10
NETWORK_TIMES: Final = 2
HOST_TIMES: Final = 50
# Times the sign-ups of an address: invitations and links of an organisation per day.
INVITATION_TIMES: Final = 5


class LoginThrottle:
    """The limits of log-ins and sign-ups in one process."""

    def __init__(self, limiter: Limiter, debit: BurstLimits) -> None:
        self._limiter = limiter
        self._debit = debit
        self._places = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    def log_in(
        self, address: str | None, email: str, now: datetime, device: str | None = None
    ) -> None:
        """Count an attempt at a password. Raises ApiError 429.

        A browser from which the person has logged in before (`device`) has a limit of its own.
        """
        few, account = self._debit.connexions, f"connexion {folded(email)}"
        limits = (
            ((f"appareil {device}", few),)
            if device
            else (
                (f"connexion {bucket(address)}", few),
                (f"{account} {truncated(address)}", few),
                (account, ACCOUNT_TIMES * few),
            )
        )
        for who, limit in limits:
            wait = self._limiter.allow(who, limit, now.timestamp()).seconds
            if wait:
                raise _refused(limit, "minute", wait, now)

    def sign_up(self, address: str | None, now: datetime) -> None:
        """Count a sign-up. Raises ApiError 429."""
        few = self._debit.inscriptions_jour
        limits = (
            (f"inscription {bucket(address)}", few),
            (f"inscription {truncated(address)}", NETWORK_TIMES * few),
            ("inscription", HOST_TIMES * few),
        )
        for who, limit in limits:
            wait = self._limiter.day(who, limit, now.timestamp()).seconds
            if wait:
                raise _refused(limit, "jour", wait, now)

    def invite(self, account: str, now: datetime) -> None:
        """Count an invitation, or a link for another password, of an account. Raises ApiError 429."""
        limit = INVITATION_TIMES * self._debit.inscriptions_jour
        wait = self._limiter.day(f"invitation {account}", limit, now.timestamp()).seconds
        if wait:
            raise _refused(limit, "jour", wait, now)

    async def hashed(self, password: str) -> str:
        """The hash of a new password. Raises ApiError 503."""
        return await self._in_thread(lambda: passwords.hashed(password))

    async def is_right(self, password: str, stored: str | None) -> bool:
        """Is it the password with the hash `stored`? None, for an unknown person, takes as long.

        Raises:
            ApiError: 503.
        """
        return await self._in_thread(lambda: passwords.is_right(password, stored))

    async def _in_thread(self, make: Callable[[], T]) -> T:
        if self._waiting >= WAITING:
            raise errors.indisponible(
                (
                    "Trop de connexions à la fois",
                    "Too many people log in at once",
                )
            )
        self._waiting += 1
        try:
            async with self._places:
                return await asyncio.to_thread(make)
        finally:
            self._waiting -= 1


def _refused(limit: int, window: str, wait: float, now: datetime) -> ApiError:
    seconds = max(1, ceil(wait))
    quota = counter_headers.quota("debit", limit, limit, now + timedelta(seconds=seconds))
    return errors.trop_de_requetes(quota, seconds, window)
