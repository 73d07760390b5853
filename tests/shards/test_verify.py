"""Each invariant of FORMAT.md §9, broken by hand in a real shard: `verify` names what is wrong."""

from collections.abc import Callable
from pathlib import Path

import lmdb
import numpy as np
import pytest
import zstandard

from shards import cells, format, generations, record, verify
from shards.cells import Cell
from shards.errors import CorruptError
from shards.reader import Shard
from tests.world import company, publish

FOUND = [
    company("EE", "1", "Ännchen OÜ", division="62", groupe="62.0", ca_eur=1e6, effectif=5),
    company("EE", "2", "Lab OÜ", division="62", groupe="62.0", ca_eur=1.0),
    company("EE", "3", "Żabka", division="62", groupe="62.0", ca_eur=1.0),
    company("EE", "4", "Орёл", division="47", groupe="47.1"),
]

Break = Callable[[bytes], bytes]


def swapped(dtype: str, first: int = -1, second: int = -2) -> Break:
    def change(value: bytes) -> bytes:
        values = np.frombuffer(value, dtype=dtype).copy()
        values[[first, second]] = values[[second, first]]
        return values.tobytes()

    return change


def put(dtype: str, index: int, number: float) -> Break:
    def change(value: bytes) -> bytes:
        values = np.frombuffer(value, dtype=dtype).copy()
        values[index] = number
        return values.tobytes()

    return change


def other_record(**fields: object) -> Break:
    stored = record.encode({**company("EE", "4", "Орёл"), **fields})
    return lambda _: zstandard.ZstdCompressor().compress(stored)


ROW = format.row_key(0)


@pytest.mark.parametrize(
    ("table", "key", "change", "fault"),
    [
        (format.COLUMN, b"score", lambda v: v[:-2], "column score has 3 values for 4 rows"),
        (format.COLUMN, b"cell", put("<u2", 0, 1), "says that it is in another one"),
        (format.COLUMN, b"ca_eur", swapped("<f8", 1, 2), "turnovers of cell"),
        (format.COLUMN, b"ca_eur", put("<f8", 0, 3.0), "has a turnover after row"),
        (format.COLUMN, b"effectif", put("<i4", 1, 6), "other values in its columns"),
        (format.COLUMN, b"site_web", put("|u1", 0, 1), "other values in its columns"),
        (format.ORDER, b"ca_desc", put("<u4", 0, 0), "does not hold each row once"),
        (format.ORDER, b"ca_asc", swapped("<u4", 0, 3), "is not the inverse of its order"),
        (format.RANK, b"score", swapped("<u4"), "rank score is not the inverse"),
        (format.TOP, b"62 nom", swapped("<u4"), "list of 62 in order nom is not the head"),
        (format.TOP, b"62/62.0 recent", lambda v: v[:-4], "list of 62/62.0 in order recent"),
        (format.META, b"cells", lambda _: cells.dump([Cell("47", "47.1", 0, 0, 1)]), "cells end"),
        (format.META, b"cells", lambda _: cells.dump([Cell("47", "47.1", 1, 2, 4)]), "was next"),
        (format.RECORD, ROW, other_record(nom="Orel"), "the folded name of row 0"),
        (format.RECORD, ROW, other_record(iso2="FR"), "row 0 is of FR"),
        (format.RECORD, ROW, other_record(id="5"), "the identifiers are not those"),
        (format.IDENT, b"data", lambda v: v.replace(b"4", b"5"), "the identifiers are not those"),
        (format.NAME, b"data", lambda v: v.replace(b"lab", b"bal"), "the folded name of row"),
        (format.WORD, b"data", lambda v: v.replace(b"lab", b"bal"), "the words"),
        (format.WORD, b"postings", swapped("<u4"), "the words of row"),
        (format.COMPTES, format.row_key(4), lambda _: b"[]", "statements of a row that does not"),
    ],
)
def test_a_broken_invariant_is_named(
    tmp_path: Path, table: bytes, key: bytes, change: Break, fault: str
) -> None:
    folder = tmp_path / publish(tmp_path, FOUND)
    with lmdb.open(str(folder / "EE.shard"), subdir=False, lock=False, max_dbs=20) as env:
        handle = env.open_db(table)
        with env.begin(write=True, db=handle) as txn:
            txn.put(key, change(txn.get(key, b"")))
    shard = Shard(folder / "EE.shard")
    with shard, pytest.raises(CorruptError, match=fault):
        verify.check(shard)


def test_counts_of_the_lists_that_are_not_those_of_the_cells_are_a_fault(tmp_path: Path) -> None:
    """FORMAT.md §9, invariant 4."""
    with generations.load(tmp_path, publish(tmp_path, FOUND)) as generation:
        counts = {**generation.reference.counts, "EE": generation.reference.counts["EE"][:1]}
        object.__setattr__(generation.reference, "counts", counts)

        with pytest.raises(CorruptError, match="not those that reference"):
            verify.verify(generation)
