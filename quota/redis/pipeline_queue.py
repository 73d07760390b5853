"""The queue of operations for a Redis or Valkey server: many operations per round trip.

As with LMDB, one thread (`GroupCommit`) sends all operations, in the order of the queue. One round trip serves all
operations that were queued during the round trip before; if the server syncs each write, these operations share one
sync too. Transactions have a thread of their own, which queues one command after the other, so no
read waits for a transaction.
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
from quota.redis.scripts import FLOOR_MOVED, Command, Reply, ScriptCall, writes
from quota.redis.transaction import LackingRows, RedisTransaction
from quota.store.future import StoreFuture, resolve
from quota.store.group_commit import GroupCommit

T = TypeVar("T")

# The most attempts of one transaction, or of one read with several round trips. An attempt fails if another writer
# has changed the rows meanwhile.
ATTEMPTS: Final = 100

# Turns the replies to the commands of an operation into its result.
_Parse = Callable[[Reply], T]
# An operation: appends its commands to the list and returns the function that parses their replies.
_Request = Callable[[list[Command]], _Parse[T]]


class _FurtherReads(NamedTuple):
    """The outcome of an unfinished read: it needs the replies to `commands`, and `parse` continues it with them."""

    commands: Sequence[Command]
    parse: _Parse[Any]


class RedisQueue:
    """The queue, the thread that runs it, and the connection that only this thread uses."""

    def __init__(self, connection: RedisConnection) -> None:
        self.floor = b""  # the last floor in a reply of the server
        self._connection = connection
        self._writer: GroupCommit[list[Command]] = GroupCommit(self._run_group)
        self._transactions: GroupCommit[None] = GroupCommit(self._run_transaction, most=1)

    # -- operations, for any thread ------------------------------------------------

    def script(self, call_at: Callable[[bytes], ScriptCall]) -> StoreFuture[Any]:
        """Run the script call that `call_at` returns for the floor (the first month whose counters are kept).

        If the server has another floor, the call is made again for that floor.
        """

        def request(commands: list[Command]) -> _Parse[Any]:
            """Add the script call for the floor that is known now."""
            call = call_at(self.floor)
            commands.append(call.command)
            return lambda replies: self._parse(call, replies[0], call_at)

        return self._submit(request)

    def read(self, operation: Callable[[ReadTransaction], T]) -> StoreFuture[T]:
        """Run a read of the ledger. Reads that are queued at the same time share their round trips."""

        def request(commands: list[Command]) -> _Parse[T]:
            """Start the read, and add the commands that fetch the first rows it needs; return their parser."""
            rounds = self._rounds(operation)

            def read_on(replies: Reply | None) -> Any:
                """Continue the read with these replies: its result, or the further commands that it needs."""
                try:
                    return _FurtherReads(rounds.send(replies), read_on)
                except StopIteration as end:
                    return end.value

            first_outcome = read_on(None)
            if not isinstance(first_outcome, _FurtherReads):
                return lambda _: first_outcome
            commands += first_outcome.commands
            return first_outcome.parse

        return self._submit(request)

    def _rounds(
        self, operation: Callable[[ReadTransaction], T]
    ) -> Generator[Sequence[Command], Any, T]:
        """Run a read, again each time that missing rows have arrived; returns the result of the read.

        Yields the commands that fetch missing rows, and receives their replies. Rows that arrived in several round
        trips are compared with the server at the end; if another writer has changed one, the read starts again.
        """
        for _ in range(ATTEMPTS):
            rows, round_trips = RedisTransaction(None), 0
            while True:
                outcome: T | QuotaError
                try:
                    outcome = operation(rows)
                except LackingRows as lacking:
                    lacking.enter((yield lacking.commands))
                    round_trips += 1
                    continue
                except QuotaError as refusal:
                    outcome = refusal
                break
            if round_trips < 2 or (yield [rows.apply()])[0]:
                if isinstance(outcome, QuotaError):
                    raise outcome
                return outcome
        raise self._overtaken_error()

    def command(self, command: Command, parse: Callable[[Any], T]) -> StoreFuture[T]:
        """Send one command; the result is what `parse` returns for its reply."""
        return self.send([command], lambda replies: parse(replies[0]))

    def send(
        self, commands_to_add: Sequence[Command], parse: Callable[[Reply], T]
    ) -> StoreFuture[T]:
        """Send commands in one round trip; the result is what `parse` returns for their replies."""

        def request(commands: list[Command]) -> _Parse[T]:
            """Add the commands to those of the pipeline; returns the parser of their replies."""
            commands += commands_to_add
            return parse

        return self._submit(request)

    def batch_reads(self) -> Lock:
        """A lock that keeps the queue from being sent: operations of its `with` block share the first round trip."""
        return self._writer.gathering

    def send_in_turn(self, commands: Iterable[Command]) -> StoreFuture[None]:
        """Send commands one after the other, each in a round trip with the operations that wait meanwhile.

        So a long series delays a request by one command. The first error ends the series.
        """
        done: StoreFuture[None] = StoreFuture()
        later_commands = iter(commands)

        def send_next(previous: "Future[None] | None") -> None:
            """Send the next command after a reply without an error; resolve the future at the end."""
            error = previous.exception() if previous else None
            command = None if error else next(later_commands, None)
            if command is None:
                resolve([(done, error)])
            else:
                self.command(command, lambda _: None).add_done_callback(send_next)

        send_next(None)
        return done

    def transact(self, operation: Callable[[WriteTransaction], T]) -> StoreFuture[T]:
        """Run a function of the ledger, repeated until no row that it read changed meanwhile."""
        # The future resolves to the result of the transaction, not to the transaction: see `_run_transaction`.
        transaction = partial(self._transact, operation)
        return cast(StoreFuture[T], self._transactions.submit(lambda _: transaction))

    def call(self, function: Callable[[], T]) -> StoreFuture[T]:
        """Call a function on the sending thread, where it can use `run`."""
        return self._submit(lambda commands: lambda replies: function())

    def close(self) -> None:
        """Finish the queued operations if the server replies soon, then close the connection."""
        self._connection.hasten()
        self._transactions.close()
        self._writer.close()
        self._connection.close()

    def _submit(self, request: _Request[T]) -> StoreFuture[T]:
        """Queue a request for the sending thread."""
        # The future resolves to an outcome of `_run_group`, not to the parser that the request returns.
        return cast(StoreFuture[T], self._writer.submit(request))

    # -- on the thread -------------------------------------------------------------

    def run(self, commands: Sequence[Command]) -> Reply:
        """Send commands and return their replies.

        Raises:
            StoreUnavailable: the server cannot be reached, or refused one of the commands.
        """
        return self._check_reply(self._connection.run(commands))

    def _run_group(self, requests: Sequence[_Request[Any]]) -> Sequence[Any]:
        """Send the commands of all requests in one pipeline; return a result or an error for each request."""
        commands: list[Command] = []
        # For each request: its parser, and the range of its commands.
        waiting: list[tuple[_Parse[Any] | None, int, int]] = []
        for request in requests:
            start = len(commands)
            parse = _begin_request(request, commands)
            waiting.append((parse, start, len(commands)))
        try:
            replies = self._connection.run(commands) if commands else []
        except StoreUnavailable as error:
            # The commands of a request that only reads cannot have changed rows: its error has no `maybe_done`.
            read_error = StoreUnavailable(str(error))
            return [
                error if any(map(writes, commands[start:end])) else read_error
                for _, start, end in waiting
            ]
        except QuotaError as error:
            return [error for _ in requests]
        outcomes = [self._outcome(parse, replies[start:end]) for parse, start, end in waiting]
        while self._send_further_reads(outcomes):
            pass
        return outcomes

    def _send_further_reads(self, outcomes: list[Any]) -> bool:
        """Send the further commands of the reads that still need rows, in one round trip, and set their `outcomes`.

        Returns whether another round may be necessary; False if no read needed rows, or the server failed.
        """
        unfinished_reads = [
            number for number, outcome in enumerate(outcomes) if isinstance(outcome, _FurtherReads)
        ]
        commands = [command for number in unfinished_reads for command in outcomes[number].commands]
        try:
            replies = iter(self._connection.run(commands) if commands else ())
        except QuotaError as error:
            # Without `maybe_done`, because a read has changed nothing.
            read_error = StoreUnavailable(str(error))
            for number in unfinished_reads:
                outcomes[number] = read_error
            return False
        for number in unfinished_reads:
            count = len(outcomes[number].commands)
            outcomes[number] = self._outcome(outcomes[number].parse, list(islice(replies, count)))
        return bool(unfinished_reads)

    def _outcome(self, parse: _Parse[Any] | None, replies: Reply) -> Any:
        """The result of an operation, or the error to raise; None for an operation that was cancelled."""
        if parse is None:  # cancelled before it was sent
            return None
        try:
            return parse(self._check_reply(replies))
        except QuotaError as refusal:
            return refusal
        except UNREADABLE as error:
            return unreadable_row(self._connection.shown, error)

    def _check_reply(self, replies: Reply) -> Reply:
        """The replies, if Redis refused none of the commands; otherwise raises StoreUnavailable."""
        for reply in replies:
            if isinstance(reply, RedisError):
                raise StoreUnavailable(
                    f"{self._connection.shown}: {reply}; see the log of that server"
                )
        return replies

    def _parse(self, call: ScriptCall, reply: Reply, call_at: Callable[[bytes], ScriptCall]) -> Any:
        """The result of a script call; while the reply is FLOOR_MOVED, the call is made again with the new floor."""
        while reply[0] == FLOOR_MOVED:
            # Raises if the floor is not a month; `self.floor` is then unchanged, so the next call fails as well.
            call = call_at(reply[1])
            self.floor = reply[1]
            (reply,) = self.run([call.command])
        return call.parse(reply)

    # -- on the thread of the transactions -----------------------------------------

    def _run_transaction(self, group: Sequence[Callable[[None], Any]]) -> Sequence[Any]:
        """Run the transaction of a group; returns its result or error, in a list as GroupCommit expects.

        A group has one transaction, because the queue of transactions is made with `most=1`.
        """
        (begin,) = group
        transaction = begin(None)  # what `transact` queued; None if the future was cancelled
        # `_outcome` calls a parser with replies: here the parser runs the transaction, and there are no replies.
        return [self._outcome(transaction and (lambda _: transaction()), ())]

    def _run_queued(self, commands: Sequence[Command]) -> Reply:
        """`run` for the thread of the transactions: the commands join the queue of the sending thread."""
        return self.send(commands, lambda replies: replies).result()

    def _transact(self, operation: Callable[[WriteTransaction], T]) -> T:
        """Run a function of the ledger until its commit succeeds, at most ATTEMPTS times; return its result.

        A commit fails if another writer has changed a row that the function read. An error that the function raises
        is raised here, after the commit has confirmed that the rows it depends on are unchanged.
        """
        for _ in range(ATTEMPTS):
            rows = RedisTransaction(self._run_queued)
            outcome: T | QuotaError
            try:
                outcome = operation(rows)
            except StoreUnavailable:
                raise
            except QuotaError as refusal:  # valid only if the rows that it depends on are unchanged
                outcome = refusal
            if self._run_queued([rows.apply()])[0]:
                if isinstance(outcome, QuotaError):
                    raise outcome
                return outcome
        raise self._overtaken_error()

    def _overtaken_error(self) -> StoreUnavailable:
        """The error of an operation that failed ATTEMPTS times because other writers changed its rows."""
        return StoreUnavailable(
            f"{self._connection.shown}: others wrote the same rows {ATTEMPTS} times; try again"
        )


def _begin_request(request: _Request[T], commands: list[Command]) -> _Parse[T]:
    """Add the commands of a request. If the request is refused before it is sent, its parser raises the refusal."""
    try:
        return request(commands)
    except QuotaError as error:
        refusal = error

    def parse(replies: Reply) -> T:
        """Raise the refusal when the result is read, so that it becomes the outcome of the request."""
        raise refusal

    return parse
