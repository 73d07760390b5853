"""A transaction over a Redis or Valkey server: what it read must still be so when it is written.

The ledger reads rows one after the other, in Python; a script then compares all that was read and
writes, or does nothing and the ledger begins again. That takes a round trip a row, so it is for
what is rare (accounts, keys, packs, exports) and for reads whose rows are fetched beforehand.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgpack

from quota.redis.scripts import APPLY, Command, evaluated, place, row

Run = Callable[[Sequence[Command]], Sequence[Any]]


class RedisTransaction:
    """`Writing` over a server, with what was read and what is to be written."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._seen: dict[tuple[bytes, bytes], bytes | None] = {}
        self._listed: dict[bytes, Mapping[bytes, bytes]] = {}
        self._written: dict[tuple[bytes, bytes], bytes | None] = {}

    # -- what is read --------------------------------------------------------------

    def fetch(self, key: bytes) -> Command:
        """The command whose reply `fetched` wants for the row `key`."""
        return ("HGET", *place(key))

    def fetched(self, key: bytes, value: bytes | None) -> None:
        self._seen[place(key)] = value

    def fetch_all(self, prefix: bytes) -> Command:
        """The command whose reply `fetched_all` wants for the rows of `prefix`."""
        return ("HGETALL", place(prefix)[0])

    def fetched_all(self, prefix: bytes, fields: Mapping[bytes, bytes]) -> None:
        self._listed[place(prefix)[0]] = fields

    def get(self, key: bytes, /) -> bytes | None:
        where = place(key)
        if where in self._written:
            return self._written[where]
        if where[0] in self._listed:
            return self._listed[where[0]].get(where[1])
        if where not in self._seen:
            self.fetched(key, self._run([self.fetch(key)])[0])
        return self._seen[where]

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        hashed, beginning = place(prefix)
        if hashed not in self._listed:
            self.fetched_all(prefix, self._run([self.fetch_all(prefix)])[0])
        rows: dict[bytes, bytes | None] = dict(self._listed[hashed])
        rows |= {field: value for (where, field), value in self._written.items() if where == hashed}
        for field in sorted(rows):
            value = rows[field]
            if value is not None and field.startswith(beginning):
                yield row(hashed, field), value

    # -- what is written -----------------------------------------------------------

    def put(self, key: bytes, value: bytes, /) -> None:
        self._written[place(key)] = value

    def delete(self, key: bytes, /) -> None:
        self._written[place(key)] = None

    def apply(self) -> Command:
        """Compare and write: the reply is 1, or 0 where something else was written meanwhile."""
        hashes = [where for where, _ in (*self._seen, *self._written)]
        hashes += self._listed
        names = {name: number for number, name in enumerate(dict.fromkeys(hashes), 1)}
        listed = [(names[name], len(fields)) for name, fields in self._listed.items()]
        seen = [(names[name], field, value or False) for (name, field), value in self._seen.items()]
        for name, fields in self._listed.items():
            seen += [(names[name], field, value) for field, value in fields.items()]
        written = [
            (names[name], field, False if value is None else value)
            for (name, field), value in self._written.items()
        ]
        # Bytes as text: the server's msgpack is older than the type of their own.
        read = msgpack.packb([seen, listed, written], use_bin_type=False)
        return evaluated(APPLY, list(names), read)
