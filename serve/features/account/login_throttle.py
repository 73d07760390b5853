"""The limits of log-ins and sign-ups, and the threads in which passwords are hashed.

A hash takes 64 MiB and a tenth of a second. So at most two hashes are computed at the same time, in threads. At most 16
attempts run or wait; further attempts are refused with 503. A refused attempt costs no hash.

Log-ins are limited by address, network (/24, /48) and host, since one customer of a provider may have 65 536 networks
/64. They are also limited by account and network, whether or not the account exists: a person who tries passwords of an
account from one network does not lock out its owner in another network. All attempts at one account together have a
higher limit. A browser that has logged in to an account before has a separate limit for this account, and reserved
places among the attempts that wait for a hash. Sign-ups are limited by address, network and host.

Requests for a new password and uses of a link do not count as log-ins. The ledger limits the mails to one address
(`ASKED_MOST`) without an error. Invitations are limited by organisation, person and recipient, and those of free
organisations also by network and host.
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
from serve.request.client_address import bucket_key, network_of

T = TypeVar("T")

PARALLEL_HASHES: Final = 2  # hashes that are computed at the same time
MOST_WAITING: Final = 16  # attempts whose hash is computed or waits
RESERVED_PLACES: Final = 4  # of MOST_WAITING, for browsers and links that are trusted

# The limits of larger groups, as multiples of the limit of an address.
ACCOUNT_TIMES: Final = 10
NETWORK_TIMES: Final = 2
DEVICES_TIMES: Final = 3  # all trusted browsers of one account, as each log-in can add one
HOST_TIMES: Final = 50
# The log-ins per minute on the host, as a multiple of the limit of an address; the host can compute more hashes, about
# 480 a minute.
LOGINS_HOST_TIMES: Final = 20
# Invitations and links per day, of an organisation that pays and of a free one; one person can make half of this
# number. RECIPIENT_INVITATIONS limits the mails that invite one address, from all organisations together.
INVITATIONS: Final = 100
FREE_INVITATIONS: Final = 10
RECIPIENT_INVITATIONS: Final = 3
# The most keys and reconciliation addresses that an organisation can make per day.
KEYS: Final = 50


class LoginThrottle:
    """The limits of log-ins and sign-ups in one process."""

    def __init__(self, limiter: Limiter, debit: BurstLimits) -> None:
        """Count with `limiter`, against the limits of the operator."""
        self._limiter = limiter
        self._debit = debit
        self._hash_places = asyncio.Semaphore(PARALLEL_HASHES)
        self._attempts = 0  # attempts whose hash is computed or waits

    def count_log_in(
        self, address: str | None, email: str, now: datetime, device: str | None = None
    ) -> None:
        """Count an attempt at a password. Raises ApiError 429.

        A browser from which the person has logged in before (`device`) has its own limit.
        """
        basic_limit, account = self._debit.connexions, f"connexion {fold_email(email)}"
        limits = (
            (
                (f"appareil {device}", basic_limit),
                (f"appareils {account}", DEVICES_TIMES * basic_limit),
            )
            if device
            else (
                (f"connexion {bucket_key(address)}", basic_limit),
                (f"connexion {network_of(address)}", NETWORK_TIMES * basic_limit),
                (f"{account} {network_of(address)}", basic_limit),
                (account, ACCOUNT_TIMES * basic_limit),
                ("connexion", LOGINS_HOST_TIMES * basic_limit),
            )
        )
        self._count_by_minute(limits, now)

    def count_sign_up(self, address: str | None, now: datetime) -> None:
        """Count a sign-up in the limits of its address, its network and the host. Raises ApiError 429."""
        basic_limit = self._debit.inscriptions_jour
        limits = (
            (f"inscription {bucket_key(address)}", basic_limit),
            (f"inscription {network_of(address)}", NETWORK_TIMES * basic_limit),
            ("inscription", HOST_TIMES * basic_limit),
        )
        self._count_by_day(limits, now)

    def count_lost_password(self, address: str | None, now: datetime) -> None:
        """Count a request for a mail with a link to choose a new password. Raises ApiError 429."""
        basic_limit = self._debit.inscriptions_jour
        # By the minute for the host, so that requests from many networks lock nobody out for a day.
        self._count_by_minute((("perdu", HOST_TIMES * self._debit.connexions),), now)
        self._count_by_day(
            (
                (f"perdu {bucket_key(address)}", basic_limit),
                (f"perdu {network_of(address)}", NETWORK_TIMES * basic_limit),
            ),
            now,
        )

    def count_link_use(self, address: str | None, ticket: str, now: datetime) -> None:
        """Count the use of a link from a mail, in the limits of its address and of its ticket. Raises ApiError 429."""
        basic_limit = self._debit.connexions
        self._count_by_minute(
            ((f"lien {bucket_key(address)}", basic_limit), (f"lien {ticket}", basic_limit)), now
        )

    def count_new_link(
        self, account: Account, person: str, address: str | None, now: datetime
    ) -> None:
        """Count an invitation, or a link for a new password, that a person makes. Raises ApiError 429.

        It counts in the daily limits of the person and of the organisation; for a free organisation also in those of
        the network and of the host, because anybody can make many free organisations.
        """
        is_free = account.plan == FREE
        organisation_limit = FREE_INVITATIONS if is_free else INVITATIONS
        free_limits = (
            (f"invitation gratuite {network_of(address)}", NETWORK_TIMES * organisation_limit),
            ("invitation gratuite", HOST_TIMES * organisation_limit),
        )
        self._count_by_day(
            (
                (f"invitation {person}", organisation_limit // 2),
                (f"invitation {account.id}", organisation_limit),
                *(free_limits if is_free else ()),
            ),
            now,
        )

    def count_invitation_mail(self, email: str, now: datetime) -> None:
        """Count an invitation mailed to an address. Raises ApiError 429."""
        self._count_by_day(((f"invitation {fold_email(email)}", RECIPIENT_INVITATIONS),), now)

    def count_new_key(self, account: str, now: datetime) -> None:
        """Count a new key or a new reconciliation address. Raises ApiError 429."""
        self._count_by_day(((f"cle {account}", KEYS),), now)

    def _count_by_minute(self, limits: Iterable[tuple[str, int]], now: datetime) -> None:
        """Count an attempt in each limit per minute, given by name and number. Raises ApiError 429."""
        for name, limit in limits:
            wait = self._limiter.allow(name, limit, now.timestamp()).seconds
            if wait:
                raise too_many("minute", limit, wait, now)

    def _count_by_day(self, limits: Iterable[tuple[str, int]], now: datetime) -> None:
        """Count an attempt in each limit per day, given by name and number. Raises ApiError 429."""
        for name, limit in limits:
            wait = self._limiter.day(name, limit, now.timestamp()).seconds
            if wait:
                raise too_many("jour", limit, wait, now)

    async def hash_password(self, password: str, *, trusted: bool = False) -> str:
        """The hash of a new password. Raises ApiError 503.

        Args:
            trusted: whether a session or a link identifies the person, who may then use the reserved places.
        """
        return await self._run_in_thread(
            lambda: credentials.hash_password(password), trusted=trusted
        )

    async def is_right(self, password: str, stored: str | None, *, trusted: bool = False) -> bool:
        """Whether the password has the hash `stored`; for None (an unknown person) False, after the same time.

        Args:
            trusted: whether the browser has logged in to the account before.

        Raises:
            ApiError: 503.
        """
        return await self._run_in_thread(
            lambda: credentials.is_right_password(password, stored), trusted=trusted
        )

    async def _run_in_thread(self, make: Callable[[], T], *, trusted: bool) -> T:
        """The result of `make`, which computes a hash, run in a thread. Raises ApiError 503: too many attempts wait.

        The last RESERVED_PLACES are left for `trusted` attempts.
        """
        if self._attempts >= (MOST_WAITING if trusted else MOST_WAITING - RESERVED_PLACES):
            raise ApiError("indisponible", "trop_de_connexions")
        self._attempts += 1
        try:
            async with self._hash_places:
                return await asyncio.to_thread(make)
        finally:
            self._attempts -= 1


def throttle_of(server: ServerContext) -> LoginThrottle:
    """The limits of this process, which `open_account` has created."""
    throttle = server.service(LoginThrottle)
    assert throttle is not None
    return throttle
