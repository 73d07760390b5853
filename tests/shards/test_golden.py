"""The golden shard: every entry of a small shard. A shard of another format version is refused, with the remedy."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import lmdb
import orjson
import pytest
import zstandard

from shards import format
from shards.__main__ import main
from shards.codec import record
from shards.errors import WrongFormatError
from shards.format import Header
from shards.generations import manifest
from shards.reader.shard import Shard
from tests import golden
from tests.shards.shard_edits import chunk_entries, edit_table
from tests.shards.test_reader import LINES
from tests.world import company, sort_by_layout, write_shard

GOLDEN = "shard.txt"
COMPANIES = [
    company("EE", "10000018", "Ännchen & Söhne «OÜ»", division="62", groupe="62.0", ca_eur=1e6,
            effectif=3, date_creation="2024-02-29", capital_eur=2500.0, score=80,
            site_web="https://aennchen.ee", email="info@aennchen.ee"),
    company("EE", "10000024", "001 Kinnisvara OÜ", division="62", groupe="62.0", ca_eur=-0.5,
            tranche_effectif="12", noms_anterieurs=["Vana Kinnisvara OÜ", "«»"], ville="Łódź"),
    company("EE", "10000127", "Łódź", division="62", date_creation="1999"),
    company("EE", "80000497", "«»", score=5, ville="LODZ"),
]  # fmt: skip

OTHER_VERSIONS = (1, format.FORMAT_VERSION - 1, format.FORMAT_VERSION + 1)
# A line of the golden file: table, key (in `top` with a blank inside), and the value in hex.
GOLDEN_LINE = re.compile(r"(?P<table>\w+) (?P<key>(?<=top )\S+ \w+|\S+) (?P<value>[0-9a-f ]*)")


def test_every_entry_of_a_shard_is_as_in_the_golden_file(tmp_path: Path) -> None:
    write_shard(tmp_path / "EE.shard", "EE", COMPANIES, comptes={"10000024": LINES})

    with Shard(tmp_path / "EE.shard") as shard:
        lines = [
            f"{table.decode()} {key} {value.hex(' ')}"
            for table in format.TABLES
            for key, value in _entries(shard, table)
        ]

    golden.check(GOLDEN, "\n".join(lines) + "\n")


def test_a_shard_with_the_golden_entries_is_read(tmp_path: Path) -> None:
    """The reader against the promised bytes, without the writer"""
    path = write_golden(tmp_path / "EE.shard")

    with Shard(path) as shard:
        dataset = [shard.company(row) for row in range(shard.rows)]
        statements = shard.comptes(1)
        row = shard.find("80000497")

    expected = [
        {field: entry[field] for field in dataset[0]} for entry in sort_by_layout(COMPANIES)
    ]
    assert dataset == expected
    assert orjson.loads(statements or b"") == LINES
    assert row == 3


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_a_shard_of_another_format_is_refused_with_both_numbers_and_the_remedy(
    tmp_path: Path, version: int
) -> None:
    """FORMAT.md §4"""
    path = write_header(tmp_path / "EE.shard", version)

    with pytest.raises(WrongFormatError) as refusal:
        Shard(path)

    assert str(refusal.value) == (
        f"the shard has format {version}, this code reads {format.FORMAT_VERSION}; rebuild it"
    )


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_inspecting_a_shard_of_another_format_fails_in_one_line(
    tmp_path: Path, version: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_header(tmp_path / "EE.shard", version)

    assert main(["inspect", str(path)]) == 1
    assert capsys.readouterr().err == (
        f"shards: the shard has format {version}, this code reads {format.FORMAT_VERSION}; "
        "rebuild it\n"
    )


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_a_manifest_of_another_format_is_refused_with_both_numbers_and_the_remedy(
    version: int,
) -> None:
    """FORMAT.md §2"""
    with pytest.raises(
        WrongFormatError,
        match=rf"has format {version}, this code reads {format.FORMAT_VERSION}; rebuild",
    ):
        manifest.load(orjson.dumps({"format": version}), Path("manifest.json"))


def write_golden(path: Path) -> Path:
    """Write a shard with the entries of the golden file, by LMDB alone."""
    lines = (golden.FOLDER / GOLDEN).read_text().splitlines()
    # Tables without an entry are in the file too.
    tables: dict[str, dict[bytes, bytes]] = {name.decode(): {} for name in format.TABLES}
    for line in lines:
        parts = GOLDEN_LINE.fullmatch(line)
        assert parts, line
        table, key, value = parts["table"], parts["key"], bytes.fromhex(parts["value"])
        is_record = table in ("record", "comptes") and key not in ("rows", "dictionary")
        if is_record:
            value = zstandard.ZstdCompressor(write_dict_id=False).compress(value)
            if table == "record":
                value = value.removeprefix(format.ZSTD_MAGIC)
        entry = bytes.fromhex(key) if is_record else key.encode()
        tables[table][entry] = value
    _join_frames(tables["record"])
    _join_frames(tables["comptes"])
    _write_tables(path, tables)
    with edit_table(path, format.COMPTES):
        pass  # LMDB chooses the places of values, so `places` is not in the golden file
    return path


def write_header(path: Path, version: int) -> Path:
    """Write a shard of a format version that has a header and nothing else."""
    packed = format.pack_header(Header("EE", 4))
    this_version, other_version = (
        number.to_bytes(2, "big") for number in (format.FORMAT_VERSION, version)
    )
    _write_tables(path, {"meta": {format.HEADER: packed.replace(this_version, other_version, 1)}})
    return path


def _write_tables(path: Path, tables: Mapping[str, Mapping[bytes, bytes]]) -> None:
    """Write tables of entries by LMDB."""
    with (
        lmdb.open(str(path), subdir=False, lock=False, sync=False, max_dbs=len(tables)) as env,
        env.begin(write=True) as txn,
    ):
        for name, entries in tables.items():
            database = env.open_db(name.encode(), txn=txn)
            for key, value in entries.items():
                assert txn.put(key, value, db=database)


def _join_frames(entries: dict[bytes, bytes]) -> None:
    """Join the frames, which the golden file has row by row, to one chunk."""
    frames = [key for key in sorted(entries) if format.is_chunk(format.RECORD, key)]
    entries |= chunk_entries([entries.pop(key) for key in frames])


def _entries(shard: Shard, table: bytes) -> Iterator[tuple[str, bytes]]:
    """Keys and values. Records are row by row, and compressed values are unpacked: a new zstd may pack them better."""
    if table == format.RECORD:
        for row in range(shard.rows):
            yield format.chunk_key(row).hex(), record.encode(shard.company(row))
        yield "dictionary", bytes(shard.file.value(table, format.DICTIONARY))
    elif table == format.COMPTES:
        yield "rows", shard.statement_rows.tobytes()
        for row in shard.statement_rows.tolist():
            yield format.chunk_key(row).hex(), shard.comptes(row) or b""
    else:
        for key, value in shard.file.items(table):
            if key != format.PLACES or table != format.META:
                yield key.decode(), value
