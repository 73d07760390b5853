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
from quota.redis.scripts import Command, is_list, names_by_field, place, row

# A hash and a field of it.
_Place = tuple[bytes, bytes]
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
        self._listed: dict[bytes, dict[bytes, bytes]] = {}
        self._written: dict[tuple[bytes, bytes], bytes | None] = {}

    # -- reading -------------------------------------------------------------------

    def enter_row(self, key: bytes, value: bytes | None) -> None:
        """Enter a row that was fetched."""
        self._seen[place(key)] = value

    def get(self, key: bytes, /) -> bytes | None:
        name, field = place(key)
        if (name, field) in self._written:
            return self._written[name, field]
        if name in self._listed:
            return self._listed[name].get(field)
        if (name, field) not in self._seen:
            self._fetch([(name, field)], {})
        return self._seen[name, field]

    def expect(self, keys: Sequence[bytes], /) -> None:
        rows: list[_Place] = []
        lists: dict[bytes, list[bytes]] = {}  # and the hashes whose fields each names
        for key in dict.fromkeys(keys):
            name, field = place(key)
            if not field and is_list(key):
                lists[name] = []
            elif not field:
                lists[next(reversed(lists))].append(name)
            elif (name, field) not in self._seen and name not in self._listed:
                rows.append((name, field))
        self._fetch(rows, {name: it for name, it in lists.items() if name not in self._listed})

    def _fetch(self, rows: Sequence[_Place], lists: Mapping[bytes, Sequence[bytes]]) -> None:
        def enter(replies: Sequence[Any]) -> None:
            self._seen.update(zip(rows, replies, strict=False))
            for name, (listed, *values) in zip(lists, replies[len(rows) :], strict=True):
                fields = self._listed[name] = dict(zip(listed[::2], listed[1::2], strict=True))
                for other, found in zip(lists[name], values, strict=True):
                    names = fields if names_by_field(other) else fields.values()
                    self._seen.update(zip([(other, one) for one in names], found, strict=True))

        commands: list[Command] = [("HGET", name, field) for name, field in rows]
        commands += [scripts.list_hash(name, others) for name, others in lists.items()]
        if commands and self._run is None:
            raise LackingRows(commands, enter)
        if commands and self._run:
            enter(self._run(commands))

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        name, beginning = place(prefix)
        if name not in self._listed:
            self._fetch([], {name: ()})
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
