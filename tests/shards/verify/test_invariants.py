"""Each invariant of FORMAT.md §9, broken by hand in a real shard: `verify` names the fault."""

import os
import signal
import struct
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
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
from numpy.typing import NDArray

from shards import format
from shards.codec import cells, record, row_sets, strings
from shards.codec.cells import Cell
from shards.codec.strings import Texts
from shards.errors import CorruptError, GenerationError
from shards.generations import generation_files
from shards.ratios.ratio_table import stored_codes
from shards.reader.shard import Shard
from shards.verify import invariants
from shards.writing import name_index, orders_and_codes
from tests.shards.shard_edits import edit_table, put_frame
from tests.world import Company, companies, company, publish, total_assets, write_shard

COMPANIES = [
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

STATEMENT_LINES = [
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

# Values that may differ from the records: amounts in euros and ratios by rounding, share capital by its rate.
NOT_IN_RECORDS = {
    (format.KEY, b"capital_desc"),
    (format.CODE, b"actif.amounts"),
    *((format.RATIO, code.encode()) for code in stored_codes()),
}

# A function that changes the bytes of a stored value.
Damage = Callable[[bytes], bytes]

FIRST_ROW = format.chunk_key(0)


def swap_numbers(dtype: str, first: int = -1, second: int = -2) -> Damage:
    """Damage that exchanges two numbers of an array of type `dtype`, by default the last two."""

    def swap(value: bytes) -> bytes:
        values = np.frombuffer(value, dtype=dtype).copy()
        values[[first, second]] = values[[second, first]]
        return values.tobytes()

    return swap


def put_number(dtype: str, index: int, number: float) -> Damage:
    """Damage that replaces the number at an index of an array of numbers of type `dtype`."""

    def put(value: bytes) -> bytes:
        values = np.frombuffer(value, dtype=dtype).copy()
        values[index] = number
        return values.tobytes()

    return put


def replace_record(**fields: object) -> Damage:
    """Replace a record by that of company 4 with other fields."""
    stored = record.encode({**company("EE", "4", "Орёл"), **fields})
    return lambda _: compress(stored)


def compress(stored: bytes) -> bytes:
    """A record as a shard stores it: a Zstandard frame without its magic number."""
    return zstandard.ZstdCompressor().compress(stored).removeprefix(format.ZSTD_MAGIC)


def one_cell(start: int, with_ca: int, stop: int, with_site: int) -> Damage:
    """Damage that replaces all cells (the rows of a sub-sector) by one cell with these bounds and this count."""
    cell = Cell("47", "47.1", start, with_ca, stop, with_site)
    return lambda _: cells.dump([cell])


def two_cells(first_sector: str, second_sector: str, with_site: int) -> Damage:
    """Replace the cells by a cell of one row and a cell of three rows."""
    layout = [Cell(first_sector, None, 0, 0, 1, 0), Cell(second_sector, None, 1, 4, 4, with_site)]
    return lambda _: cells.dump(layout)


def record_with_unknown_field() -> bytes:
    """A record with a field that the format does not have."""
    company = orjson.dumps({**dict.fromkeys(record.FIELDS), "iso2": "EE", "id": "4", "nom": "Орёл",
                            "score": 0, "more": 1})  # fmt: skip
    return compress(struct.pack("<II", len(company), 0) + company)


@pytest.mark.parametrize(
    ("table", "key", "change", "fault"),
    [
        (
            format.RECORD,
            format.chunk_key(2),
            replace_record(id="2", nom="Lab OÜ", ca_eur=2e6, **total_assets(4e9)),
            r"row 2 \('2'\) does not come after the row before it",
        ),
        (format.RECORD, FIRST_ROW, replace_record(id="2"), "identifier '2' comes twice"),
        (format.RECORD, FIRST_ROW, replace_record(nom="a\nb"), "noms: 5 texts with 5 ends of line"),
        (format.RECORD, FIRST_ROW, replace_record(ca_eur=-3.0), "order ca_asc differs"),
        (format.RECORD, FIRST_ROW, replace_record(nom="Orel"), "order nom differs"),
        (format.RECORD, FIRST_ROW, replace_record(noms_anterieurs=["Ä"]), "name starts differs"),
        (format.RECORD, FIRST_ROW, replace_record(id="5"), "ident data differs"),
        (format.RECORD, FIRST_ROW, replace_record(tva="EE1"), "alias keys differs"),
        (
            format.RECORD,
            FIRST_ROW,
            replace_record(ville="Tallinn"),
            "column ville differs .*, from row 0",
        ),
        (format.RECORD, FIRST_ROW, replace_record(iso2="FR"), "row 0 is of FR"),
        (format.RECORD, FIRST_ROW, replace_record(score="9"), "TypeError"),
        (
            format.RECORD,
            FIRST_ROW,
            lambda _: record_with_unknown_field(),
            "row 0 has no record of a company",
        ),
        (
            format.RECORD,
            b"starts",
            put_number("<u4", 1, 0),
            "records of chunk 0 are not consecutive",
        ),
        (format.RECORD, b"starts", put_number("<u4", 1, 9), "row 0 is damaged"),
        (format.RECORD, b"starts", lambda v: v[:-4], "there are 3 records for 4 rows"),
        (
            format.COMPTES,
            b"rows",
            put_number("<u4", 1, 4),
            "statements of a row that does not exist",
        ),
        (
            format.COMPTES,
            b"starts",
            put_number("<u4", 1, 0),
            "statements of chunk 0 are not consecutive",
        ),
        (format.COMPTES, b"starts", lambda v: v + v, "there are 4 statements for 2 rows"),
        (format.META, b"cells", one_cell(0, 0, 1, 0), "the cells have 1 rows of 4"),
        (format.META, b"cells", one_cell(1, 2, 4, 0), "the cells have 3 rows of 4"),
        (format.META, b"cells", two_cells("62", "47", 1), "or are not in order"),
        (format.META, b"cells", two_cells("62", "99", 0), "meta cells differs"),
        (format.RANK, b"capital_desc", lambda v: v[:-4], "rank capital_desc has 3 values for 4"),
        (format.COLUMN, b"actif", lambda v: v + v, "column actif has 8 values for 4 rows"),
        (format.COLUMN, b"actif", put_number("<u4", 1, 10_003), "are not converted at one rate"),
        (format.COLUMN, b"actif", put_number("<u4", 1, 0), "for some companies only"),
        (format.COLUMN, b"actif", put_number("<u4", 0, 3), "total assets in euros of a company"),
        (
            format.COLUMN,
            b"actif",
            put_number("<u4", 0, 4_100_000_000),
            "column actif differs .*, from row 0 on",
        ),
        (format.COLUMN, b"forme", lambda v: v + v, "column forme differs .*, from row 4 on"),
        (format.RANK, b"score", swap_numbers("<u4"), "rank score differs .*, from row 2 on"),
        (format.TOP, b"rows", swap_numbers("<u4"), "top rows differs .*, from byte 216 on"),
        (format.RATIO, b"exercice", put_number("<u2", 0, 2023), "row 1 has ratios of 2023"),
        (
            format.RATIO,
            b"autonomie_financiere",
            put_number("<f8", 0, 0.4),
            "of row 1 does not follow from its",
        ),
        (format.RATIO, b"z_altman", lambda v: v + v, "ratio z_altman has 4 values for 2 rows"),
        (format.RATIO, b"more", lambda _: b"", "ratio has 25 entries instead of 24"),
    ],
)
def test_a_broken_invariant_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table: bytes,
    key: bytes,
    change: Damage,
    fault: str,
) -> None:
    """A value is changed by its table and key; the key of a record is the number of its row."""
    monkeypatch.setattr(format, "TOP_LEAST", 1)
    path = tmp_path / "EE"
    write_shard(path, "EE", COMPANIES, comptes={"1": STATEMENT_LINES, "2": STATEMENT_LINES[:1]})
    with edit_table(path, table) as txn:
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Damage
) -> None:
    """Each value is changed alone; `check` notices it, unless the value may differ from the records."""
    monkeypatch.setattr(format, "TOP_LEAST", 1)
    monkeypatch.setattr(format, "HEAVY_LEAST", 1)
    path = tmp_path / "EE"
    companies = [{**entry, "tva": f"EE{entry['id']}", "capital_eur": 2500.0} for entry in COMPANIES]
    write_shard(path, "EE", companies, comptes={"1": STATEMENT_LINES, "2": STATEMENT_LINES[:1]})
    values = {
        (table, key): value
        for table in format.TABLES[1:]
        for key, value in _items(path, table)
        if value and not format.is_chunk(table, key)
    }

    unnoticed = set()
    for (table, key), value in values.items():
        with edit_table(path, table) as txn:
            txn.put(key, change(value))
        try:
            with Shard(path) as shard:
                invariants.check(shard)
            unnoticed.add((table, key))
        except CorruptError as error:
            assert str(path) in str(error)
        with edit_table(path, table) as txn:
            txn.put(key, value)

    assert len(values) > 90  # the values of nearly all tables
    assert unnoticed <= NOT_IN_RECORDS


