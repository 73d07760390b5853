"""The writer of row sets: places, and equal sets."""

from typing import Any

import numpy as np

from shards import format
from shards.writing.writer import SetTables


class TableWriter:
    """A stand-in for the writer of LMDB tables, which keeps the entries in memory."""

    def __init__(self) -> None:
        self.values: dict[tuple[bytes, bytes], bytes] = {}

    def append(self, table: bytes, key: bytes, value: bytes) -> None:
        """Keep an entry."""
        self.values[table, key] = value


def test_equal_sets_of_all_tables_are_stored_once_and_begin_at_multiples_of_eight() -> None:
    table_writer: Any = TableWriter()
    tables = SetTables(table_writer)

    tables.write(format.HEAVY, [(3, b"a" * 12), (5, b"b" * 8), (9, b"a" * 12)])
    tables.write_texts(format.PHRASE, [(b"a b", b"c"), (b"b c", b"b" * 8)])
    tables.close()

    def places(table: bytes) -> list[int]:
        """The positions of the sets of a table, in units of 8 bytes."""
        result: list[int] = np.frombuffer(table_writer.values[table, b"places"], format.U4).tolist()
        return result

    # Positions in units of 8 bytes; position 0 is empty.
    assert places(format.HEAVY) == [1, 3, 1]
    assert places(format.PHRASE) == [4, 3]
    stored = table_writer.values[format.SET, format.ROWS]
    assert stored == bytes(8) + b"a" * 12 + bytes(4) + b"b" * 8 + b"c" + bytes(7)
