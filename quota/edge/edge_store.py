"""The store of an edge: calls are granted here, from blocks that the centre lends (`leases.py`).

Its rows are an LMDB file of its own, shared by the processes of the host; the centre, a RedisStore,
may come and go. Without it an edge goes on until its blocks are used, and knows the keys that it
has seen; then, as for credits and exports, which stay with the centre, it is unavailable, and never
says that a limit is reached which it cannot know.

With the centre, a key that is revoked is refused within FRESH_S. What is not used comes back when
it was idle for IDLE_S, when its day is over, and at the end.
"""

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from quota import keys
from quota.accounts import Account, Key
from quota.edge import leases
from quota.edge.leases import Move, Taken
from quota.errors import QuotaError, StoreUnavailable
from quota.ledger.transaction import WriteTransaction
from quota.periods import day, utc
from quota.plans import Plan
from quota.redis.store import RedisStore
from quota.results import Charge, Meter, Refusal, Reservation, Usage
from quota.store.group_commit import GroupCommit
from quota.store.lmdb_file import MAP_SIZE, LmdbFile
from quota.store.promise import Kept, Promise

FOLDER: Final = "edge"  # of STATE, for its file
FRESH_S: Final = 30
IDLE_S: Final = 120
# After it did not answer: a key that is known waits for the centre once in so long.
ALONE_S: Final = 5.0
TEND_S: Final = 2.0

_log: Final = logging.getLogger("quota.edge")