def _items(path: Path, table: bytes) -> list[tuple[bytes, bytes]]:
    """The entries of a table."""
    with Shard(path) as shard:
        return list(shard.file.items(table))


def test_a_value_that_is_not_at_its_place_is_named(tmp_path: Path) -> None:
    """FORMAT.md §9, invariant 2."""
    path = tmp_path / publish(tmp_path, COMPANIES) / "EE.shard"
    with edit_table(path, format.META) as txn:
        places = msgpack.unpackb(txn.get(format.PLACES, b""))
        entry = next(place for place in places if place[:2] == ["order", b"nom"])
        entry[2] += 4  # the first byte of the value
        txn.put(format.PLACES, msgpack.packb(places))

    with (
        Shard(path) as shard,
        pytest.raises(CorruptError, match="order b'nom' is not at its place"),
    ):
        invariants.check(shard)


@pytest.mark.parametrize("start", [2**40, -1, "x"])
def test_places_outside_the_file_are_refused_at_opening(tmp_path: Path, start: object) -> None:
    path = tmp_path / publish(tmp_path, COMPANIES) / "EE.shard"
    with edit_table(path, format.META) as txn:
        txn.put(format.PLACES, msgpack.packb([["set", b"rows", start, 8]]))

    with pytest.raises(CorruptError, match=f"^{path}: the places of its values are damaged"):
        Shard(path)


