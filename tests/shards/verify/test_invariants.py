"""Each invariant of FORMAT.md §9, broken by hand in a real shard: `verify` names what is wrong."""

import os
import signal
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgpack
import numpy as np
import orjson
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from shards import format
from shards.codec import cells, record, row_sets, strings
from shards.codec.cells import Cell
from shards.errors import CorruptError, GenerationError
from shards.generations import generation_files
from shards.ratios.ratio_table import stored_codes
from shards.reader.shard import Shard
from shards.verify import invariants
from shards.writing import name_index, orders_and_codes
from tests.shards.altered import altered, put_frame
from tests.world import Company, companies, company, publish, total_assets, write_shard

FOUND = [
    company(
        "EE",
        "1",
        "Ännchen OÜ",
        division="62",
        groupe="62.0",
        ca_eur=1e6,
        effectif=5,
        site_web="https://a.ee",
        forme="OÜ",
        ville="Tartu",
        code_postal="50 090",
        nace_code="62.01",
        **total_assets(100.0),
    ),
    company(
        "EE",
        "2",
        "Lab OÜ",
        division="62",
        groupe="62.0",
        ca_eur=1.0,
        effectif=6,
        ville="TARTU",
        nace_code="62.02",
        **total_assets(4e9),
    ),
    company("EE", "3", "Żabka", division="62", groupe="62.0", ca_eur=1.0, **total_assets(-2.5)),
    company("EE", "4", "Орёл", division="47", groupe="47.1"),
]

LINES = [
    {
        "etat": "bilan",
        "code": code,
        "libelle": code,
        "valeur": valeur,
        "devise": "EUR",
        "exercice": 2024,
        "ordre": 1,
    }
    for code, valeur in (("Equity", 50.0), ("TotalAssets", 100.0))
]

# Amounts in euros and ratios: a rounding error is no fault, and share capital may have been converted at any rate.
NOT_IN_RECORDS = {
    (format.KEY, b"capital_desc"),
    (format.CODE, b"actif.amounts"),
    *((format.RATIO, code.encode()) for code in stored_codes()),
}

Break = Callable[[bytes], bytes]

ROW = format.chunk_key(0)


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
    return lambda _: compressed(stored)


def compressed(stored: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(stored).removeprefix(format.ZSTD_MAGIC)


def one_cell(start: int, with_ca: int, stop: int, with_site: int) -> Break:
    cell = Cell("47", "47.1", start, with_ca, stop, with_site)
    return lambda _: cells.dump([cell])


def two_cells(first: str, second: str, with_site: int) -> Break:
    found = [Cell(first, None, 0, 0, 1, 0), Cell(second, None, 1, 4, 4, with_site)]
    return lambda _: cells.dump(found)


def odd_record() -> bytes:
    company = orjson.dumps({**dict.fromkeys(record.FIELDS), "iso2": "EE", "id": "4", "nom": "Орёл",
                            "score": 0, "more": 1})  # fmt: skip
    return compressed(struct.pack("<II", len(company), 0) + company)


@pytest.mark.parametrize(
    ("table", "key", "change", "fault"),
    [
        (
            format.RECORD,
            format.chunk_key(2),
            other_record(id="2", nom="Lab OÜ", ca_eur=2e6, **total_assets(4e9)),
            r"row 2 \('2'\) does not come after the row before it",
        ),
        (format.RECORD, ROW, other_record(id="2"), "identifier '2' comes twice"),
        (format.RECORD, ROW, other_record(nom="a\nb"), "noms: 5 texts with 5 ends of line"),
        (format.RECORD, ROW, other_record(ca_eur=-3.0), "order ca_asc is not that"),
        (format.RECORD, ROW, other_record(nom="Orel"), "order nom is not that"),
        (format.RECORD, ROW, other_record(noms_anterieurs=["Ä"]), "name starts is not that"),
        (format.RECORD, ROW, other_record(id="5"), "ident data is not that"),
        (format.RECORD, ROW, other_record(tva="EE1"), "alias keys is not that"),
        (format.RECORD, ROW, other_record(ville="Tallinn"), "column ville is .*, from row 0"),
        (format.RECORD, ROW, other_record(iso2="FR"), "row 0 is of FR"),
        (format.RECORD, ROW, other_record(score="9"), "TypeError"),
        (format.RECORD, ROW, lambda _: odd_record(), "row 0 has no record of a company"),
        (format.RECORD, b"starts", put("<u4", 1, 0), "records of chunk 0 do not follow"),
        (format.RECORD, b"starts", put("<u4", 1, 9), "row 0 is damaged"),
        (format.RECORD, b"starts", lambda v: v[:-4], "there are 3 records for 4 rows"),
        (format.COMPTES, b"rows", put("<u4", 1, 4), "statements of a row that does not exist"),
        (format.COMPTES, b"starts", put("<u4", 1, 0), "statements of chunk 0 do not follow"),
        (format.COMPTES, b"starts", lambda v: v + v, "there are 4 statements for 2 rows"),
        (format.META, b"cells", one_cell(0, 0, 1, 0), "the cells hold 1 rows of 4"),
        (format.META, b"cells", one_cell(1, 2, 4, 0), "the cells hold 3 rows of 4"),
        (format.META, b"cells", two_cells("62", "47", 1), "or are not in order"),
        (format.META, b"cells", two_cells("62", "99", 0), "meta cells is not that"),
        (format.RANK, b"capital_desc", lambda v: v[:-4], "rank capital_desc has 3 values for 4"),
        (format.COLUMN, b"actif", lambda v: v + v, "column actif has 8 values for 4 rows"),
        (format.COLUMN, b"actif", put("<u4", 1, 10_003), "are not converted at one rate"),
        (format.COLUMN, b"actif", put("<u4", 1, 0), "at some companies only"),
        (format.COLUMN, b"actif", put("<u4", 0, 3), "total assets of a company"),
        (
            format.COLUMN,
            b"actif",
            put("<u4", 0, 4_100_000_000),
            "column actif is .*, from row 0 on",
        ),
        (format.COLUMN, b"forme", lambda v: v + v, "column forme is .*, from row 4 on"),
        (format.RANK, b"score", swapped("<u4"), "rank score is .*, from row 2 on"),
        (format.TOP, b"rows", swapped("<u4"), "top rows is .*, from byte 216 on"),
        (format.RATIO, b"exercice", put("<u2", 0, 2023), "row 1 has ratios of 2023"),
        (format.RATIO, b"autonomie_financiere", put("<f8", 0, 0.4), "of row 1 is not that of its"),
        (format.RATIO, b"z_altman", lambda v: v + v, "ratio z_altman has 4 values for 2 rows"),
        (format.RATIO, b"more", lambda _: b"", "ratio has 25 entries instead of 24"),
    ],
)
def test_a_broken_invariant_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table: bytes,
    key: bytes,
    change: Break,
    fault: str,
) -> None:
    monkeypatch.setattr(format, "TOP_LEAST", 1)
    path = tmp_path / "EE"
    write_shard(path, "EE", FOUND, comptes={"1": LINES, "2": LINES[:1]})
    with altered(path, table) as txn:
        if table == format.RECORD and key != format.STARTS:
            put_frame(txn, int.from_bytes(key, "big"), change(b""))
        else:
            txn.put(key, change(bytes(txn.get(key, b""))))
    with Shard(path) as shard, pytest.raises(CorruptError, match=f"^{path}: .*{fault}"):
        invariants.check(shard)


