"""The store of several hosts: rows on a Redis or Valkey server, shared by all hosts that name it.

The operations of every request are one script or one read each (`scripts.py`); the server runs no other command
during a script. All other operations are functions of the ledger, in a transaction that starts
again if another writer changed its rows (`transaction.py`). Calls and pages have a connection and a
queue each (`pipeline_queue.py`), so that a search does not wait for a page.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from quota.accounts import Account
from quota.errors import NotAllowedError
from quota.ledger import account_rows, calls, people, row_format
from quota.ledger.account_rows import KeyKind
from quota.ledger.calls import Charge, Meter, Purchase
from quota.ledger.people import Person
from quota.ledger.row_format import ReadTransaction
from quota.ledger.upkeep import AuditReport, audit, migrate
from quota.periods import day, utc
from quota.redis import scripts
from quota.redis.connection import RedisConnection
from quota.redis.pipeline_queue import RedisQueue
from quota.redis.scripts import PREFIX, Reply, place, row_key
from quota.redis.transaction import RedisTransaction
from quota.store.future import LedgerRead, LedgerWrite, StoreFuture
from quota.store.interface import LedgerStore

P = ParamSpec("P")
T = TypeVar("T")

# The most keys whose statistics one command adds. A request can wait for that command, so it must be short.
_KEYS_PER_COMMAND: Final = 100
# About how many rows one HSCAN of an audit reads, while all other commands wait.
_ROWS_PER_SCAN: Final = 1_000


class RedisStore(LedgerStore):
    """The store of several hosts. `_queue` serves pages and upkeep, `_requests` the operations of requests."""

    def __init__(
        self, url: str, *, strict: bool = False, state: Path | None = None, create: bool = False
    ) -> None:
        """Connect to the server, and migrate rows of version 1.

        Args:
            strict: refuse a server that does not sync each write.
            state: the STATE folder, which has the identity of the store.
            create: make an empty server a store.

        Raises:
            WrongStoreError: the settings of the server exclude its use.
            StoreUnavailable: the server cannot be reached, or does not have the rows of the store.
        """
        connect = partial(RedisConnection, url, strict=strict, state=state)
        self._connection = connect(create=create)
        self._queue = RedisQueue(self._connection)
        try:
            self.submit(migrate).result()
            self._request_connection = connect(serves="keys")
        except BaseException:
            self._queue.close()
            raise
        self._requests = RedisQueue(self._request_connection)

    def moment(self, now: datetime) -> datetime:
        """`now` in UTC; by the server's clock if this host's clock differs, so that all hosts end a day together."""
        return utc(now) + self._request_connection.ahead

    def batch_reads(self) -> AbstractContextManager[object]:
        """A context: the first commands of all reads begun in its `with` block are sent in one round trip."""
        return self._queue.batch_reads()

    # -- the operations of every request -------------------------------------------

    def identify_by(
        self, digest: bytes, kind: KeyKind = account_rows.KEYS
    ) -> StoreFuture[Account | None]:
        """The account of an active key with this digest, from rows that one script fetches; None for any other key."""
        key = kind.table + digest

        def parse(replies: Reply) -> Account | None:
            """Apply the rule of the ledger to the fetched rows."""
            return account_rows.identify(_identified_rows(key, replies[0]), digest, kind)

        return self._requests.send([scripts.identify(key)], parse)

    def session(
        self, person: str, token: bytes, now: int
    ) -> StoreFuture[tuple[Person, Account] | None]:
        """The person and the account of an open session, from rows that are fetched in one round trip."""
        session = people.session_key(person, token)
        key = row_format.join(row_format.PERSON, person)

        def parse(replies: Reply) -> tuple[Person, Account] | None:
            """Apply the rule of the ledger to the fetched rows."""
            rows = _identified_rows(key, replies[1])
            rows.enter_row(session, replies[0])
            return people.session(rows, person, token, now)

        return self._queue.send([("HGET", *place(session)), scripts.identify(key)], parse)

    def calls(self, account: str, limit: int, now: datetime) -> StoreFuture[Meter]:
        """The calls of the day so far, from rows that are fetched in one round trip."""
        moment = self.moment(now)
        today = row_format.join(row_format.CALLS, day(moment).key, account)

        def read(txn: ReadTransaction) -> Meter:
            """Announce both rows, so that they are fetched together, then read the counter."""
            txn.expect([row_format.FLOOR, today])
            return calls.calls(txn, account, limit, moment)

        return self._requests.read(read)

    def take(self, account: str, limit: int, now: datetime) -> StoreFuture[Meter]:
        """Count one call by a script, by the server's clock if the clocks differ."""
        moment = self.moment(now)
        return self._requests.script(lambda floor: scripts.take(floor, account, limit, moment))

    def give_back(self, account: str, counted_at: datetime) -> StoreFuture[None]:
        """Take back a call that was counted at `counted_at`; a script does it, in one round trip."""
        moment = self.moment(counted_at)
        return self._requests.script(lambda floor: scripts.give_back(floor, account, moment))

    def take_and_charge(
        self, purchase: Purchase, now: datetime
    ) -> StoreFuture[tuple[Meter, Charge | None]]:
        """Count one call and charge the record, by one script."""
        moment = self.moment(now)
        return self._requests.script(
            lambda floor: scripts.take_and_charge(floor, purchase, moment, count_call=True)
        )

    # -- for edges -----------------------------------------------------------------

    def charge(self, purchase: Purchase, now: datetime) -> StoreFuture[tuple[Meter, Charge | None]]:
        """Charge a record whose call an edge has counted already, so no call is counted; the meter has no limit."""
        moment = self.moment(now)
        return self._requests.script(
            lambda floor: scripts.take_and_charge(floor, purchase, moment, count_call=False)
        )

    def move(
        self, account: str, name: str, calls: int, limit: int, parts: int, today: str
    ) -> StoreFuture[tuple[int, int]]:
        """Lend calls to an edge, or take calls back, as `scripts.move`; a repeated move has the same result."""
        return self._requests.script(
            lambda floor: scripts.move(floor, account, name, calls, limit, parts, today)
        )

    # -- statistics ----------------------------------------------------------------

    def add_key_calls(self, calls: Mapping[bytes, int], day: date) -> StoreFuture[None]:
        """Add statistics of keys in short commands, so that no request waits long for one of them."""
        pairs = list(calls.items())
        batches = (
            pairs[start : start + _KEYS_PER_COMMAND]
            for start in range(0, len(pairs), _KEYS_PER_COMMAND)
        )
        return self._queue.send_in_turn(scripts.add_key_calls(batch, day) for batch in batches)

    # -- other functions of the ledger ---------------------------------------------

    def read(
        self, operation: LedgerRead[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        """Run a read of the ledger on the connection of pages."""
        return self._queue.read(lambda txn: operation(txn, *args, **kwargs))

    def submit(
        self, operation: LedgerWrite[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        """Run a function of the ledger in a transaction, again if another writer changed its rows."""
        return self._queue.transact(lambda txn: operation(txn, *args, **kwargs))

    # -- upkeep --------------------------------------------------------------------

    def newest_month(self) -> str | None:
        """The newest month in the names of the hashes of periods."""
        names = [name[len(PREFIX) :] for name in self._queue.call(self._hashes).result()]
        # name[2:9] is the month of a period: of "d/2026-11-21", "2026-11".
        months = [name[2:9].decode() for name in names if name[:2] in row_format.PERIODIC]
        return max(months, default=None)

    def compact(self, before: str) -> int:
        """Delete the counters of the months before `before`; returns the number of rows.

        The floor is raised first, so that no server counts in a month whose hashes are deleted.
        """
        self._queue.command(scripts.raise_floor(before), lambda reply: reply).result()
        return self._queue.call(self._drop_periods).result()

    def _drop_periods(self) -> int:
        """Delete the hashes of days and months before the floor (the first month kept); return their number of rows."""
        (floor,) = self._queue.run([("HGET", *place(row_format.FLOOR))])
        total = 0
        for name in self._hashes():
            table, period = name[len(PREFIX) :][:2], name[len(PREFIX) :][2:]
            if table in row_format.PERIODIC and period < floor:
                rows, _ = self._queue.run([("HLEN", name), ("UNLINK", name)])
                total += rows
        return total

    def _hashes(self) -> list[bytes]:
        """The names of all hashes of the store, in ascending order."""
        hashes: set[bytes] = set()
        cursor = 0
        while True:
            command = ("SCAN", cursor, "MATCH", PREFIX + b"*", "COUNT", 1000)
            ((cursor, names),) = self._queue.run([command])
            hashes.update(names)
            if not cursor:
                return sorted(hashes)

    def backup(self, target: Path) -> None:
        """Refuse: Redis has its own commands for a copy.

        Raises:
            NotAllowedError: always; the message names those commands.
        """
        raise NotAllowedError(
            f"{self._connection.shown} is copied by its own means: redis-cli --rdb {target}, or "
            "the files of its appenddirname"
        )

    def audit(self) -> AuditReport:
        """Compare the charges with the sums while other processes write."""
        return audit(self.table_rows)

    def table_rows(self, table: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The rows of a table, read in pieces by HSCAN; for the key FLOOR, which is not a table, its single row."""
        if table == row_format.FLOOR:
            value = self.read(lambda txn: txn.get(table)).result()
            if value is not None:
                yield table, value
            return
        names = self._queue.call(self._hashes).result()
        for name in names:
            if not name.startswith(PREFIX + table[:1]):
                continue
            cursor = 0
            while True:
                command = ("HSCAN", name, cursor, "COUNT", _ROWS_PER_SCAN)
                cursor, fields = self._queue.command(command, lambda reply: reply).result()
                yield from ((row_key(name, field), value) for field, value in fields.items())
                if not cursor:
                    break

    def hasten(self) -> None:
        """Make all operations on both connections end soon, even if the server does not reply; for a stop."""
        self._connection.hasten()
        self._request_connection.hasten()

    def close(self) -> None:
        """Close both queues; operations that the server does not answer soon fail."""
        self.hasten()
        self._requests.close()
        self._queue.close()


def _identified_rows(key: bytes, reply: Reply) -> RedisTransaction:
    """The rows in the reply to `scripts.identify`: the row of `key`, and the row of its account."""
    rows = RedisTransaction(None)
    rows.enter_row(key, reply[0] if reply else None)
    if reply:
        rows.enter_row(row_format.ACCOUNT + reply[1], reply[2])
    return rows
