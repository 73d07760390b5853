"""The limits of log-ins and sign-ups, and the threads in which passwords are hashed.

A hash takes 64 MiB and a tenth of a second, so at most two are computed at once, in threads, and few
wait; any further attempt is refused with 503. Attempts are limited by address and by account, whether
or not it exists; sign-ups by address. A refused attempt costs nothing.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from math import ceil
from typing import Final, TypeVar

from quota.ledger import passwords
from quota.ledger.people import folded
from serve.access import counter_headers
from serve.access.burst_gate import Limiter
from serve.config import BurstLimits
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.request.client_address import bucket

T = TypeVar("T")

AT_ONCE: Final = 2
WAITING: Final = 16


class LoginThrottle:
    """The limits of log-ins and sign-ups in one process."""

    def __init__(self, limiter: Limiter, debit: BurstLimits) -> None:
        self._limiter = limiter
        self._debit = debit
        self._places = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    def log_in(self, address: str | None, email: str, now: datetime) -> None:
        """Count an attempt at a password. Raises ApiError 429."""
        limit = self._debit.connexions
        for who in (f"connexion {bucket(address)}", f"connexion {folded(email)}"):
            wait = self._limiter.allow(who, limit, now.timestamp()).seconds
            if wait:
                raise _refused(limit, "minute", wait, now)

    def sign_up(self, address: str | None, now: datetime) -> None:
        """Count a sign-up. Raises ApiError 429."""
        limit = self._debit.inscriptions_jour
        wait = self._limiter.day(f"inscription {bucket(address)}", limit, now.timestamp()).seconds
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
