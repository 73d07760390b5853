"""The records of a page, joined in one call, compared with the same records read singly."""

import random
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import orjson
import pytest
import zstandard

from shards import format
from shards.codec import record
from shards.errors import CorruptError, OutOfOrderError
from shards.query import Query
from shards.reader.shard import CompanyRow, Shard
from shards.search import kernel_session, result_page, search
from shards.search.generation_arrays import libzstd
from shards.search.search import ShardSet
from tests.shards.shard_edits import edit_table, put_frame
from tests.world import company, write_shard

TEXT = "Œuvre «Ä» & Söhne, Łódź "


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShardSet]:
    """Two countries: the shard of 700 companies has a dictionary of Zstandard, that of 3 companies does not."""
    folder = tmp_path_factory.mktemp("shards")
    chance = random.Random(7)
    base = ShardSet()
    for iso2, count in (("EE", 700), ("UK", 3)):
        dataset = [
            company(iso2, str(i), TEXT + str(i), email=f"{i}@b.ee" if i % 3 else None,
                    site_web="https://b.ee" if i % 2 else None,
                    description=TEXT * chance.randrange(40))
            for i in range(count)
        ]  # fmt: skip
        write_shard(folder / iso2, iso2, dataset)
        base[iso2] = Shard(folder / iso2)
    yield base
    for shard in base.values():
        shard.close()


def read_singly(base: ShardSet, rows: list[CompanyRow], *, coordonnees: bool) -> bytes:
    """The records of rows, each read by its shard, joined by commas."""
    return b",".join(base[iso2].record(row, coordonnees=coordonnees) for iso2, row in rows)


@pytest.mark.parametrize("coordonnees", [False, True])
def test_joined_records_are_those_of_the_shards(base: ShardSet, coordonnees: bool) -> None:
    assert libzstd() is not None
    chance = random.Random(1)
    all_rows = [CompanyRow(iso2, row) for iso2, shard in base.items() for row in range(shard.rows)]
    for count in (0, 1, 2, 50, 700):
        rows = chance.sample(all_rows, count)

        result = search.records(base, rows, coordonnees=coordonnees)

        assert result == read_singly(base, rows, coordonnees=coordonnees)
        assert len(orjson.loads(b"[%b]" % result)) == count


def test_the_buffer_for_records_grows(base: ShardSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_page, "_LEAST_ROOM", 64)
    rows = [CompanyRow("EE", row) for row in range(300)]
    session = kernel_session.KernelSession(base.own_session().arrays)

    assert session.joiner.join(rows, coordonnees=True) == read_singly(base, rows, coordonnees=True)


def test_without_libzstd_records_are_decompressed_singly(
    base: ShardSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_page, "libzstd", lambda: None)
    rows = [CompanyRow("UK", 2), CompanyRow("EE", 5)]

    assert search.records(base, rows, coordonnees=False) == read_singly(
        base, rows, coordonnees=False
    )


