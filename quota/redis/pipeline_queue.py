"""What waits for a Redis or Valkey server: sent at once, answered in one round trip.

As over LMDB a thread does all that waits, in the order of the queue. One round trip then serves all
who asked meanwhile, and where the server syncs each write, one sync of its file.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, cast

from redis.exceptions import RedisError

from quota.errors import QuotaError, StoreUnavailable
from quota.ledger.transaction import ReadTransaction, WriteTransaction
from quota.redis.connection import RedisConnection
from quota.redis.scripts import MOVED, Command, Reply, ScriptCall
from quota.redis.transaction import RedisTransaction
from quota.store.group_commit import GroupCommit
from quota.store.promise import Promise

T = TypeVar("T")

# So often a transaction is tried: each time that it fails, somebody else's was written.
ATTEMPTS: Final = 100

# Adds its commands, and says what their replies mean.
_Asking = Callable[[list[Command]], Callable[[Reply], T]]


class RedisQueue:
    """The thread, its queue, and the connection that only this thread uses."""

    def __init__(self, link: RedisConnection) -> None:
        self.floor = b""  # as the server told it last
        self._link = link
        self._writer: GroupCommit[list[Command]] = GroupCommit(self._group, lambda: None)

    # -- what can be asked ---------------------------------------------------------

    def script(self, step_at: Callable[[bytes], ScriptCall]) -> Promise[Any]:
        """A script that is reckoned with a floor; again with another, if that has moved."""

        def asking(commands: list[Command]) -> Callable[[Reply], Any]:
            step = step_at(self.floor)
            commands.append(step.command)
            return lambda replies: self._settled(step, replies[0], step_at)

        return self._ask(asking)

    def look(
        self,
        look: Callable[[ReadTransaction], T],
        expected: Sequence[bytes],
        listed: bytes | None = None,
    ) -> Promise[T]:
        """A read, in one round trip if its rows are the `expected` and those under `listed`."""

        def asking(commands: list[Command]) -> Callable[[Reply], T]:
            rows = RedisTransaction(self.run)
            commands += [rows.fetch(key) for key in expected]
            if listed is not None:
                commands.append(rows.fetch_all(listed))

            def told(replies: Reply) -> T:
                for key, value in zip(expected, replies, strict=False):
                    rows.fetched(key, value)
                if listed is not None:
                    rows.fetched_all(listed, replies[-1])
                return look(rows)

            return told

        return self._ask(asking)

    def reply(self, command: Command, told: Callable[[Any], T]) -> Promise[T]:
        """What the reply to one command means."""

        def asking(commands: list[Command]) -> Callable[[Reply], T]:
            commands.append(command)
            return lambda replies: told(replies[0])

        return self._ask(asking)

    def transact(self, wish: Callable[[WriteTransaction], T]) -> Promise[T]:
        """A function of the ledger, done when nothing that it read was changed meanwhile."""
        return self.work(lambda: self._transacted(wish))

    def work(self, run: Callable[[], T]) -> Promise[T]:
        """Anything that uses `self.run` on the thread."""
        return self._ask(lambda commands: lambda replies: run())

    def close(self) -> None:
        """Do what was asked for before, then leave."""
        self._writer.close()
        self._link.close()

    def _ask(self, asking: _Asking[T]) -> Promise[T]:
        # The writer settles with what the replies mean (`_group`), not with what a wish returns.
        return cast(Promise[T], self._writer.submit(asking))

    # -- on the thread -------------------------------------------------------------

    def run(self, commands: Sequence[Command]) -> Reply:
        """The replies, at once.

        Raises:
            StoreUnavailable: the server cannot be reached, or refused one of them.
        """
        return self._checked(self._link.run(commands))

    def _group(self, wishes: Sequence[_Asking[Any]]) -> Sequence[Any]:
        commands: list[Command] = []
        waiting: list[tuple[Callable[[Reply], Any] | None, int, int]] = []
        for wish in wishes:
            start = len(commands)
            told = _begun(wish, commands)
            waiting.append((told, start, len(commands)))
        try:
            replies = self._link.run(commands) if commands else []
        except QuotaError as error:
            return [error for _ in wishes]
        return [self._outcome(told, replies[start:end]) for told, start, end in waiting]

    def _outcome(self, told: Callable[[Reply], Any] | None, replies: Reply) -> Any:
        if told is None:  # it was given up before it was sent
            return None
        try:
            return told(self._checked(replies))
        except QuotaError as refused:
            return refused

    def _checked(self, replies: Reply) -> Reply:
        for reply in replies:
            if isinstance(reply, RedisError):
                raise StoreUnavailable(f"{self._link.shown}: {reply}")
        return replies

    def _settled(
        self, step: ScriptCall, reply: Reply, step_at: Callable[[bytes], ScriptCall]
    ) -> Any:
        while reply[0] == MOVED:
            self.floor = reply[1]
            step = step_at(self.floor)
            (reply,) = self.run([step.command])
        return step.told(reply)

    def _transacted(self, wish: Callable[[WriteTransaction], T]) -> T:
        for _ in range(ATTEMPTS):
            rows = RedisTransaction(self.run)
            outcome: T | QuotaError
            try:
                outcome = wish(rows)
            except StoreUnavailable:
                raise
            except QuotaError as refused:  # for reasons that must hold, too
                outcome = refused
            if self.run([rows.apply()])[0]:
                if isinstance(outcome, QuotaError):
                    raise outcome
                return outcome
        raise StoreUnavailable(f"{self._link.shown}: others wrote the same rows {ATTEMPTS} times")


def _begun(wish: _Asking[T], commands: list[Command]) -> Callable[[Reply], T]:
    """What a wish adds; one that is refused before anything is sent says so when it is told."""
    try:
        return wish(commands)
    except QuotaError as error:
        refused = error

    def told(replies: Reply) -> T:
        raise refused

    return told