def test_a_shard_that_ends_too_early_is_refused_at_opening(tmp_path: Path) -> None:
    """A read beyond the end of the file would end the process"""
    path = tmp_path / publish(tmp_path, COMPANIES) / "EE.shard"
    full_size = path.stat().st_size
    for size in (full_size - 1, full_size - 4_096, full_size // 2, 3 * 4_096):
        os.truncate(path, size)

        with pytest.raises(CorruptError, match="ends before its last page"):
            Shard(path)


def test_counts_of_the_lists_that_differ_from_the_cells_are_an_error(tmp_path: Path) -> None:
    """FORMAT.md §9, invariant 4."""
    with generation_files.load(tmp_path, publish(tmp_path, COMPANIES)) as generation:
        counts = {**generation.reference.counts, "EE": generation.reference.counts["EE"][:1]}
        object.__setattr__(generation.reference, "counts", counts)

        with pytest.raises(CorruptError, match="the counts of its cells differ from reference"):
            invariants.verify(generation)


# The function of the writer, which tests replace.
real_suffixes = name_index.suffixes


def reverse_order(tri: str) -> Callable[..., object]:
    """A stand-in for the function `row_orders` of the writer, which gives the order `tri` reversed."""
    row_orders = orders_and_codes.row_orders

    def wrong_orders(*arguments: Any) -> object:
        """The orders of the rows, one of them reversed."""
        return (orders := row_orders(*arguments)) | {tri: orders[tri][::-1]}

    return wrong_orders


@pytest.mark.parametrize(
    ("module", "function", "wrong", "fault"),
    [
        *(
            (orders_and_codes, "row_orders", reverse_order(tri), f"order {tri} does not follow")
            for tri in ("ca_desc", "ca_asc", "capital_desc", "effectif_desc", "recent", "score")
        ),
        (orders_and_codes, "_least_ranks", lambda ranks: np.sort(ranks)[::-1], "the list of 62 in"),
        (name_index, "fold", str.casefold, "the words of row . are not the words of its names"),
        (name_index, "sort_names", lambda *arguments: arguments[2][::-1], "order nom does not follow"),
        (name_index, "suffixes", lambda words: real_suffixes(words)[::-1], "the suffixes of the words"),
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
    """`verify` compares a shard with a second write. Here both have the fault, so another check must find it."""
    monkeypatch.setattr(format, "TOP_LEAST", 1)
    monkeypatch.setattr(module, function, wrong)
    write_shard(tmp_path / "EE", "EE", COMPANIES)
    with Shard(tmp_path / "EE") as shard, pytest.raises(CorruptError, match=fault):
        invariants.check(shard)


# Amounts as published and in euros. At a rate of 1.17, 100.5 is 117.585 euros: half a cent from two amounts in cents.
GREATEST = (1_000_000.0, 1_170_000.0)


@pytest.mark.parametrize(
    ("amounts", "is_one_rate"),
    [
        ([GREATEST, (100.5, 117.58)], True),
        ([GREATEST, (100.5, 117.59)], True),
        ([GREATEST, (100.5, 117.57)], False),
        ([GREATEST, (100.5, 117.60)], False),
        # The rate itself comes from a rounded amount.
        ([(-100.5, -117.58), (100.5, 117.59)], True),
        ([(-100.5, -117.58), (100.5, 117.60)], False),
        ([(-100.5, -117.60), (1.0, 1.17)], True),
        ([(0.0, 0.0), (0.0, 0.0)], True),
        ([(0.0, 0.0), (0.0, 0.01)], False),
    ],
)
def test_amounts_in_euros_may_differ_by_half_a_cent_from_those_at_one_rate(
    tmp_path: Path, amounts: list[tuple[float, float]], is_one_rate: bool
) -> None:
    companies = [
        company("EE", str(number), "Lab", **total_assets(euros) | {"total_actif_last": published})
        for number, (published, euros) in enumerate(amounts)
    ]
    write_shard(tmp_path / "EE", "EE", companies)
    fault = pytest.raises(CorruptError, match="are not converted at one rate")
    with Shard(tmp_path / "EE") as shard, nullcontext() if is_one_rate else fault:
        invariants.check(shard)


def test_suffixes_with_equal_beginnings_are_in_the_order_of_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = [company("EE", "1", "z" * (format.SUFFIX_BYTES + 1))]
    write_shard(tmp_path / "EE", "EE", dataset)
    with Shard(tmp_path / "EE") as shard:
        invariants.check(shard)
    monkeypatch.setattr(name_index, "suffixes", swap_last_two)
    write_shard(tmp_path / "EE", "EE", dataset)
    with Shard(tmp_path / "EE") as shard, pytest.raises(CorruptError, match="do not ascend"):
        invariants.check(shard)


def swap_last_two(words: Texts) -> NDArray[np.uint32]:
    """The places of suffixes in their order, except that the last two are exchanged, which is a fault of a shard."""
    places = real_suffixes(words).copy()
    places[-2:] = places[:-3:-1]
    return places


@pytest.mark.parametrize("heavy_least", [0, 1, 1_024])
def test_shards_of_the_writer_break_no_invariant(
    heavy_least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(format, "HEAVY_LEAST", heavy_least)

    @given(companies(), st.booleans())
    def check(dataset: list[Company], as_bits: bool) -> None:
        """Write a shard in which small sets are stored like large sets, and check it."""
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(row_sets, "_DENSE_FROM", 32 if as_bits else 0)
            patch.setattr(format, "TOP_LEAST", 3)
            patch.setattr(format, "TOP_ROWS", 2)
            patch.setattr(format, "HEADED_LEAST", 2)
            patch.setattr(format, "COUNTED_LEAST", 0)
            patch.setattr(format, "HEAD_ROWS", 2)
            write_shard(Path(folder) / "EE", "EE", dataset)
            with Shard(Path(folder) / "EE") as shard:
                invariants.check(shard)

    check()


def test_shards_are_checked_in_processes_and_each_is_reported(tmp_path: Path) -> None:
    """The first damaged shard is named, whichever process checked it."""
    dataset = [company(iso2, "4", "Lab") for iso2 in ("EE", "FR", "LU")]
    reports: list[None] = []
    with generation_files.load(tmp_path, publish(tmp_path, dataset)) as generation:
        invariants.verify(generation, jobs=2, done=lambda: reports.append(None))
        assert len(reports) == len(generation.shards) == 3
        checked_files: set[tuple[int, int]] = set()
        invariants.verify(generation, checked_files, jobs=2)
        invariants.verify(generation, checked_files, jobs=2, done=lambda: reports.append(None))
        assert len(checked_files) == 3
        assert len(reports) == 6
        path = generation.shards["FR"].path
    content = path.read_bytes()
    assert content.count(b"lab\n") == 1
    path.write_bytes(content.replace(b"lab\n", b"lac\n"))
    with (
        generation_files.load(tmp_path, path.parent.name) as generation,
        pytest.raises(CorruptError, match=r"FR\.shard: word data differs from the records"),
    ):
        invariants.verify(generation, jobs=2)


def test_a_process_that_dies_while_it_checks_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invariants, "_check_file", _die)
    with (
        generation_files.load(tmp_path, publish(tmp_path, COMPANIES)) as generation,
        pytest.raises(GenerationError, match="fewer --jobs"),
    ):
        invariants.verify(generation, jobs=2)


def _die(path: Path) -> None:
    """End this process as a kill does."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_every_invariant_holds_in_a_published_generation(tmp_path: Path) -> None:
    with generation_files.load(tmp_path, publish(tmp_path, COMPANIES)) as generation:
        invariants.verify(generation)
