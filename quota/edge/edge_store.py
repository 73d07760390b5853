"""The store of an edge: calls are granted on this host, from blocks that the centre lends.

The edge's rows are an LMDB file of its own, shared by the processes of the host (`leases.py` has
the rules). The centre is a RedisStore that can be unreachable. An edge then serves the keys that it has looked up
before, until its blocks are used up. After that, every call fails with StoreUnavailable; credits and exports, which
stay with the centre, fail at once. An edge reports a limit as reached only if it knows the count.

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
from quota.store.future import LedgerRead, LedgerWrite, ReadyResult, StoreFuture
from quota.store.group_commit import GroupCommit
from quota.store.interface import Store
from quota.store.lmdb_store import MAP_SIZE, LmdbFile

P = ParamSpec("P")
T = TypeVar("T")

FOLDER: Final = "edge"  # within STATE, for the edge's own file
# Seconds for which the stored account of a key is used without a new look-up at the centre: a revoked key is refused
# after at most this time.
FRESH_S: Final = 30
# Seconds without a call after which the blocks of an account are returned, so that other edges can use the calls.
IDLE_S: Final = 120
# Seconds after a failure of the centre in which stored keys are identified without another request to the centre.
ALONE_S: Final = 5.0
# Seconds between two rounds of the maintenance thread (`_maintain`).
MAINTENANCE_S: Final = 2.0

_log: Final = logging.getLogger("quota.edge")

# The second of the last look-up of a key, and its account.
_KnownKey = tuple[int, Account | None]


class EdgeStore(Store):
    """The store of an edge: calls are granted here, all other operations run at the centre."""

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
        self._process = secrets.token_hex(4)  # the beginning of the names of this process's moves
        # After a failure of the centre, stored keys are used without asking it until this moment (monotonic clock).
        self._alone_until = 0.0
        # The requests for blocks under way, by day and account.
        self._refills: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._file = LmdbFile(folder / FOLDER, MAP_SIZE)
        self._writer: GroupCommit[WriteTransaction] = GroupCommit(
            self._file.write, self._file.check_readers
        )
        self._ending = threading.Event()  # set by `close`: ends the maintenance thread
        self._has_old_blocks = True  # blocks of earlier processes that were not given back yet
        try:
            self._connect()
        except StoreUnavailable as error:
            _log.warning("the centre cannot be reached, continuing without it: %s", error)
        except BaseException:
            self._file.close()
            raise
        self._maintenance = threading.Thread(target=self._maintain, name="quota-edge", daemon=True)
        self._maintenance.start()

    @property
    def ledger(self) -> None:
        """None: nobody may log in at an edge."""
        return None

    def read(
        self, operation: LedgerRead[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        """Run a read of the ledger at the centre, since this host has no rows of the ledger."""
        return self._centre_or_refuse().read(operation, *args, **kwargs)

    def submit(
        self, operation: LedgerWrite[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        """Run a write of the ledger at the centre, since this host has no rows of the ledger."""
        return self._centre_or_refuse().submit(operation, *args, **kwargs)

    def moment(self, now: datetime) -> datetime:
        """`now` in UTC: by the clock of the centre once the centre is connected, else by the clock of this host."""
        return self._centre.moment(now) if self._centre else utc(now)

    # -- keys ----------------------------------------------------------------------

    def identify(self, key: str) -> Awaitable[Account | None]:
        """The account of a key: as stored here after a recent look-up, else as the centre knows it."""
        if not credentials.is_well_formed(key):
            return ReadyResult(None)
        digest = credentials.secret_digest(key)
        last_lookup = self._file.read(lambda txn: leases.recall_key(txn, digest))
        now = int(self._clock().timestamp())
        # `last_lookup` is the second of the look-up, and the account that the centre had for the key.
        if last_lookup is not None and (
            0 <= now - last_lookup[0] < FRESH_S or time.monotonic() < self._alone_until
        ):
            return ReadyResult(last_lookup[1])
        return self._identify_at_centre(key, digest, now, last_lookup)

    async def _identify_at_centre(
        self, key: str, digest: bytes, now: int, last_lookup: _KnownKey | None
    ) -> Account | None:
        """The account of a key at the centre, which is stored here; if the centre fails, the stored account, if any."""
        try:
            account = await self._centre_or_refuse().identify(key)
        except StoreUnavailable:
            if last_lookup is None:
                raise
            self._alone_until = time.monotonic() + ALONE_S
            return last_lookup[1]
        if account is not None or last_lookup is not None:
            self._writer.submit(lambda txn: leases.remember_key(txn, digest, account, now))
        return account

    # -- calls, granted here -------------------------------------------------------

    def take(self, account: str, limit: int, now: datetime) -> Awaitable[Meter]:
        """Count one call from the blocks that this edge has, or after a request for another block."""
        moment = self.moment(now)
        return self._grant(self._take_locally(account, limit, moment), account, limit, moment)

    def give_back(self, account: str, counted_at: datetime) -> StoreFuture[None]:
        """Undo a call of this edge: it goes back into a block, not to the centre."""
        moment = self.moment(counted_at)
        return self._writer.submit(lambda txn: leases.give_back(txn, account, moment))

    def calls(self, account: str, limit: int, now: datetime) -> Awaitable[Meter]:
        """The calls of the day as far as this edge knows; from the centre if it has no balance."""
        moment = self.moment(now)
        meter = self._file.read(lambda txn: leases.calls(txn, account, limit, moment))
        if meter is None:
            return self._centre_or_refuse().calls(account, limit, now)
        return ReadyResult(meter)

    def _now(self) -> datetime:
        """The present moment in UTC, by the clock of the centre if it is connected (see `moment`)."""
        return self.moment(self._clock())

    def _take_locally(self, account: str, limit: int, now: datetime) -> StoreFuture[TakeResult]:
        """Take one call from the balance that this edge has."""
        return self._writer.submit(lambda txn: leases.take(txn, account, limit, now))

    async def _grant(
        self, taking: StoreFuture[TakeResult], account: str, limit: int, now: datetime
    ) -> Meter:
        """Wait for the decision on a call, and for new blocks while the edge cannot decide.

        If few calls are left, the next block is requested without waiting for it.
        """
        result = await taking
        while result.meter is None:
            await asyncio.shield(self._refill_task(account, limit, now))
            result = await self._take_locally(account, limit, now)
        if result.low and self._centre is not None:
            self._refill_task(account, limit, now)
        return result.meter

    def _refill_task(self, account: str, limit: int, now: datetime) -> "asyncio.Task[None]":
        """The request for a block that is under way, or a new request: one at a time per account, day and process."""
        day_and_account = day(now).key, account
        task = self._refills.get(day_and_account)
        if task is None:
            task = asyncio.create_task(self._refill(account, limit, now))
            self._refills[day_and_account] = task
            task.add_done_callback(lambda done: self._forget_refill(day_and_account, done))
        return task

    def _forget_refill(self, day_and_account: tuple[str, str], task: "asyncio.Task[None]") -> None:
        """Remove a refill (a request for a block of calls) that has ended, so that the next refill can begin."""
        del self._refills[day_and_account]
        if not task.cancelled():
            task.exception()  # retrieved here, because nobody waits for a refill that was started early

    async def _refill(self, account: str, limit: int, now: datetime) -> None:
        """Request one block from the centre, and add the block to the balance."""
        centre, today, name = self._centre_or_refuse(), day(now), self._move_name()
        move = await self._writer.submit(
            lambda txn: leases.next_move(txn, account, name, limit, today)
        )
        moved, used = await self._send_move(centre, move)
        await self._writer.submit(lambda txn: leases.apply_reply(txn, move, moved, used, now))

    def _move_name(self) -> str:
        """A new name of a move; its first 8 characters identify this process (`lua/move.lua`)."""
        return self._process + secrets.token_hex(8)

    def _send_move(self, centre: RedisStore, move: Move) -> StoreFuture[tuple[int, int]]:
        """Send a move to the centre; the reply has the calls moved, and the calls of the day that count as used."""
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
        """The meter after `taking`, and the centre's charge for `purchase`; None if the call was not granted.

        If the charge fails, or no trial is left, the call is given back.
        """
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
        """All counters: the calls as this edge knows them, the others from the centre."""
        usage = await self._centre_or_refuse().usage(account, plan, now)
        calls = await self.calls(account, plan.appels_api_par_jour, now)
        return replace(usage, calls=calls)

    def _centre_or_refuse(self) -> RedisStore:
        """The centre; raises StoreUnavailable if the centre was not reached since the start."""
        if self._centre is None:
            raise StoreUnavailable("the centre cannot be reached; check its host and the network")
        return self._centre

    # -- maintenance, on a thread --------------------------------------------------

    def _connect(self) -> None:
        """Connect to the centre, and return the blocks of earlier processes.

        If this STATE is a copy, another host may have returned the same blocks: the centre takes back each block once.
        """
        if self._centre is None:
            self._centre = self._open_centre()
            _log.info("the centre is connected")
        if self._has_old_blocks:
            self._return_all()
            self._has_old_blocks = False

    def _maintain(self) -> None:
        """Connect to the centre, return idle blocks and repeat unanswered moves, until the store is closed."""
        logged_error = ""
        while not self._ending.wait(MAINTENANCE_S):
            try:
                self._connect()
                self._return_blocks(self._now() - timedelta(seconds=IDLE_S))
                self._repeat_moves()
                logged_error = ""
            except QuotaError as error:
                if str(error) != logged_error:
                    _log.warning("calls are granted while blocks last: %s", error)
                logged_error = str(error)

    def _return_blocks(self, before: datetime) -> None:
        """Store moves that return the blocks of balances without a call since `before`; `_repeat_moves` sends them."""
        now = self._now()
        self._writer.submit(lambda txn: leases.return_idle_blocks(txn, before, now)).result()

    def _repeat_moves(self) -> None:
        """Send all moves without a reply of the centre, in as few round trips as possible."""
        centre = self._centre_or_refuse()
        moves_and_replies = [
            (move, self._send_move(centre, move))
            for move in self._file.read(leases.unanswered_moves)
        ]
        writes = []
        for move, reply in moves_and_replies:
            moved, used = reply.result()
            writes.append(self._writer.submit(_apply_reply(move, moved, used, self._now())))
        for future in writes:
            future.result()

    def _return_all(self) -> None:
        """Return all blocks, including blocks that arrive with the replies to stored moves."""
        self._repeat_moves()
        # A moment that has not come yet, so that balances with a call in this second are returned too.
        self._return_blocks(self._now() + timedelta(seconds=1))
        self._repeat_moves()

    def close(self) -> None:
        """Return unused calls, or leave them to the next start if the centre fails; then close both stores."""
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


def _apply_reply(
    move: Move, moved: int, used: int, now: datetime
) -> Callable[[WriteTransaction], None]:
    """An operation of a group commit that calls `leases.apply_reply`.

    A function makes it, because a lambda in a loop would use the variables of the loop's last round.
    """
    return lambda txn: leases.apply_reply(txn, move, moved, used, now)
