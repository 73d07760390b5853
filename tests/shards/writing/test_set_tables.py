"""The writer of row sets: places, and sets that are equal."""

from typing import Any

import numpy as np

from shards import format
from shards.writing.writer import SetTables


class Kept:
    """A table writer that keeps what is appended."""

    def __init__(self) -> None:
        self.values: dict[tuple[bytes, bytes], bytes] = {}

    def append(self, table: bytes, key: bytes, value: bytes) -> None:
        self.values[table, key] = value


def test_equal_sets_of_all_tables_are_stored_once_and_begin_at_multiples_of_eight() -> None:
    kept: Any = Kept()
    tables = SetTables(kept)

    tables.write(format.HEAVY, [(3, b"a" * 12), (5, b"b" * 8), (9, b"a" * 12)])
    tables.write_texts(format.PHRASE, [(b"a b", b"c"), (b"b c", b"b" * 8)])
    tables.close()

    def places(table: bytes) -> list[int]:
        found: list[int] = np.frombuffer(kept.values[table, b"places"], format.U4).tolist()
        return found

    assert places(format.HEAVY) == [1, 3, 1]
    assert places(format.PHRASE) == [4, 3]
    stored = kept.values[format.SET, format.ROWS]
    assert stored == bytes(8) + b"a" * 12 + bytes(4) + b"b" * 8 + b"c" + bytes(7)