class EdgeStore:
    """`Store` at an edge."""

    def __init__(
        self,
        folder: Path,
        centre: Callable[[], RedisStore],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Open the edge's own file in a STATE folder, and the centre if it is there.

        Raises:
            WrongStoreError: the file, or the centre, is not to be used.
            StoreUnavailable: the file cannot be opened.
        """
        self._opener = centre
        self._clock = clock
        self._centre: RedisStore | None = None
        self._process = secrets.token_hex(4)
        self._alone_until = 0.0
        self._asking: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._environment = LmdbFile(folder / FOLDER, MAP_SIZE)
        self._writer: GroupCommit[WriteTransaction] = GroupCommit(
            self._environment.write, self._environment.rest
        )
        self._ending = threading.Event()
        try:
            self._connect()
        except StoreUnavailable as error:
            _log.warning("the centre is not there, going on without it: %s", error)
        except BaseException:
            self._environment.close()
            raise
        self._tending = threading.Thread(target=self._tend_on, name="quota-edge", daemon=True)
        self._tending.start()

    # -- who calls -----------------------------------------------------------------

    def identify(self, key: str) -> Awaitable[Account | None]:
        if not keys.is_well_formed(key):
            return Kept(None)
        digest = keys.digest(key)
        recalled = self._environment.read(lambda txn: leases.recall(txn, digest))
        now = int(self._clock().timestamp())
        if recalled is not None and (
            0 <= now - recalled[0] < FRESH_S or time.monotonic() < self._alone_until
        ):
            return Kept(recalled[1])
        return self._identified(key, digest, now, recalled)

    async def _identified(
        self, key: str, digest: bytes, now: int, recalled: tuple[int, Account | None] | None
    ) -> Account | None:
        try:
            account = await self._there().identify(key)
        except StoreUnavailable:
            if recalled is None:
                raise
            self._alone_until = time.monotonic() + ALONE_S
            return recalled[1]
        if account is not None or recalled is not None:
            self._writer.submit(lambda txn: leases.remember(txn, digest, account, now))
        return account

    # -- calls ---------------------------------------------------------------------

    def take(self, account: str, limit: int, now: datetime) -> Awaitable[Meter]:
        moment = utc(now)
        return self._granted(self._take(account, limit, moment), account, limit, moment)

    def give_back(self, account: str, taken: datetime) -> Promise[None]:
        moment = utc(taken)
        return self._writer.submit(lambda txn: leases.give_back(txn, account, moment))

    def calls(self, account: str, limit: int, now: datetime) -> Awaitable[Meter]:
        moment = utc(now)
        known = self._environment.read(lambda txn: leases.calls(txn, account, limit, moment))
        return self._there().calls(account, limit, now) if known is None else Kept(known)

    def _take(self, account: str, limit: int, now: datetime) -> Promise[Taken]:
        return self._writer.submit(lambda txn: leases.take(txn, account, limit, now))

    async def _granted(
        self, taking: Promise[Taken], account: str, limit: int, now: datetime
    ) -> Meter:
        """The call, for which the centre may have to be asked."""
        taken = await taking
        while taken.meter is None:
            await asyncio.shield(self._ask_for_more(account, limit, now))
            taken = await self._take(account, limit, now)
        if taken.low and self._centre is not None:
            self._ask_for_more(account, limit, now)
        return taken.meter

    def _ask_for_more(self, account: str, limit: int, now: datetime) -> "asyncio.Task[None]":
        """One at a time for an account and day of this process."""
        asked_for = day(now).key, account
        asking = self._asking.get(asked_for)
        if asking is None:
            asking = asyncio.create_task(self._refill(account, limit, now))
            self._asking[asked_for] = asking
            asking.add_done_callback(lambda done: self._asked(asked_for, done))
        return asking

    def _asked(self, asked_for: tuple[str, str], asking: "asyncio.Task[None]") -> None:
        del self._asking[asked_for]
        if not asking.cancelled():
            asking.exception()  # who waits is told; ahead of time nobody does

    async def _refill(self, account: str, limit: int, now: datetime) -> None:
        centre, today, name = self._there(), day(now), self._name()
        move = await self._writer.submit(lambda txn: leases.want(txn, account, name, limit, today))
        moved, used = await self._moved(centre, move)
        await self._writer.submit(lambda txn: leases.settle(txn, move, moved, used, now))

    def _name(self) -> str:
        """A new name of a move; the first 8 characters are this process (`redis_scripts.MOVE`)."""
        return self._process + secrets.token_hex(8)

    def _moved(self, centre: RedisStore, move: Move) -> Promise[tuple[int, int]]:
        return centre.move(move.account, move.name, move.calls, move.limit, leases.PARTS, move.day)

    # -- what stays with the centre ------------------------------------------------

    def take_and_charge(
        self, account: str, limit: int, company: str, cost: int, grant: int, now: datetime
    ) -> Awaitable[tuple[Meter, Charge | None]]:
        """The call is granted here, its charge by the centre; without it the call comes back."""
        taking = self.take(account, limit, now)
        return self._charged(taking, account, company, cost, grant, now)

    async def _charged(
        self,
        taking: Awaitable[Meter],
        account: str,
        company: str,
        cost: int,
        grant: int,
        now: datetime,
    ) -> tuple[Meter, Charge | None]:
        meter = await taking
        if not meter.granted:
            return meter, None
        try:
            _, charge = await self._there().charge(account, company, cost, grant, now)
        except BaseException:
            self.give_back(account, now)
            raise
        return meter, charge

    def usage(self, account: str, plan: Plan, now: datetime) -> Awaitable[Usage]:
        return self._usage(account, plan, now)

    async def _usage(self, account: str, plan: Plan, now: datetime) -> Usage:
        usage = await self._there().usage(account, plan, now)
        calls = await self.calls(account, plan.appels_api_par_jour, now)
        return replace(usage, calls=calls)

    def keys_of(self, account: str) -> Awaitable[Sequence[Key]]:
        return self._there().keys_of(account)

    def reserve(
        self, account: str, limit: int, at_once: int, ttl: timedelta, now: datetime
    ) -> Awaitable[Reservation | Refusal]:
        return self._there().reserve(account, limit, at_once, ttl, now)

    def commit(self, reservation: Reservation, now: datetime) -> Awaitable[Meter]:
        return self._there().commit(reservation, now)

    def release(self, reservation: Reservation, now: datetime) -> Awaitable[None]:
        return self._there().release(reservation, now)

    def _there(self) -> RedisStore:
        if self._centre is None:
            raise StoreUnavailable("the centre cannot be reached")
        return self._centre

    # -- aside ---------------------------------------------------------------------

    def _connect(self) -> None:
        if self._centre is None:
            self._centre = self._opener()
            _log.info("the centre is there")

    def _tend_on(self) -> None:
        told = ""
        while not self._ending.wait(TEND_S):
            try:
                self._connect()
                self._give_up(self._clock() - timedelta(seconds=IDLE_S))
                self._ask_again()
                told = ""
            except QuotaError as error:
                if str(error) != told:
                    _log.warning("calls are granted while blocks last: %s", error)
                told = str(error)

    def _give_up(self, before: datetime) -> None:
        """Let what was not used since `before` be on its way home."""
        now, name = self._clock(), self._name()
        self._writer.submit(lambda txn: leases.give_up(txn, before, now, name)).result()

    def _ask_again(self) -> None:
        """Ask about all that the centre has not answered yet."""
        for move in self._environment.read(leases.waiting):
            moved, used = self._moved(self._there(), move).result()
            self._writer.submit(_settling(move, moved, used, self._clock())).result()

    def close(self) -> None:
        """Give back what is left, if the centre is there; else the next start does."""
        self._ending.set()
        self._tending.join()
        try:
            for _ in range(2):  # a block that was on its way comes back in the second
                self._give_up(self._clock() + timedelta(seconds=1))
                self._ask_again()
        except QuotaError as error:
            _log.warning("calls are given back at the next start: %s", error)
        self._writer.close()
        self._environment.close()
        if self._centre is not None:
            self._centre.close()


def _settling(
    move: Move, moved: int, used: int, now: datetime
) -> Callable[[WriteTransaction], None]:
    return lambda txn: leases.settle(txn, move, moved, used, now)
