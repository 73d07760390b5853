"""The writer of the stored row sets: all of them in one array, and the keys of each of four indexes (FORMAT.md §8).

A set of equal bytes is stored once: names that begin alike often go on alike.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from shards import format
from shards.codec import strings
from shards.writing.lmdb_writer import LmdbWriter, append_arrays


class SetTables:
    """The sets of a shard, collected index by index, and written at `close`."""

    def __init__(self, tables: LmdbWriter) -> None:
        self._tables = tables
        # No set begins at place 0, so that a reader may use it for none.
        self._places = {bytes(format.SET_ALIGNMENT): 0}
        self._end = 1

    def write(self, table: bytes, sets: Iterable[tuple[int, bytes]]) -> None:
        """Write the index of sets with numbers as keys, which ascend."""
        keys, places = self._collect(sets)
        append_arrays(self._tables, table, {"keys": np.array(keys, format.U8), "places": places})

    def write_texts(self, table: bytes, sets: Iterable[tuple[bytes, bytes]]) -> None:
        """Write the index of sets with texts as keys, which ascend."""
        keys, places = self._collect(sets)
        texts = strings.pack(key.decode() for key in keys)
        arrays = {"data": texts.data, "starts": texts.starts, "places": places}
        append_arrays(self._tables, table, arrays)

    def close(self) -> None:
        """Write the sets."""
        self._tables.append(format.SET, format.ROWS, b"".join(self._places))
        self._places.clear()

    def _collect(self, sets: Iterable[tuple[Any, bytes]]) -> tuple[list[Any], Any]:
        keys, places = [], []
        for key, packed in sets:
            size = -(-len(packed) // format.SET_ALIGNMENT)
            place = self._places.setdefault(
                packed.ljust(size * format.SET_ALIGNMENT, b"\0"), self._end
            )
            if place == self._end:
                self._end += size
            keys.append(key)
            places.append(place)
        return keys, np.array(places, format.U4)