@pytest.mark.parametrize(
    "change",
    [lambda v: bytes([v[0] ^ 1, *v[1:]]), lambda v: v[:-1] + bytes([v[-1] ^ 128]), lambda v: v + v],
    ids=["first bit", "last bit", "twice"],
)
def test_every_value_that_follows_from_the_records_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Break
) -> None:
    monkeypatch.setattr(format, "TOP_LEAST", 1)
    monkeypatch.setattr(format, "HEAVY_LEAST", 1)
    path = tmp_path / "EE"
    companies = [{**each, "tva": f"EE{each['id']}", "capital_eur": 2500.0} for each in FOUND]
    write_shard(path, "EE", companies, comptes={"1": LINES, "2": LINES[:1]})
    values = {
        (table, key): value
        for table in format.TABLES[1:]
        for key, value in _items(path, table)
        if value and not format.is_chunk(table, key)
    }

    unnoticed = set()
    for (table, key), value in values.items():
        with altered(path, table) as txn:
            txn.put(key, change(value))
        try:
            with Shard(path) as shard:
                invariants.check(shard)
            unnoticed.add((table, key))
        except CorruptError as error:
            assert str(path) in str(error)
        with altered(path, table) as txn:
            txn.put(key, value)

    assert len(values) > 90
    assert unnoticed <= NOT_IN_RECORDS


def _items(path: Path, table: bytes) -> list[tuple[bytes, bytes]]:
    with Shard(path) as shard:
        return list(shard.file.items(table))


def test_a_value_that_is_not_at_its_place_is_named(tmp_path: Path) -> None:
    """FORMAT.md §9, invariant 2."""
    path = tmp_path / publish(tmp_path, FOUND) / "EE.shard"
    with altered(path, format.META) as txn:
        places = msgpack.unpackb(txn.get(format.PLACES, b""))
        order = next(place for place in places if place[:2] == ["order", b"nom"])
        order[2] += 4
        txn.put(format.PLACES, msgpack.packb(places))

    with (
        Shard(path) as shard,
        pytest.raises(CorruptError, match="order b'nom' does not lie at its place"),
    ):
        invariants.check(shard)


@pytest.mark.parametrize("start", [2**40, -1, "x"])
def test_places_outside_the_file_are_refused_at_opening(tmp_path: Path, start: object) -> None:
    path = tmp_path / publish(tmp_path, FOUND) / "EE.shard"
    with altered(path, format.META) as txn:
        txn.put(format.PLACES, msgpack.packb([["set", b"rows", start, 8]]))

    with pytest.raises(CorruptError, match="the places of its values are damaged"):
        Shard(path)


