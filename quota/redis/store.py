"""The store of several hosts: rows on a Redis or Valkey server, for all that name the same one.

What every request asks for is one script (`scripts.py`), which nobody comes between; what is
rare is a function of the ledger, in a transaction that begins again where somebody else wrote
meanwhile (`transaction.py`). Both go through one queue (`pipeline_queue.py`).
"""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from quota.accounts import Account
from quota.errors import NotAllowedError
from quota.ledger import calls, exports, registry, row_format
from quota.ledger.transaction import ReadTransaction, WriteTransaction
from quota.periods import day, month, utc
from quota.plans import Plan
from quota.redis import scripts
from quota.redis.connection import RedisConnection
from quota.redis.pipeline_queue import RedisQueue
from quota.redis.scripts import PREFIX, Reply
from quota.redis.transaction import RedisTransaction
from quota.results import Charge, Meter, Usage
from quota.store.base import AccountBook
from quota.store.promise import Promise

T = TypeVar("T")


class RedisStore(AccountBook):
    """`Store` over a server."""

    def __init__(self, url: str, *, strict: bool = False) -> None:
        """Connect to the server; `strict` refuses one that does not sync each write.

        Raises:
            WrongStoreError: the server is not to be used as it is set.
            StoreUnavailable: it cannot be reached.
        """
        self._link = RedisConnection(url, strict=strict)
        self._queue = RedisQueue(self._link)

    # -- what every request asks for -----------------------------------------------

    def _identify(self, digest: bytes) -> Promise[Account | None]:
        def told(reply: Reply) -> Account | None:
            if not reply:
                return None
            key, account, stored = reply
            rows = RedisTransaction(self._queue.run)
            rows.fetched(row_format.KEY + digest, key)
            rows.fetched(row_format.ACCOUNT + account, stored)
            return registry.identify(rows, digest)

        return self._queue.reply(scripts.identify(digest), told)

    def usage(self, account: str, plan: Plan, now: datetime) -> Promise[Usage]:
        moment = calls.since(now, self._queue.floor)
        this_month = month(moment).key
        rows = (
            row_format.FLOOR,
            row_format.join(row_format.CALLS, day(moment).key, account),
            row_format.join(row_format.EXPORTS, this_month, account),
            row_format.join(row_format.GRANT, this_month, account),
            row_format.join(row_format.PACKS, account),
        )
        held = row_format.join(row_format.RESERVED, account, "")
        return self._queue.look(lambda txn: exports.usage(txn, account, plan, now), rows, held)

    def calls(self, account: str, limit: int, now: datetime) -> Promise[Meter]:
        today = day(calls.since(now, self._queue.floor))
        rows = row_format.FLOOR, row_format.join(row_format.CALLS, today.key, account)
        return self._queue.look(lambda txn: calls.calls(txn, account, limit, now), rows)

    def take(self, account: str, limit: int, now: datetime) -> Promise[Meter]:
        moment = utc(now)
        return self._queue.script(lambda floor: scripts.take(floor, account, limit, moment))

    def give_back(self, account: str, taken: datetime) -> Promise[None]:
        moment = utc(taken)
        return self._queue.script(lambda floor: scripts.give_back(floor, account, moment))

    def take_and_charge(
        self, account: str, limit: int, company: str, cost: int, grant: int, now: datetime
    ) -> Promise[tuple[Meter, Charge | None]]:
        return self._charge(account, limit, company, cost, grant, utc(now))

    # -- for edges -----------------------------------------------------------------

    def charge(
        self, account: str, company: str, cost: int, grant: int, now: datetime
    ) -> Promise[tuple[Meter, Charge | None]]:
        """A charge whose call is counted elsewhere: the meter has no limit."""
        return self._charge(account, None, company, cost, grant, utc(now))

    def move(
        self, account: str, name: str, calls: int, limit: int, parts: int, today: str
    ) -> Promise[tuple[int, int]]:
        """As `redis_scripts.move`; the same `name` again changes nothing and tells the same."""
        return self._queue.script(
            lambda floor: scripts.move(floor, account, name, calls, limit, parts, today)
        )

    def _charge(
        self, account: str, limit: int | None, company: str, cost: int, grant: int, now: datetime
    ) -> Promise[tuple[Meter, Charge | None]]:
        return self._queue.script(
            lambda floor: scripts.take_and_charge(floor, account, limit, company, cost, grant, now)
        )

    # -- what is rare --------------------------------------------------------------

    def _read(self, look: Callable[[ReadTransaction], T]) -> Promise[T]:
        return self._queue.transact(look)

    def _submit(self, wish: Callable[[WriteTransaction], T]) -> Promise[T]:
        return self._queue.transact(wish)

    # -- upkeep --------------------------------------------------------------------

    def compact(self, before: str) -> int:
        self._submit(lambda txn: calls.raise_floor(txn, before)).result()
        return self._queue.work(self._dropped).result()

    def _dropped(self) -> int:
        """Drop the hashes of periods before the floor; returns how many rows they had."""
        (floor,) = self._queue.run([("HGET", *scripts.place(row_format.FLOOR))])
        total = 0
        for name in self._hashes():
            table, period = name[len(PREFIX) :][:2], name[len(PREFIX) :][2:]
            if table in row_format.PERIODIC and period < floor:
                rows, _ = self._queue.run([("HLEN", name), ("UNLINK", name)])
                total += rows
        return total

    def _hashes(self) -> list[bytes]:
        found: set[bytes] = set()
        cursor = 0
        while True:
            command = ("SCAN", cursor, "MATCH", PREFIX + b"*", "COUNT", 1000)
            ((cursor, names),) = self._queue.run([command])
            found.update(names)
            if not cursor:
                return sorted(found)

    def backup(self, target: Path) -> None:
        """Refuse: a server is copied by its own means.

        Raises:
            NotAllowedError: always, naming them.
        """
        raise NotAllowedError(
            f"{self._link.shown} is copied by its own means: redis-cli --rdb {target}, or the "
            "files of its appenddirname"
        )

    def close(self) -> None:
        self._queue.close()
