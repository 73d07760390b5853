"""The limits of log-ins and sign-ups, and the threads in which passwords are hashed.

A hash takes 64 MiB and a tenth of a second, so at most two are computed at once, in threads, and few
wait; any further attempt is refused with 503. Attempts are limited by address, network (/24, /48) and host, since
one customer of a provider may have 65 536 networks /64, and by account and network, whether or not the account
exists: who tries passwords of an account from one network does not lock its owner out from another. All attempts at
an account together have a higher limit. Sign-ups are limited by address, by network and by host.
A browser that has logged in to an account before has a limit of its own there, and places of its own among those
that wait for a hash, whoever else tries. A refused attempt costs no hash.

Whoever asks for another password, or uses a link, takes nothing from log-ins. How many mails one address
gets is a rule of the ledger (`ASKED_MOST`), which refuses in silence. Invitations are limited by
organisation, person and recipient, and those of free organisations by network and host too.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final, TypeVar

from quota import credentials
from quota.accounts import FREE, Account
from quota.ledger.people import fold_email
from serve.access.burst_gate import Limiter, too_many
from serve.access.context import ServerContext
from serve.config import BurstLimits
from serve.contract.errors import ApiError
from serve.request.client_address import bucket, network_of

T = TypeVar("T")

AT_ONCE: Final = 2
WAITING: Final = 16
RESERVED: Final = 4  # of WAITING, for browsers and links that are known

# Times the limit of an address.
ACCOUNT_TIMES: Final = 10
NETWORK_TIMES: Final = 2
DEVICES_TIMES: Final = 3  # all known browsers of one account: each log-in makes one more of them
HOST_TIMES: Final = 50
# Attempts at passwords of a host a minute: fewer than the hashes that it has time for (480 or so).
LOGINS_HOST_TIMES: Final = 20
# Invitations and links per day: of an organisation that pays, and of a free one; a person may make half of
# them. Mails that invite one address, whoever sends them.
INVITATIONS: Final = 100
FREE_INVITATIONS: Final = 10
RECIPIENT_INVITATIONS: Final = 3
# Keys and reconciliation addresses that an organisation makes per day.
KEYS: Final = 50


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
        few, account = self._debit.connexions, f"connexion {fold_email(email)}"
        limits = (
            ((f"appareil {device}", few), (f"appareils {account}", DEVICES_TIMES * few))
            if device
            else (
                (f"connexion {bucket(address)}", few),
                (f"connexion {network_of(address)}", NETWORK_TIMES * few),
                (f"{account} {network_of(address)}", few),
                (account, ACCOUNT_TIMES * few),
                ("connexion", LOGINS_HOST_TIMES * few),
            )
        )
        self._by_minute(limits, now)

    def sign_up(self, address: str | None, now: datetime) -> None:
        """Count a sign-up. Raises ApiError 429."""
        few = self._debit.inscriptions_jour
        limits = (
            (f"inscription {bucket(address)}", few),
            (f"inscription {network_of(address)}", NETWORK_TIMES * few),
            ("inscription", HOST_TIMES * few),
        )
        self._by_day(limits, now)

    def count_lost_password(self, address: str | None, now: datetime) -> None:
        """Count a form for a lost password. Raises ApiError 429."""
        few = self._debit.inscriptions_jour
        # By the minute for the host: whoever asks from many networks locks nobody out for a day.
        self._by_minute((("perdu", HOST_TIMES * self._debit.connexions),), now)
        self._by_day(
            (
                (f"perdu {bucket(address)}", few),
                (f"perdu {network_of(address)}", NETWORK_TIMES * few),
            ),
            now,
        )

    def use_link(self, address: str | None, ticket: str, now: datetime) -> None:
        """Count a password that is chosen by a link. Raises ApiError 429."""
        few = self._debit.connexions
        self._by_minute(((f"lien {bucket(address)}", few), (f"lien {ticket}", few)), now)

    def invite(self, account: Account, person: str, address: str | None, now: datetime) -> None:
        """Count an invitation, or a link for another password, of a person. Raises ApiError 429."""
        is_free = account.plan == FREE
        most = FREE_INVITATIONS if is_free else INVITATIONS
        free = (
            (f"invitation gratuite {network_of(address)}", NETWORK_TIMES * most),
            ("invitation gratuite", HOST_TIMES * most),
        )
        self._by_day(
            (
                (f"invitation {person}", most // 2),
                (f"invitation {account.id}", most),
                *(free if is_free else ()),
            ),
            now,
        )

    def mail(self, email: str, now: datetime) -> None:
        """Count a mail that invites an address. Raises ApiError 429."""
        self._by_day(((f"invitation {fold_email(email)}", RECIPIENT_INVITATIONS),), now)

    def make_key(self, account: str, now: datetime) -> None:
        """Count a key or a reconciliation address that is made. Raises ApiError 429."""
        self._by_day(((f"cle {account}", KEYS),), now)

    def _by_minute(self, limits: Iterable[tuple[str, int]], now: datetime) -> None:
        for who, limit in limits:
            wait = self._limiter.allow(who, limit, now.timestamp()).seconds
            if wait:
                raise too_many("minute", limit, wait, now)

    def _by_day(self, limits: Iterable[tuple[str, int]], now: datetime) -> None:
        for who, limit in limits:
            wait = self._limiter.day(who, limit, now.timestamp()).seconds
            if wait:
                raise too_many("jour", limit, wait, now)

    async def hash_password(self, password: str, *, known: bool = False) -> str:
        """The hash of a new password; of somebody `known` by a session or a link. Raises ApiError 503."""
        return await self._in_thread(lambda: credentials.hash_password(password), known=known)

    async def is_right(self, password: str, stored: str | None, *, known: bool = False) -> bool:
        """Is it the password with the hash `stored`? None, for an unknown person, takes as long.

        Args:
            known: whether the browser has logged in to the account before.

        Raises:
            ApiError: 503.
        """
        return await self._in_thread(
            lambda: credentials.is_right_password(password, stored), known=known
        )

    async def _in_thread(self, make: Callable[[], T], *, known: bool) -> T:
        if self._waiting >= (WAITING if known else WAITING - RESERVED):
            raise ApiError("indisponible", "trop_de_connexions")
        self._waiting += 1
        try:
            async with self._places:
                return await asyncio.to_thread(make)
        finally:
            self._waiting -= 1


def throttle_of(server: ServerContext) -> LoginThrottle:
    """The limits of this process, which the feature has opened."""
    throttle = server.service(LoginThrottle)
    assert throttle is not None
    return throttle