def test_a_shard_that_ends_too_early_is_refused_at_opening(tmp_path: Path) -> None:
    """A read beyond the end of the file would end the process"""
    path = tmp_path / publish(tmp_path, FOUND) / "EE.shard"
    whole = path.stat().st_size
    for size in (whole - 1, whole - 4_096, whole // 2, 3 * 4_096):
        os.truncate(path, size)

        with pytest.raises(CorruptError, match="ends before its last page"):
            Shard(path)


def test_counts_of_the_lists_that_are_not_those_of_the_cells_are_a_fault(tmp_path: Path) -> None:
    """FORMAT.md §9, invariant 4."""
    with generation_files.load(tmp_path, publish(tmp_path, FOUND)) as generation:
        counts = {**generation.reference.counts, "EE": generation.reference.counts["EE"][:1]}
        object.__setattr__(generation.reference, "counts", counts)

        with pytest.raises(CorruptError, match="not those that reference"):
            invariants.verify(generation)


suffixes = name_index.suffixes


def with_backwards(tri: str) -> Callable[..., object]:
    right = orders_and_codes.permutations

    def permutations(*given: Any) -> object:
        return (orders := right(*given)) | {tri: orders[tri][::-1]}

    return permutations


@pytest.mark.parametrize(
    ("module", "function", "wrong", "fault"),
    [
        *(
            (orders_and_codes, "permutations", with_backwards(tri), f"order {tri} does not follow")
            for tri in ("ca_desc", "ca_asc", "capital_desc", "effectif_desc", "recent", "score")
        ),
        (orders_and_codes, "_least_ranks", lambda ranks: np.sort(ranks)[::-1], "the list of 62 in"),
        (name_index, "fold", str.casefold, "the words of row . are not those of its names"),
        (name_index, "sort_names", lambda *given: given[2][::-1], "order nom does not follow"),
        (name_index, "suffixes", lambda words: suffixes(words)[::-1], "the suffixes of the words"),
        (name_index, "fold_ids", lambda _: strings.pack("9876"), "identifiers are not in order"),
    ],
)  # fmt: skip
def test_a_fault_of_the_writer_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    function: str,
    wrong: Callable[..., object],
    fault: str,
) -> None:
    """The writer writes it again, so the comparison does not find it."""
    monkeypatch.setattr(format, "TOP_LEAST", 1)
    monkeypatch.setattr(module, function, wrong)
    write_shard(tmp_path / "EE", "EE", FOUND)
    with Shard(tmp_path / "EE") as shard, pytest.raises(CorruptError, match=fault):
        invariants.check(shard)


@pytest.mark.parametrize("least", [0, 1, 1_024])
def test_what_the_writer_writes_is_right(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(format, "HEAVY_LEAST", least)

    @given(companies(), st.booleans())
    def check(found: list[Company], bits: bool) -> None:
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(row_sets, "_DENSE", 32 if bits else 0)
            patch.setattr(format, "TOP_LEAST", 3)
            patch.setattr(format, "TOP_ROWS", 2)
            patch.setattr(format, "HEADED_LEAST", 2)
            patch.setattr(format, "COUNTED_LEAST", 0)
            patch.setattr(format, "HEAD_ROWS", 2)
            write_shard(Path(folder) / "EE", "EE", found)
            with Shard(Path(folder) / "EE") as shard:
                invariants.check(shard)

    check()


def test_shards_are_checked_in_processes_and_each_is_told(tmp_path: Path) -> None:
    """The first that is wrong is named, in whichever process."""
    found = [company(iso2, "4", "Lab") for iso2 in ("EE", "FR", "LU")]
    told: list[None] = []
    with generation_files.load(tmp_path, publish(tmp_path, found)) as generation:
        invariants.verify(generation, jobs=2, done=lambda: told.append(None))
        assert len(told) == len(generation.shards) == 3
        again: set[tuple[int, int]] = set()
        invariants.verify(generation, again, jobs=2)
        invariants.verify(generation, again, jobs=2, done=lambda: told.append(None))
        assert len(again) == 3
        assert len(told) == 6
        path = generation.shards["FR"].path
    content = path.read_bytes()
    assert content.count(b"lab\n") == 1
    path.write_bytes(content.replace(b"lab\n", b"lac\n"))
    with (
        generation_files.load(tmp_path, path.parent.name) as generation,
        pytest.raises(CorruptError, match=r"FR\.shard: word data is not that"),
    ):
        invariants.verify(generation, jobs=2)


def test_a_process_that_dies_while_it_checks_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invariants, "_check_file", _die)
    with (
        generation_files.load(tmp_path, publish(tmp_path, FOUND)) as generation,
        pytest.raises(GenerationError, match="fewer --jobs"),
    ):
        invariants.verify(generation, jobs=2)


def _die(path: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_every_invariant_holds_in_what_the_writer_writes(tmp_path: Path) -> None:
    with generation_files.load(tmp_path, publish(tmp_path, FOUND)) as generation:
        invariants.verify(generation)
