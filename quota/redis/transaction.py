"""A transaction over a Redis or Valkey server, with optimistic locking.

The ledger reads rows one after the other, in Python. A script (`lua/apply.lua`) then compares all
rows that were read with those on the server and writes, or changes nothing, and the ledger starts
again. Each row that was not expected costs a round trip, so transactions are for what is rare (accounts,
keys, packs, exports).

A read has no connection: where it lacks rows it stops, and is run again once they are there
(`pipeline_queue.py`), so that reads which wait at the same time share their round trips.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgpack

from quota.errors import QuotaError
from quota.redis import scripts
from quota.redis.hash_layout import place, row
from quota.redis.scripts import Command

Run = Callable[[Sequence[Command]], Sequence[Any]]


class LackingRows(QuotaError):  # noqa: N818 - the read goes on with these rows
    """A read needs the replies to `commands`, which `enter` takes."""

    def __init__(
        self, commands: Sequence[Command], enter: Callable[[Sequence[Any]], object]
    ) -> None:
        super().__init__()
        self.commands = commands
        self.enter = enter


class RedisTransaction:
    """A `WriteTransaction` over a server: the rows that were read, and the rows to write."""

    def __init__(self, run: Run | None) -> None:
        """`run` sends commands and returns their replies; without it, LackingRows is raised."""
        self._run = run
        self._seen: dict[tuple[bytes, bytes], bytes | None] = {}
        self._listed: dict[bytes, Mapping[bytes, bytes]] = {}
        self._written: dict[tuple[bytes, bytes], bytes | None] = {}

    # -- reading -------------------------------------------------------------------

    def fetch(self, key: bytes) -> Command:
        """The command whose reply `enter_row` takes, for the row `key`."""
        return ("HGET", *place(key))

    def enter_row(self, key: bytes, value: bytes | None) -> None:
        """Enter a row that was fetched."""
        self._seen[place(key)] = value

    def fetch_all(self, prefix: bytes) -> Command:
        """The command whose reply `enter_rows` takes, for all rows of `prefix`."""
        return ("HGETALL", place(prefix)[0])

    def enter_rows(self, prefix: bytes, fields: Mapping[bytes, bytes]) -> None:
        """Enter all rows of `prefix`."""
        self._listed[place(prefix)[0]] = fields

    def get(self, key: bytes, /) -> bytes | None:
        name, field = place(key)
        if (name, field) in self._written:
            return self._written[name, field]
        if name in self._listed:
            return self._listed[name].get(field)
        self.expect([key])
        return self._seen[name, field]

    def expect(self, keys: Sequence[bytes], /) -> None:
        lacking = [
            key for key in keys
            if place(key) not in self._seen and place(key)[0] not in self._listed
        ]  # fmt: skip

        def enter(replies: Sequence[Any]) -> None:
            for key, value in zip(lacking, replies, strict=True):
                self.enter_row(key, value)

        if lacking:
            self._ask([self.fetch(key) for key in lacking], enter)

    def _ask(self, commands: Sequence[Command], enter: Callable[[Sequence[Any]], object]) -> None:
        if self._run is None:
            raise LackingRows(commands, enter)
        enter(self._run(commands))

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        name, beginning = place(prefix)
        if name not in self._listed:
            self._ask([self.fetch_all(prefix)], lambda replies: self.enter_rows(prefix, replies[0]))
        rows: dict[bytes, bytes | None] = dict(self._listed[name])
        rows |= {field: value for (other, field), value in self._written.items() if other == name}
        for field in sorted(rows):
            value = rows[field]
            if value is not None and field.startswith(beginning):
                yield row(name, field), value

    # -- writing -------------------------------------------------------------------

    def put(self, key: bytes, value: bytes, /) -> None:
        self._written[place(key)] = value

    def delete(self, key: bytes, /) -> None:
        self._written[place(key)] = None

    def apply(self) -> Command:
        """The command that commits: its reply is 1, or 0 if another writer changed a row."""
        names = [name for name, _ in (*self._seen, *self._written)]
        names += self._listed
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names), 1)}
        listed = [(numbers[name], len(fields)) for name, fields in self._listed.items()]
        seen = [
            (numbers[name], field, value or False) for (name, field), value in self._seen.items()
        ]
        for name, fields in self._listed.items():
            seen += [(numbers[name], field, value) for field, value in fields.items()]
        written = [
            (numbers[name], field, False if value is None else value)
            for (name, field), value in self._written.items()
        ]
        # As msgpack text: the library of the server does not know the binary type.
        packed = msgpack.packb([seen, listed, written], use_bin_type=False)
        return scripts.apply(list(numbers), packed)
