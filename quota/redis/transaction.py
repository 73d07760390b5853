"""A transaction over a Redis or Valkey server, with optimistic locking.

The ledger reads rows one after the other, in Python. A script (`lua/apply.lua`) then compares all rows that were
read with the rows on the server. If all are equal, the script writes; otherwise it changes nothing, and the ledger
starts again. Each row that was not announced by `expect` costs a round trip, so transactions are for rare operations
(accounts, keys, packs, exports).

The transaction of a read has no connection. A read that lacks rows stops, and is run again when the rows have arrived
(`pipeline_queue.py`), so that reads which wait at the same time share their round trips.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgpack

from quota.errors import QuotaError
from quota.redis import scripts
from quota.redis.scripts import Command, is_list, names_by_field, place, row_key

# The names of a Redis hash and of a field in that hash: the place of a row.
_HashField = tuple[bytes, bytes]
SendCommands = Callable[[Sequence[Command]], Sequence[Any]]


class LackingRows(QuotaError):  # noqa: N818 - the read goes on with these rows
    """A read needs rows: the replies to `commands`, which must be passed to `enter` before the read is run again."""

    def __init__(
        self, commands: Sequence[Command], enter: Callable[[Sequence[Any]], object]
    ) -> None:
        super().__init__()
        self.commands = commands
        self.enter = enter


class RedisTransaction:
    """A `WriteTransaction` over a server: the rows that were read, and the rows to write."""

    def __init__(self, run: SendCommands | None) -> None:
        """`run` sends commands and returns their replies; without it, LackingRows is raised."""
        self._run = run
        # By hash and field: the rows that were read one by one, None for an absent row.
        self._read_rows: dict[tuple[bytes, bytes], bytes | None] = {}
        # By hash: its fields with their values, if the complete hash was read.
        self._listed: dict[bytes, dict[bytes, bytes]] = {}
        # By hash and field: the rows to write, None for a row to delete.
        self._written: dict[tuple[bytes, bytes], bytes | None] = {}

    # -- reading -------------------------------------------------------------------

    def enter_row(self, key: bytes, value: bytes | None) -> None:
        """Add a row that was fetched from the server."""
        self._read_rows[place(key)] = value

    def get(self, key: bytes, /) -> bytes | None:
        """The value of a row, as written here or as read before; else it is fetched."""
        name, field = place(key)
        if (name, field) in self._written:
            return self._written[name, field]
        if name in self._listed:
            return self._listed[name].get(field)
        if (name, field) not in self._read_rows:
            self._fetch([(name, field)], {})
        return self._read_rows[name, field]

    def expect(self, keys: Sequence[bytes], /) -> None:
        """Fetch the rows and lists of `keys` that were not read before, in one round trip.

        Later reads of these keys need no further round trip. A table in `keys` belongs to the list before it, whose
        entries name rows of the table.
        """
        rows: list[_HashField] = []
        # By hash of a list: the hashes to whose rows it refers.
        lists: dict[bytes, list[bytes]] = {}
        for key in dict.fromkeys(keys):
            name, field = place(key)
            if not field and is_list(key):
                lists[name] = []
            elif not field:  # a table: the rows to which the list before it refers
                lists[next(reversed(lists))].append(name)
            elif (name, field) not in self._read_rows and name not in self._listed:
                rows.append((name, field))
        self._fetch(
            rows,
            {name: referenced for name, referenced in lists.items() if name not in self._listed},
        )

    def _fetch(self, rows: Sequence[_HashField], lists: Mapping[bytes, Sequence[bytes]]) -> None:
        """Fetch rows and lists in one round trip, with the rows to which each list refers.

        Raises:
            LackingRows: this transaction has no connection.
        """

        def enter(replies: Sequence[Any]) -> None:
            """Add the replies: the rows, then of each list its fields and the rows to which it refers."""
            self._read_rows.update(zip(rows, replies, strict=False))
            for name, (listed, *values) in zip(lists, replies[len(rows) :], strict=True):
                fields = self._listed[name] = dict(zip(listed[::2], listed[1::2], strict=True))
                for other_hash, fetched in zip(lists[name], values, strict=True):
                    names = fields if names_by_field(other_hash) else fields.values()
                    self._read_rows.update(
                        zip([(other_hash, row_name) for row_name in names], fetched, strict=True)
                    )

        commands: list[Command] = [("HGET", name, field) for name, field in rows]
        commands += [
            scripts.list_hash(name, referenced_hashes) for name, referenced_hashes in lists.items()
        ]
        if commands and self._run is None:
            raise LackingRows(commands, enter)
        if commands and self._run:
            enter(self._run(commands))

    def scan(self, prefix: bytes, /) -> Iterator[tuple[bytes, bytes]]:
        """The rows whose key begins with `prefix`, with the changes of this transaction."""
        name, beginning = place(prefix)
        if name not in self._listed:
            self._fetch([], {name: ()})
        rows: dict[bytes, bytes | None] = dict(self._listed[name])
        rows |= {field: value for (other, field), value in self._written.items() if other == name}
        for field in sorted(rows):
            value = rows[field]
            if value is not None and field.startswith(beginning):
                yield row_key(name, field), value

    # -- writing -------------------------------------------------------------------

    def put(self, key: bytes, value: bytes, /) -> None:
        """Remember a row to write at the commit."""
        self._written[place(key)] = value

    def delete(self, key: bytes, /) -> None:
        """Remember a row to delete at the commit."""
        self._written[place(key)] = None

    def apply(self) -> Command:
        """The script call that commits: it compares all rows that were read, then writes the changed rows.

        Its reply is 1, or 0 if another writer has changed a row that was read; nothing is written then.
        """
        names = [name for name, _ in (*self._read_rows, *self._written)]
        names += self._listed
        hash_numbers = {name: number for number, name in enumerate(dict.fromkeys(names), 1)}
        listed = [(hash_numbers[name], len(fields)) for name, fields in self._listed.items()]
        # False stands for an absent row, or for a row to delete.
        read_rows = [
            (hash_numbers[name], field, value or False)
            for (name, field), value in self._read_rows.items()
        ]
        for name, fields in self._listed.items():
            read_rows += [(hash_numbers[name], field, value) for field, value in fields.items()]
        written = [
            (hash_numbers[name], field, False if value is None else value)
            for (name, field), value in self._written.items()
        ]
        # Bytes are packed as msgpack text, because the msgpack library of Redis has no binary type.
        packed = msgpack.packb([read_rows, listed, written], use_bin_type=False)
        return scripts.apply(list(hash_numbers), packed)
