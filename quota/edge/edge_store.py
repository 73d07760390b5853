"""The store of an edge: calls are granted on this host, from blocks that the centre lends.

The edge's rows are an LMDB file of its own, shared by the processes of the host (`leases.py` has
the rules). The centre is a RedisStore that may be unreachable. An edge then goes on until its
blocks are used up, with the keys that it knows. After that it is unavailable; credits and exports,
which stay with the centre, are so at once. An edge never reports a limit as reached without knowing.

While the centre is reachable, a revoked key is refused within FRESH_S. Unused calls go back to the
centre after IDLE_S without a call, at the end of their day, and when the store is closed.
"""

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from quota import credentials
from quota.accounts import Account
from quota.edge import leases
from quota.edge.leases import Move, TakeResult
from quota.errors import QuotaError, StoreUnavailable
from quota.ledger.calls import Charge, Meter, Purchase
from quota.ledger.exports import Usage
from quota.ledger.row_format import WriteTransaction
from quota.periods import day, utc
from quota.plans import Plan
from quota.redis.store import RedisStore
from quota.store.future import Reading, ReadyResult, StoreFuture, Writing
from quota.store.group_commit import GroupCommit
from quota.store.interface import Store
from quota.store.lmdb_store import MAP_SIZE, LmdbFile

P = ParamSpec("P")
T = TypeVar("T")

FOLDER: Final = "edge"  # within STATE, for the edge's own file
FRESH_S: Final = 30
IDLE_S: Final = 120
# After a failure of the centre: how long known keys are identified without asking it again.
ALONE_S: Final = 5.0
MAINTENANCE_S: Final = 2.0

_log: Final = logging.getLogger("quota.edge")

# The second of the last look-up of a key, and its account.
_KnownKey = tuple[int, Account | None]