def test_a_chunk_of_records_ends_where_the_next_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records are read singly, because the size of chunks is a constant of the compiled join"""
    monkeypatch.setattr(format, "CHUNK_ROWS", 4)
    dataset = [company("EE", str(i), f"{TEXT}{i}") for i in range(11)]
    write_shard(tmp_path / "EE", "EE", dataset)

    with Shard(tmp_path / "EE") as shard:
        assert len(shard.frames.chunks) == 3
        assert sorted(shard.company(row)["nom"] for row in range(11)) == sorted(
            entry["nom"] for entry in dataset
        )


@pytest.mark.parametrize("seed", range(5))
def test_a_damaged_record_is_refused_or_read_as_another_text(tmp_path: Path, seed: int) -> None:
    """No byte of a record makes a search read or write outside its arrays"""
    chance = random.Random(seed)
    write_shard(tmp_path / "EE", "EE", [company("EE", str(i), f"{TEXT}{i}") for i in range(700)])
    content = bytearray((tmp_path / "EE").read_bytes())
    with Shard(tmp_path / "EE") as shard:
        start = content.index(bytes(shard.frames.chunks[0]))
        size = len(shard.frames.chunks[0])
    for _ in range(200):
        content[start + chance.randrange(size)] = chance.randrange(256)
    (tmp_path / "EE").write_bytes(content)

    refused = 0
    with Shard(tmp_path / "EE") as shard:
        damaged = ShardSet()
        damaged["EE"] = shard
        for row in range(700):
            try:
                search.records(damaged, [CompanyRow("EE", row)], coordonnees=False)
            except CorruptError:
                refused += 1
    assert refused


def test_a_record_whose_frame_claims_an_immense_size_is_damaged(tmp_path: Path) -> None:
    """A frame has up to eight bytes of size (RFC 8878 §3.1.1.1). An earlier version raised MemoryError"""
    write_shard(tmp_path / "EE", "EE", [company("EE", str(i), f"{TEXT}{i}") for i in range(3)])
    with edit_table(tmp_path / "EE", format.RECORD) as txn:
        put_frame(txn, 1, b"\xe0" + (1 << 62).to_bytes(8, "little"))

    with Shard(tmp_path / "EE") as shard, pytest.raises(CorruptError, match="row 1 is damaged"):
        shard.record(1, coordonnees=True)


@pytest.mark.parametrize("most_kept_rows", [10, 703])  # 703 companies match
def test_memory_of_a_long_list_is_given_back_and_the_next_search_has_the_same_rows(
    base: ShardSet, monkeypatch: pytest.MonkeyPatch, most_kept_rows: int
) -> None:
    monkeypatch.setattr(kernel_session, "_MOST_KEPT_ROWS", most_kept_rows)
    session, all_companies = base.own_session(), Query(q="s")

    for _ in range(2):
        rows = session.rows_by_shard(all_companies)

        assert sum(len(numbers) for _, numbers in rows) == 703
        # Memory that was given back to the system reads as zeros.
        assert (np.count_nonzero(session._rows) == 0) == (most_kept_rows < 703)


def test_threads_read_records_of_a_shard_at_once(base: ShardSet) -> None:
    """Threads of an earlier version shared a decompressor: records were mixed up, or a file was called damaged"""
    shard, rows = base["EE"], range(700)
    expected = [shard.record(row, coordonnees=True) for row in rows]

    def read(_: int) -> list[bytes]:
        """Read all records in a thread."""
        return [shard.record(row, coordonnees=True) for row in rows]

    with ThreadPoolExecutor(4) as threads:
        for result in threads.map(read, range(40)):
            assert result == expected


@pytest.mark.parametrize("row", [1, 2])
def test_an_empty_record_is_damaged_for_both_readers(tmp_path: Path, row: int) -> None:
    """Row 1 is before another record, row 2 at the end of its chunk"""
    write_shard(tmp_path / "EE", "EE", [company("EE", str(i), f"{TEXT}{i}") for i in range(3)])
    with edit_table(tmp_path / "EE", format.RECORD) as txn:
        put_frame(txn, row, b"")

    with Shard(tmp_path / "EE") as shard:
        damaged = ShardSet()
        damaged["EE"] = shard
        with pytest.raises(CorruptError, match=f"row {row} is damaged"):
            shard.record(row, coordonnees=True)
        with pytest.raises(CorruptError, match="verify"):
            search.records(damaged, [CompanyRow("EE", row)], coordonnees=False)
        assert orjson.loads(search.records(damaged, [CompanyRow("EE", 0)], coordonnees=False))
        damaged.forget()


def blanks_frame(size: int) -> bytes:
    """A frame of `size` blanks, in blocks of one repeated byte (RFC 8878 §3.1.1.2), without its magic number."""
    blocks, bytes_left = divmod(size, 1 << 17)
    lengths = [1 << 17] * blocks + [bytes_left]
    last_block = len(lengths) - 1
    return b"\xe0" + struct.pack("<Q", size) + b"".join(
        (length << 3 | 2 | (number == last_block)).to_bytes(3, "little") + b" "
        for number, length in enumerate(lengths)
    )  # fmt: skip


def test_a_record_that_unpacks_to_over_the_limit_is_damaged_for_both_readers(
    tmp_path: Path,
) -> None:
    write_shard(tmp_path / "EE", "EE", [company("EE", str(i), f"{TEXT}{i}") for i in range(3)])
    with edit_table(tmp_path / "EE", format.RECORD) as txn:
        put_frame(txn, 1, blanks_frame(format.MOST_RECORD + 1))

    with Shard(tmp_path / "EE") as shard:
        damaged = ShardSet()
        damaged["EE"] = shard
        with pytest.raises(CorruptError, match=r"row 1 is damaged.*1048577 bytes"):
            shard.record(1, coordonnees=True)
        with pytest.raises(CorruptError):
            search.records(damaged, [CompanyRow("EE", 1)], coordonnees=False)
        assert shard.company(0)["iso2"] == "EE"
        damaged.forget()


def test_records_over_the_limit_of_a_page_are_damaged(
    base: ShardSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_page, "_LEAST_ROOM", 1 << 8)
    monkeypatch.setattr(result_page, "_MOST_ROOM", 1 << 12)
    session = kernel_session.KernelSession(base.own_session().arrays)

    with pytest.raises(CorruptError, match="300 records have over 4096 bytes"):
        rows = [CompanyRow("EE", row) for row in range(300)]
        session.joiner.join(rows, coordonnees=True)


def test_statements_that_unpack_to_over_the_limit_are_damaged(tmp_path: Path) -> None:
    write_shard(tmp_path / "EE", "EE", [company("EE", "1", TEXT)], {"1": []})
    with edit_table(tmp_path / "EE", format.COMPTES) as txn:
        put_frame(txn, 0, format.ZSTD_MAGIC + blanks_frame(format.MOST_STATEMENTS + 1))

    with Shard(tmp_path / "EE") as shard, pytest.raises(CorruptError, match="16777217 bytes"):
        shard.comptes(0)


def test_a_frame_without_its_size_is_damaged() -> None:
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(b"x" * 100)

    with pytest.raises(ValueError, match="-1 bytes"):
        record.decompress(frame, 1_000, zstandard.ZstdDecompressor())


def test_the_writer_refuses_a_record_over_the_limit_of_readers(tmp_path: Path) -> None:
    dataset = [company("EE", "1", TEXT, description="x" * format.MOST_RECORD)]

    with pytest.raises(
        OutOfOrderError, match=r'record of row 0 .*"id":"1".* 1048576 is the maximum'
    ):
        write_shard(tmp_path / "EE", "EE", dataset)
