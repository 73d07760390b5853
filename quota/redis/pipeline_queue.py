"""The queue of operations for a Redis or Valkey server: many operations per round trip.

As over LMDB, one thread (`GroupCommit`) does all the waiting, in the order of the queue. One round
trip then serves all operations that were queued meanwhile, and if the server syncs each write, so
does one sync of its file. Transactions have a thread of their own, which queues one command after
the other, so no read waits for a transaction.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import islice
from threading import Lock
from typing import Any, Final, NamedTuple, TypeVar, cast

from redis.exceptions import RedisError

from quota.errors import UNREADABLE, QuotaError, StoreUnavailable, unreadable_row
from quota.ledger.row_format import ReadTransaction, WriteTransaction
from quota.redis.connection import RedisConnection
from quota.redis.scripts import MOVED, Command, Reply, ScriptCall, writes
from quota.redis.transaction import LackingRows, RedisTransaction
from quota.store.future import StoreFuture, resolve
from quota.store.group_commit import GroupCommit

T = TypeVar("T")

# Attempts of one transaction; each that fails means that another writer's transaction succeeded.
ATTEMPTS: Final = 100

# Interprets the replies to the commands of an operation.
_Parse = Callable[[Reply], T]
# An operation: appends its commands to the list and returns how to interpret their replies.
_Request = Callable[[list[Command]], _Parse[T]]


class _FurtherReads(NamedTuple):
    """A read that needs further replies."""

    commands: Sequence[Command]
    parse: _Parse[Any]


class RedisQueue:
    """The thread, its queue, and the connection that only this thread uses."""

    def __init__(self, connection: RedisConnection) -> None:
        self.floor = b""  # the last one that the server replied with
        self._connection = connection
        self._writer: GroupCommit[list[Command]] = GroupCommit(self._run_group)
        self._transactions: GroupCommit[None] = GroupCommit(self._run_transaction, most=1)

    # -- operations, for any thread ------------------------------------------------

    def script(self, call_at: Callable[[bytes], ScriptCall]) -> StoreFuture[Any]:
        """Run the script that `call_at` makes for the known floor; again if the floor has moved."""

        def request(commands: list[Command]) -> _Parse[Any]:
            call = call_at(self.floor)
            commands.append(call.command)
            return lambda replies: self._parse(call, replies[0], call_at)

        return self._submit(request)

    def look(self, operation: Callable[[ReadTransaction], T]) -> StoreFuture[T]:
        """Run a read. Reads that wait at the same time share each of their round trips."""

        def request(commands: list[Command]) -> _Parse[T]:
            rounds = self._rounds(operation)

            def go_on(replies: Reply | None) -> Any:
                try:
                    return _FurtherReads(rounds.send(replies), go_on)
                except StopIteration as end:
                    return end.value

            first = go_on(None)
            if not isinstance(first, _FurtherReads):
                return lambda _: first
            commands += first.commands
            return first.parse

        return self._submit(request)

    def _rounds(
        self, operation: Callable[[ReadTransaction], T]
    ) -> Generator[Sequence[Command], Any, T]:
        """Run a read again each time that rows arrive which it lacked; returns its result.

        Rows that arrived in several round trips are compared with the server at the end.
        """
        for _ in range(ATTEMPTS):
            rows, trips = RedisTransaction(None), 0
            while True:
                outcome: T | QuotaError
                try:
                    outcome = operation(rows)
                except LackingRows as lacking:
                    lacking.enter((yield lacking.commands))
                    trips += 1
                    continue
                except QuotaError as refusal:
                    outcome = refusal
                break
            if trips < 2 or (yield [rows.apply()])[0]:
                if isinstance(outcome, QuotaError):
                    raise outcome
                return outcome
        raise self._overtaken_error()

    def command(self, command: Command, parse: Callable[[Any], T]) -> StoreFuture[T]:
        """Send one command; the result is what `parse` returns for its reply."""
        return self.send([command], lambda replies: parse(replies[0]))

    def send(self, sent: Sequence[Command], parse: Callable[[Reply], T]) -> StoreFuture[T]:
        """Send commands in one round trip; the result is what `parse` returns for their replies."""

        def request(commands: list[Command]) -> _Parse[T]:
            commands += sent
            return parse

        return self._submit(request)

    def batch_reads(self) -> Lock:
        """Begin all operations of a `with` in one round trip."""
        return self._writer.gathering

    def in_turn(self, commands: Iterable[Command]) -> StoreFuture[None]:
        """Send commands one after the other, each in a round trip with what waits meanwhile.

        So a long work of many commands delays a request by one of them. The first error ends it.
        """
        done: StoreFuture[None] = StoreFuture()
        rest = iter(commands)

        def send_next(before: "Future[None] | None") -> None:
            error = before.exception() if before else None
            command = None if error else next(rest, None)
            if command is None:
                resolve([(done, error)])
            else:
                self.command(command, lambda _: None).add_done_callback(send_next)

        send_next(None)
        return done

    def transact(self, operation: Callable[[WriteTransaction], T]) -> StoreFuture[T]:
        """Run a function of the ledger, repeated until no row that it read changed meanwhile."""
        # As in `_submit`: the outcome is that of the call.
        transaction = partial(self._transact, operation)
        return cast(StoreFuture[T], self._transactions.submit(lambda _: transaction))

    def call(self, function: Callable[[], T]) -> StoreFuture[T]:
        """Call a function on the thread, where it may use `run`."""
        return self._submit(lambda commands: lambda replies: function())

    def close(self) -> None:
        """Finish the queued operations if the server answers them soon, then close the connection."""
        self._connection.hasten()
        self._transactions.close()
        self._writer.close()
        self._connection.close()

    def _submit(self, request: _Request[T]) -> StoreFuture[T]:
        # The outcomes are those of `_run_group`, not the parsers that the requests return.
        return cast(StoreFuture[T], self._writer.submit(request))

    # -- on the thread -------------------------------------------------------------

    def run(self, commands: Sequence[Command]) -> Reply:
        """Send commands and return their replies.

        Raises:
            StoreUnavailable: the server cannot be reached, or refused one of them.
        """
        return self._check_reply(self._connection.run(commands))

    def _run_group(self, requests: Sequence[_Request[Any]]) -> Sequence[Any]:
        commands: list[Command] = []
        waiting: list[tuple[_Parse[Any] | None, int, int]] = []
        for request in requests:
            start = len(commands)
            parse = _begin(request, commands)
            waiting.append((parse, start, len(commands)))
        try:
            replies = self._connection.run(commands) if commands else []
        except StoreUnavailable as error:
            surely_not = StoreUnavailable(str(error))
            return [
                error if any(map(writes, commands[start:end])) else surely_not
                for _, start, end in waiting
            ]
        except QuotaError as error:
            return [error for _ in requests]
        outcomes = [self._outcome(parse, replies[start:end]) for parse, start, end in waiting]
        while self._go_on(outcomes):
            pass
        return outcomes

    def _go_on(self, outcomes: list[Any]) -> bool:
        """Make the next round trip of the reads that need one; False if none does."""
        lacking = [number for number, one in enumerate(outcomes) if isinstance(one, _FurtherReads)]
        commands = [command for number in lacking for command in outcomes[number].commands]
        try:
            replies = iter(self._connection.run(commands) if commands else ())
        except QuotaError as error:
            surely_not = StoreUnavailable(str(error))
            for number in lacking:
                outcomes[number] = surely_not
            return False
        for number in lacking:
            count = len(outcomes[number].commands)
            outcomes[number] = self._outcome(outcomes[number].parse, list(islice(replies, count)))
        return bool(lacking)

    def _outcome(self, parse: _Parse[Any] | None, replies: Reply) -> Any:
        if parse is None:  # cancelled before it was sent
            return None
        try:
            return parse(self._check_reply(replies))
        except QuotaError as refusal:
            return refusal
        except UNREADABLE as error:
            return unreadable_row(self._connection.shown, error)

    def _check_reply(self, replies: Reply) -> Reply:
        for reply in replies:
            if isinstance(reply, RedisError):
                raise StoreUnavailable(
                    f"{self._connection.shown}: {reply}; see the log of that server"
                )
        return replies

    def _parse(self, call: ScriptCall, reply: Reply, call_at: Callable[[bytes], ScriptCall]) -> Any:
        while reply[0] == MOVED:
            call = call_at(reply[1])  # raises if it is no month, and is asked for again then
            self.floor = reply[1]
            (reply,) = self.run([call.command])
        return call.parse(reply)

    # -- on the thread of the transactions -----------------------------------------

    def _run_transaction(self, group: Sequence[Callable[[None], Any]]) -> Sequence[Any]:
        """Run the only transaction of a group; its outcome."""
        (begin,) = group
        transaction = begin(None)
        return [self._outcome(transaction and (lambda _: transaction()), ())]

    def _ask(self, commands: Sequence[Command]) -> Reply:
        """`run` for this thread: the commands are queued with what waits meanwhile."""
        return self.send(commands, lambda replies: replies).result()

    def _transact(self, operation: Callable[[WriteTransaction], T]) -> T:
        for _ in range(ATTEMPTS):
            rows = RedisTransaction(self._ask)
            outcome: T | QuotaError
            try:
                outcome = operation(rows)
            except StoreUnavailable:
                raise
            except QuotaError as refusal:  # its reasons must still hold at the commit, too
                outcome = refusal
            if self._ask([rows.apply()])[0]:
                if isinstance(outcome, QuotaError):
                    raise outcome
                return outcome
        raise self._overtaken_error()

    def _overtaken_error(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self._connection.shown}: others wrote the same rows {ATTEMPTS} times; try again"
        )


def _begin(request: _Request[T], commands: list[Command]) -> _Parse[T]:
    """Add the commands of a request; a refusal before sending is raised by the parser instead."""
    try:
        return request(commands)
    except QuotaError as error:
        refusal = error

    def parse(replies: Reply) -> T:
        raise refusal

    return parse