class EdgeStore(Store):
    """`Store` at an edge."""

    def __init__(
        self,
        folder: Path,
        centre: Callable[[], RedisStore],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Open the edge's own file in a STATE folder, and the centre if it can be reached.

        Raises:
            WrongStoreError: the file, or the centre, cannot be used.
            StoreUnavailable: the file cannot be opened.
        """
        self._open_centre = centre
        self._clock = clock
        self._centre: RedisStore | None = None
        self._process = secrets.token_hex(4)
        self._alone_until = 0.0
        self._refills: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._file = LmdbFile(folder / FOLDER, MAP_SIZE)
        self._writer: GroupCommit[WriteTransaction] = GroupCommit(
            self._file.write, self._file.check_readers
        )
        self._ending = threading.Event()
        self._has_past = True  # blocks of earlier processes that were not given back yet
        try:
            self._connect()
        except StoreUnavailable as error:
            _log.warning("the centre is not there, going on without it: %s", error)
        except BaseException:
            self._file.close()
            raise
        self._maintenance = threading.Thread(target=self._maintain, name="quota-edge", daemon=True)
        self._maintenance.start()

    @property
    def ledger(self) -> None:
        return None

    def read(
        self, operation: Reading[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        return self._centre_or_refuse().read(operation, *args, **kwargs)

    def submit(
        self, operation: Writing[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        return self._centre_or_refuse().submit(operation, *args, **kwargs)

    def moment(self, now: datetime) -> datetime:
        """By the clock of the centre, as far as it is known."""
        return self._centre.moment(now) if self._centre else utc(now)

    # -- keys ----------------------------------------------------------------------

    def identify(self, key: str) -> Awaitable[Account | None]:
        if not credentials.is_well_formed(key):
            return ReadyResult(None)
        digest = credentials.key_digest(key)
        known = self._file.read(lambda txn: leases.recall(txn, digest))
        now = int(self._clock().timestamp())
        if known is not None and (
            0 <= now - known[0] < FRESH_S or time.monotonic() < self._alone_until
        ):
            return ReadyResult(known[1])
        return self._identify_at_centre(key, digest, now, known)

    async def _identify_at_centre(
        self, key: str, digest: bytes, now: int, known: _KnownKey | None
    ) -> Account | None:
        try:
            account = await self._centre_or_refuse().identify(key)
        except StoreUnavailable:
            if known is None:
                raise
            self._alone_until = time.monotonic() + ALONE_S
            return known[1]
        if account is not None or known is not None:
            self._writer.submit(lambda txn: leases.remember(txn, digest, account, now))
        return account

    # -- calls, granted here -------------------------------------------------------

    def take(self, account: str, limit: int, now: datetime) -> Awaitable[Meter]:
        moment = self.moment(now)
        return self._grant(self._take(account, limit, moment), account, limit, moment)

    def give_back(self, account: str, taken: datetime) -> StoreFuture[None]:
        moment = self.moment(taken)
        return self._writer.submit(lambda txn: leases.give_back(txn, account, moment))

    def calls(self, account: str, limit: int, now: datetime) -> Awaitable[Meter]:
        moment = self.moment(now)
        meter = self._file.read(lambda txn: leases.calls(txn, account, limit, moment))
        if meter is None:
            return self._centre_or_refuse().calls(account, limit, now)
        return ReadyResult(meter)

    def _now(self) -> datetime:
        return self.moment(self._clock())

    def _take(self, account: str, limit: int, now: datetime) -> StoreFuture[TakeResult]:
        return self._writer.submit(lambda txn: leases.take(txn, account, limit, now))

    async def _grant(
        self, taking: StoreFuture[TakeResult], account: str, limit: int, now: datetime
    ) -> Meter:
        """Wait for the call, and for a new block if the balance is used up."""
        taken = await taking
        while taken.meter is None:
            await asyncio.shield(self._refill_task(account, limit, now))
            taken = await self._take(account, limit, now)
        if taken.low and self._centre is not None:
            self._refill_task(account, limit, now)
        return taken.meter

    def _refill_task(self, account: str, limit: int, now: datetime) -> "asyncio.Task[None]":
        """The refill under way, or a new one: one at a time per account, day and process."""
        balance = day(now).key, account
        task = self._refills.get(balance)
        if task is None:
            task = asyncio.create_task(self._refill(account, limit, now))
            self._refills[balance] = task
            task.add_done_callback(lambda done: self._forget_refill(balance, done))
        return task

    def _forget_refill(self, balance: tuple[str, str], task: "asyncio.Task[None]") -> None:
        del self._refills[balance]
        if not task.cancelled():
            task.exception()  # retrieved here, because a refill ahead of time has no waiter

    async def _refill(self, account: str, limit: int, now: datetime) -> None:
        centre, today, name = self._centre_or_refuse(), day(now), self._move_name()
        move = await self._writer.submit(
            lambda txn: leases.next_move(txn, account, name, limit, today)
        )
        moved, used = await self._send(centre, move)
        await self._writer.submit(lambda txn: leases.settle(txn, move, moved, used, now))

    def _move_name(self) -> str:
        """A new name of a move; its first 8 characters identify this process (`lua/move.lua`)."""
        return self._process + secrets.token_hex(8)

    def _send(self, centre: RedisStore, move: Move) -> StoreFuture[tuple[int, int]]:
        return centre.move(move.account, move.name, move.calls, move.limit, leases.PARTS, move.day)

    # -- operations of the centre --------------------------------------------------

    def take_and_charge(
        self, purchase: Purchase, now: datetime
    ) -> Awaitable[tuple[Meter, Charge | None]]:
        """Grant the call here and charge at the centre; if that fails, the call is given back."""
        taking = self.take(purchase.account, purchase.call_limit, now)
        return self._charge(taking, purchase, now)

    async def _charge(
        self, taking: Awaitable[Meter], purchase: Purchase, now: datetime
    ) -> tuple[Meter, Charge | None]:
        meter = await taking
        if not meter.granted:
            return meter, None
        try:
            _, charge = await self._centre_or_refuse().charge(purchase, now)
        except BaseException:
            self.give_back(purchase.account, now)
            raise
        if charge and charge.outcome == "no_trial":
            await self.give_back(purchase.account, now)
            meter = replace(meter, used=meter.used - 1)
        return meter, charge

    async def usage(self, account: str, plan: Plan, now: datetime) -> Usage:
        usage = await self._centre_or_refuse().usage(account, plan, now)
        calls = await self.calls(account, plan.appels_api_par_jour, now)
        return replace(usage, calls=calls)

    def _centre_or_refuse(self) -> RedisStore:
        if self._centre is None:
            raise StoreUnavailable("the centre cannot be reached; see to its host and the network")
        return self._centre

    # -- maintenance, on a thread --------------------------------------------------

    def _connect(self) -> None:
        """Connect to the centre, and give back the blocks that were there before this process.

        This STATE may be a copy: what the centre has taken back once it does not take back again.
        """
        if self._centre is None:
            self._centre = self._open_centre()
            _log.info("the centre is there")
        if self._has_past:
            self._return_all()
            self._has_past = False

    def _maintain(self) -> None:
        logged = ""
        while not self._ending.wait(MAINTENANCE_S):
            try:
                self._connect()
                self._return_blocks(self._now() - timedelta(seconds=IDLE_S))
                self._repeat_moves()
                logged = ""
            except QuotaError as error:
                if str(error) != logged:
                    _log.warning("calls are granted while blocks last: %s", error)
                logged = str(error)

    def _return_blocks(self, before: datetime) -> None:
        """Write down moves that return the balances without a call since `before`."""
        now = self._now()
        self._writer.submit(lambda txn: leases.give_up(txn, before, now)).result()

    def _repeat_moves(self) -> None:
        """Send all moves that have no reply of the centre yet, in as few round trips as they fit in."""
        centre = self._centre_or_refuse()
        sent = [
            (move, self._send(centre, move)) for move in self._file.read(leases.unanswered_moves)
        ]
        settled = []
        for move, reply in sent:
            moved, used = reply.result()
            settled.append(self._writer.submit(_settlement(move, moved, used, self._now())))
        for one in settled:
            one.result()

    def _return_all(self) -> None:
        """Give back all blocks, also those that arrive meanwhile."""
        self._repeat_moves()
        self._return_blocks(self._now() + timedelta(seconds=1))
        self._repeat_moves()

    def close(self) -> None:
        """Return unused calls if the centre can be reached; otherwise the next start does so."""
        self._ending.set()
        if self._centre is not None:
            self._centre.hasten()
        self._maintenance.join()
        try:
            self._return_all()
        except QuotaError as error:
            _log.warning("calls are given back at the next start: %s", error)
        self._writer.close()
        self._file.close()
        if self._centre is not None:
            self._centre.close()


def _settlement(
    move: Move, moved: int, used: int, now: datetime
) -> Callable[[WriteTransaction], None]:
    return lambda txn: leases.settle(txn, move, moved, used, now)
