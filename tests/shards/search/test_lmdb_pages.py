"""The pages of a shard, read without liblmdb: the entries are those of LMDB, and damage raises an error."""

import random
from pathlib import Path

import lmdb
import pytest

from shards import format
from shards.errors import CorruptError, ShardError, WrongFormatError
from shards.reader.lmdb_pages import LmdbPages
from shards.reader.shard_file import read_meta
from tests.shards.shard_edits import edit_table
from tests.world import company, write_shard

# LMDB: a page has its flags at byte 10 (1: a branch), and from byte 16 on the offsets of its nodes, which end at the
# offset that is at byte 12. A node of a branch starts with the number of a page below, in 6 bytes.
PAGE = 4_096


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    """A shard of forty companies."""
    path = tmp_path / "EE.shard"
    write_shard(path, "EE", [company("EE", str(i), f"Õhk {i}") for i in range(40)])
    return path


def entries_by_lmdb(path: Path, table: bytes) -> list[tuple[bytes, bytes]]:
    """The entries of a table, read by liblmdb."""
    with (
        lmdb.open(str(path), subdir=False, readonly=True, lock=False, max_dbs=40) as env,
        env.begin() as txn,
    ):
        return list(txn.cursor(db=env.open_db(table, txn=txn, create=False)))


def test_the_entries_of_each_table_are_those_of_lmdb(shard: Path) -> None:
    with LmdbPages(shard) as pages:
        for table in format.TABLES:
            assert list(pages.entries(table)) == entries_by_lmdb(shard, table)


@pytest.mark.parametrize("seed", range(6))
def test_the_entries_of_any_tree_are_those_of_lmdb(tmp_path: Path, seed: int) -> None:
    """Branches of several levels, values in nodes and on overflow pages, an empty table."""
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


def pages_read_first(raw: bytes) -> list[int]:
    """The two meta pages of LMDB, the leaves of the table `meta`, and the leaf with the names of tables.

    A leaf of `meta` has the key `places`; the leaf of names has the table `junction`.
    """
    meta_leaves = [
        page for page in range(2, len(raw) // PAGE) if raw[page * PAGE :][:PAGE].find(b"places") > 0
    ]
    name_leaves = [
        page
        for page in range(2, len(raw) // PAGE)
        if raw[page * PAGE :][:PAGE].find(b"junction") > 0
    ]
    return [0, 1, *meta_leaves, *name_leaves]


def test_a_damaged_byte_before_the_values_of_meta_does_not_end_the_process(shard: Path) -> None:
    """Each byte of the pages that are read first, except zeros, is changed to up to three other values."""
    raw, meta, refused = shard.read_bytes(), read_meta(shard), 0
    for page in pages_read_first(raw):
        for position in range(page * PAGE, page * PAGE + PAGE):
            for value in {0, 0xFF, raw[position] ^ 0x80} - {raw[position]} if raw[position] else ():
                with shard.open("r+b", buffering=0) as file:
                    file.seek(position)
                    file.write(bytes([value]))
                    try:
                        read_meta(shard)
                    except (ShardError, ValueError):
                        refused += 1
                    file.seek(position)
                    file.write(raw[position : position + 1])

    assert read_meta(shard) == meta
    assert refused > 100  # not all: a page has unused bytes


def test_a_size_of_places_beyond_the_file_raises_an_error_instead_of_a_signal(shard: Path) -> None:
    """This bit ended the process in the fourth attack (M5)."""
    raw = bytearray(shard.read_bytes())
    # The header of a node, 8 bytes before its key, starts with the size of the value in 4 bytes.
    node = raw.index(b"places", raw.index(b"longest") - PAGE) - 8
    raw[node + 3] ^= 0x80
    shard.write_bytes(raw)

    with pytest.raises(CorruptError, match=r"EE\.shard.*shards verify"):
        read_meta(shard)


def test_a_branch_page_that_points_to_itself_is_an_error(tmp_path: Path) -> None:
    """Each node of every branch page gets the number of its own page, so that a reader would descend for ever."""
    path = tmp_path / "loop"
    with lmdb.open(str(path), subdir=False, lock=False, max_dbs=1) as env:
        table = env.open_db(b"meta")
        with env.begin(write=True) as txn:
            for number in range(3_000):
                txn.put(number.to_bytes(4, "big"), b"x" * 40, db=table)
    raw = bytearray(path.read_bytes())
    branches = [page for page in range(2, len(raw) // PAGE) if raw[page * PAGE + 10] == 1]
    for page in branches:
        end_of_offsets = int.from_bytes(raw[page * PAGE + 12 :][:2], "little")
        for offset in range(page * PAGE + 16, page * PAGE + end_of_offsets, 2):
            node = page * PAGE + int.from_bytes(raw[offset : offset + 2], "little")
            raw[node : node + 6] = page.to_bytes(6, "little")
    path.write_bytes(raw)

    with LmdbPages(path) as pages, pytest.raises(CorruptError):
        list(pages.entries(b"meta"))


def test_a_repeated_leaf_is_an_error(tmp_path: Path) -> None:
    """The second node of the only branch page gets the leaf of the first, so the keys no longer ascend."""
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


def test_a_value_of_meta_over_the_limit_is_refused(shard: Path) -> None:
    with edit_table(shard, format.META) as txn:
        txn.put(format.CELLS, bytes(5 << 20))

    with pytest.raises(CorruptError, match="5242880 bytes"):
        read_meta(shard)


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"\0" * 20_000])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)

    with pytest.raises(WrongFormatError, match="not a shard"):
        read_meta(tmp_path / "other")


def test_a_file_that_ends_before_its_last_page_is_an_error(shard: Path) -> None:
    shard.write_bytes(shard.read_bytes()[:-PAGE])

    with pytest.raises(CorruptError, match="ends before its last page"):
        read_meta(shard)
