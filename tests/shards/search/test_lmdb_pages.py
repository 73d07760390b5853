"""The pages of a shard, read without liblmdb: what LMDB reads, and an error for each damage."""

import random
from pathlib import Path

import lmdb
import pytest

from shards import format
from shards.errors import CorruptError, ShardError, WrongFormatError
from shards.reader.lmdb_pages import LmdbPages
from shards.reader.shard_file import read_meta
from tests.shards.altered import altered
from tests.world import company, write_shard

PAGE = 4_096


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "EE.shard"
    write_shard(path, "EE", [company("EE", str(i), f"Õhk {i}") for i in range(40)])
    return path


def entries_by_lmdb(path: Path, table: bytes) -> list[tuple[bytes, bytes]]:
    with (
        lmdb.open(str(path), subdir=False, readonly=True, lock=False, max_dbs=40) as env,
        env.begin() as txn,
    ):
        return list(txn.cursor(db=env.open_db(table, txn=txn, create=False)))


def test_the_entries_of_each_table_of_a_shard_are_those_of_lmdb(shard: Path) -> None:
    with LmdbPages(shard) as pages:
        for table in format.TABLES:
            assert list(pages.entries(table)) == entries_by_lmdb(shard, table)


@pytest.mark.parametrize("seed", range(6))
def test_the_entries_of_any_tree_are_those_of_lmdb(tmp_path: Path, seed: int) -> None:
    """Branches of several levels, values in nodes and on pages of their own, deleted and empty tables."""
    chance, path = random.Random(seed), tmp_path / "any"
    with lmdb.open(str(path), subdir=False, lock=False, max_dbs=3, map_size=1 << 28) as env:
        tables = [env.open_db(name) for name in (b"a", b"b", b"empty")]
        for _ in range(4):
            with env.begin(write=True) as txn:
                for _ in range(chance.randrange(1, 1_500)):
                    key = chance.randbytes(chance.randrange(1, 500))
                    value = chance.randbytes(chance.choice((0, 1, 50, 2_000, 5_000, 20_000)))
                    txn.put(key, value, db=tables[chance.randrange(2)])
    with LmdbPages(path) as pages:
        for name in (b"a", b"b", b"empty"):
            assert list(pages.entries(name)) == entries_by_lmdb(path, name)


def pages_before_meta(raw: bytes) -> list[int]:
    """The pages of the states, and the leaves that hold the table `meta` and name it."""
    names = [n for n in range(2, len(raw) // PAGE) if raw[n * PAGE :][:PAGE].find(b"places") > 0]
    tables = [n for n in range(2, len(raw) // PAGE) if raw[n * PAGE :][:PAGE].find(b"junction") > 0]
    return [0, 1, *names, *tables]


def test_no_damaged_byte_before_the_values_of_meta_ends_the_process(shard: Path) -> None:
    raw, meta, refused = shard.read_bytes(), read_meta(shard), 0
    for page in pages_before_meta(raw):
        for at in range(page * PAGE, page * PAGE + PAGE):
            for value in {0, 0xFF, raw[at] ^ 0x80} - {raw[at]} if raw[at] else ():
                with shard.open("r+b", buffering=0) as file:
                    file.seek(at)
                    file.write(bytes([value]))
                    try:
                        read_meta(shard)
                    except (ShardError, ValueError):
                        refused += 1
                    file.seek(at)
                    file.write(raw[at : at + 1])

    assert read_meta(shard) == meta
    assert refused > 100


def test_a_size_of_places_beyond_the_file_is_an_error_and_no_signal(shard: Path) -> None:
    """The bit of the fourth attack (M5)."""
    raw = bytearray(shard.read_bytes())
    node = raw.index(b"places", raw.index(b"longest") - PAGE) - 8
    raw[node + 3] ^= 0x80
    shard.write_bytes(raw)

    with pytest.raises(CorruptError, match=r"EE\.shard.*shards verify"):
        read_meta(shard)


def test_a_page_that_leads_back_to_itself_ends_the_walk(tmp_path: Path) -> None:
    path = tmp_path / "loop"
    with lmdb.open(str(path), subdir=False, lock=False, max_dbs=1) as env:
        table = env.open_db(b"meta")
        with env.begin(write=True) as txn:
            for number in range(3_000):
                txn.put(number.to_bytes(4, "big"), b"x" * 40, db=table)
    raw = bytearray(path.read_bytes())
    branches = [n for n in range(2, len(raw) // PAGE) if raw[n * PAGE + 10] == 1]
    for page in branches:
        lower = int.from_bytes(raw[page * PAGE + 12 :][:2], "little")
        for place in range(page * PAGE + 16, page * PAGE + lower, 2):
            at = page * PAGE + int.from_bytes(raw[place : place + 2], "little")
            raw[at : at + 6] = page.to_bytes(6, "little")
    path.write_bytes(raw)

    with LmdbPages(path) as pages, pytest.raises(CorruptError):
        list(pages.entries(b"meta"))


def test_a_leaf_that_is_repeated_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "twice"
    with lmdb.open(str(path), subdir=False, lock=False, max_dbs=1) as env:
        table = env.open_db(b"meta")
        with env.begin(write=True) as txn:
            for number in range(200):
                txn.put(number.to_bytes(4, "big"), b"x" * 40, db=table)
    raw = bytearray(path.read_bytes())
    (page,) = [n for n in range(2, len(raw) // PAGE) if raw[n * PAGE + 10] == 1]
    first, second = (
        page * PAGE + int.from_bytes(raw[page * PAGE + 16 + 2 * n :][:2], "little") for n in (0, 1)
    )
    raw[second : second + 6] = raw[first : first + 6]
    path.write_bytes(raw)

    with LmdbPages(path) as pages, pytest.raises(CorruptError, match="comes after"):
        list(pages.entries(b"meta"))


def test_a_value_of_meta_that_is_larger_than_any_is_refused(shard: Path) -> None:
    with altered(shard, format.META) as txn:
        txn.put(format.CELLS, bytes(5 << 20))

    with pytest.raises(CorruptError, match="5242880 bytes"):
        read_meta(shard)


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"\0" * 20_000])
def test_another_file_is_no_shard(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)

    with pytest.raises(WrongFormatError, match="not a shard"):
        read_meta(tmp_path / "other")


def test_a_file_that_ends_before_its_last_page_is_an_error(shard: Path) -> None:
    shard.write_bytes(shard.read_bytes()[:-PAGE])

    with pytest.raises(CorruptError, match="ends before its last page"):
        read_meta(shard)
