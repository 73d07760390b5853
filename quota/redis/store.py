"""The store of several hosts: rows on a Redis or Valkey server, shared by all that name it.

The operations of every request are one script or one read each (`scripts.py`), during which nothing
else runs on the server. Everything else is a function of the ledger, in a transaction that starts again if
another writer changed its rows (`transaction.py`). Calls and pages have a connection and a
queue each (`pipeline_queue.py`), so that a search never waits for a page.
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
from quota.redis.scripts import PREFIX, Reply, place, row
from quota.redis.transaction import RedisTransaction
from quota.store.future import Reading, StoreFuture, Writing
from quota.store.interface import LedgerStore

P = ParamSpec("P")
T = TypeVar("T")

# Keys whose statistics are added by one command, for which a request waits in the worst case.
_KEYS: Final = 100
# Rows of a piece of an audit; others wait that long.
_SCANNED: Final = 1_000


class RedisStore(LedgerStore):
    """`Store` over a Redis or Valkey server."""

    def __init__(
        self, url: str, *, strict: bool = False, state: Path | None = None, create: bool = False
    ) -> None:
        """Connect to the server.

        Args:
            strict: refuse a server that does not sync each write.
            state: the STATE folder, which remembers the identity of the store.
            create: make a store if the server is empty.

        Raises:
            WrongStoreError: the settings of the server exclude its use.
            StoreUnavailable: the server cannot be reached, or has not the rows of the store.
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
        """By the server's clock where this host's differs: all hosts end a day together."""
        return utc(now) + self._request_connection.ahead

    def batch_reads(self) -> AbstractContextManager[object]:
        return self._queue.batch_reads()

    # -- the operations of every request -------------------------------------------

    def identify_by(
        self, digest: bytes, kind: KeyKind = account_rows.KEYS
    ) -> StoreFuture[Account | None]:
        key = kind.table + digest

        def parse(replies: Reply) -> Account | None:
            return account_rows.identify(_owned_rows(key, replies[0]), digest, kind)

        return self._requests.send([scripts.identify(key)], parse)

    def session(
        self, person: str, token: bytes, now: int
    ) -> StoreFuture[tuple[Person, Account] | None]:
        session = people.session_key(person, token)
        key = row_format.join(row_format.PERSON, person)

        def parse(replies: Reply) -> tuple[Person, Account] | None:
            rows = _owned_rows(key, replies[1])
            rows.enter_row(session, replies[0])
            return people.session(rows, person, token, now)

        return self._queue.send([("HGET", *place(session)), scripts.identify(key)], parse)

    def calls(self, account: str, limit: int, now: datetime) -> StoreFuture[Meter]:
        moment = self.moment(now)
        today = row_format.join(row_format.CALLS, day(moment).key, account)

        def read(txn: ReadTransaction) -> Meter:
            txn.expect([row_format.FLOOR, today])
            return calls.calls(txn, account, limit, moment)

        return self._requests.look(read)

    def take(self, account: str, limit: int, now: datetime) -> StoreFuture[Meter]:
        moment = self.moment(now)
        return self._requests.script(lambda floor: scripts.take(floor, account, limit, moment))

    def give_back(self, account: str, taken: datetime) -> StoreFuture[None]:
        moment = self.moment(taken)
        return self._requests.script(lambda floor: scripts.give_back(floor, account, moment))

    def take_and_charge(
        self, purchase: Purchase, now: datetime
    ) -> StoreFuture[tuple[Meter, Charge | None]]:
        moment = self.moment(now)
        return self._requests.script(
            lambda floor: scripts.take_and_charge(floor, purchase, moment, count_call=True)
        )

    # -- for edges -----------------------------------------------------------------

    def charge(self, purchase: Purchase, now: datetime) -> StoreFuture[tuple[Meter, Charge | None]]:
        """Charge a record whose call an edge has counted; the meter has no limit."""
        moment = self.moment(now)
        return self._requests.script(
            lambda floor: scripts.take_and_charge(floor, purchase, moment, count_call=False)
        )

    def move(
        self, account: str, name: str, calls: int, limit: int, parts: int, today: str
    ) -> StoreFuture[tuple[int, int]]:
        """Lend or take back calls, as `scripts.move`; repeated, it has the same result."""
        return self._requests.script(
            lambda floor: scripts.move(floor, account, name, calls, limit, parts, today)
        )

    # -- statistics ----------------------------------------------------------------

    def add_key_calls(self, calls: Mapping[bytes, int], day: date) -> StoreFuture[None]:
        pairs = list(calls.items())
        parts = (pairs[n : n + _KEYS] for n in range(0, len(pairs), _KEYS))
        return self._queue.in_turn(scripts.add_key_calls(part, day) for part in parts)

    # -- everything else -----------------------------------------------------------

    def read(
        self, operation: Reading[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        return self._queue.look(lambda txn: operation(txn, *args, **kwargs))

    def submit(
        self, operation: Writing[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> StoreFuture[T]:
        return self._queue.transact(lambda txn: operation(txn, *args, **kwargs))

    # -- upkeep --------------------------------------------------------------------

    def newest_month(self) -> str | None:
        names = [name[len(PREFIX) :] for name in self._queue.call(self._hashes).result()]
        months = [name[2:9].decode() for name in names if name[:2] in row_format.PERIODIC]
        return max(months, default=None)

    def compact(self, before: str) -> int:
        self._queue.command(scripts.raise_floor(before), lambda reply: reply).result()
        return self._queue.call(self._drop_periods).result()

    def _drop_periods(self) -> int:
        """Delete the hashes of periods before the floor; returns how many rows they had."""
        (floor,) = self._queue.run([("HGET", *place(row_format.FLOOR))])
        total = 0
        for name in self._hashes():
            table, period = name[len(PREFIX) :][:2], name[len(PREFIX) :][2:]
            if table in row_format.PERIODIC and period < floor:
                rows, _ = self._queue.run([("HLEN", name), ("UNLINK", name)])
                total += rows
        return total

    def _hashes(self) -> list[bytes]:
        hashes: set[bytes] = set()
        cursor = 0
        while True:
            command = ("SCAN", cursor, "MATCH", PREFIX + b"*", "COUNT", 1000)
            ((cursor, names),) = self._queue.run([command])
            hashes.update(names)
            if not cursor:
                return sorted(hashes)

    def backup(self, target: Path) -> None:
        """Refuse: a server has commands of its own for a copy.

        Raises:
            NotAllowedError: always; the message names those commands.
        """
        raise NotAllowedError(
            f"{self._connection.shown} is copied by its own means: redis-cli --rdb {target}, or "
            "the files of its appenddirname"
        )

    def audit(self) -> AuditReport:
        return audit(self.table_rows)

    def table_rows(self, table: bytes) -> Iterator[tuple[bytes, bytes]]:
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
                command = ("HSCAN", name, cursor, "COUNT", _SCANNED)
                cursor, fields = self._queue.command(command, lambda reply: reply).result()
                yield from ((row(name, field), value) for field, value in fields.items())
                if not cursor:
                    break

    def hasten(self) -> None:
        """Let all operations end soon, whatever the server does."""
        self._connection.hasten()
        self._request_connection.hasten()

    def close(self) -> None:
        self.hasten()
        self._requests.close()
        self._queue.close()


def _owned_rows(key: bytes, reply: Reply) -> RedisTransaction:
    """The rows of the reply to `scripts.identify`."""
    rows = RedisTransaction(None)
    rows.enter_row(key, reply[0] if reply else None)
    if reply:
        rows.enter_row(row_format.ACCOUNT + reply[1], reply[2])
    return rows
