"""Each invariant of FORMAT.md §9, broken by hand in a real shard: `verify` names what is wrong."""

import os
import signal
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgpack
import numpy as np
import orjson
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from shards import format
from shards.codec import cells, record, row_sets
from shards.codec.cells import Cell
from shards.errors import CorruptError, GenerationError
from shards.generations import generation_files
from shards.reader.shard import Shard
from shards.verify import invariants
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
            other_record(id="2", nom="Lab OÜ", ca_eur=2e6),
            "turnovers of cell",
        ),
        (format.RECORD, ROW, other_record(ca_eur=-3.0), "has other turnovers than up to row"),
        (format.KEY, b"ca_desc", put("<f8", 0, -2e6), "steps of ca_desc have other values"),
        (format.KEY, b"ca_desc", swapped("<f8"), "steps of ca_desc do not ascend"),
        (format.KEY, b"effectif_desc", put("<i4", 0, -7), "steps of effectif_desc have other"),
        (format.KEY, b"recent", lambda _: b"\0" * 4, "steps of recent do not ascend"),
        (format.KEY, b"score", put("<i2", 0, 6), "steps of score have other values"),
        (format.STEP, b"score", put("<u4", 1, 3), "steps of score have other values"),
        (format.STEP, b"ca_desc", put("<u4", 1, 0), "steps of ca_desc do not ascend"),
        (format.STEP, b"capital_desc", lambda v: v + v, "steps of capital_desc do not ascend"),
        (format.COLUMN, b"etat", put("<u1", 0, 0), "column etat is not that of the records"),
        (format.COLUMN, b"forme", lambda v: v + v, "forme has 8 values for 4 rows"),
        (format.COLUMN, b"ville", put("<u1", 0, 1), "column ville is not that of the records"),
        (format.COLUMN, b"nace", swapped("<u1", 1, 2), "column nace is not that of the records"),
        (format.COLUMN, b"actif", put("<u4", 1, 10_102), "are not converted at one rate"),
        (format.COLUMN, b"actif", put("<u4", 1, 0), "at some companies only"),
        (format.COLUMN, b"actif", put("<u4", 0, 3), "total assets of a company"),
        (format.COLUMN, b"actif", put("<u4", 0, 4_100_000_000), "are no amounts"),
        (format.CODE, b"etat.ends", put("<u4", 1, 1), "code etat.ends is not that"),
        (format.CODE, b"ville.ends", swapped("<u4"), "code ville.ends is not that"),
        (format.CODE, b"ville.spellings", lambda v: v.lower(), "code ville.spellings is not"),
        (format.CODE, b"ville.spelling_rows", put("<u4", 0, 7), "ville.spelling_rows is not that"),
        (format.CODE, b"ville.spelling_ends", put("<u4", 1, 0), "ville.spelling_ends is not that"),
        (format.COLUMN, b"tranche", put("<u1", 0, 5), "column tranche is not that of the records"),
        (format.COLUMN, b"tranche", lambda v: v + v, "tranche has 8 values for 4 rows"),
        (format.CODE, b"tranche.ends", put("<u4", 1, 1), "code tranche.ends is not that"),
        (format.CODE, b"nace.codes", put("<u4", 1, 9), "code nace.codes is not that"),
        (format.CODE, b"actif.known", put("<u4", 0, 4), "code actif.known is not that"),
        (format.COLUMN, b"facts", put("<u2", 1, 2), "facts have other headcounts"),
        (format.COLUMN, b"facts", put("<u2", 1, 1), "facts have other websites"),
        (format.COLUMN, b"facts", lambda v: v + v, "facts has 8 values for 4 rows"),
        (format.SORTED, b"facts", put("<u2", 0, 0), "facts along ca_desc"),
        (format.WEBSITE, b"ca_desc", lambda _: b"", "websites along ca_desc"),
        (format.WEBSITE, b"effectif_desc", put("<u4", 0, 0), "websites along effectif_desc"),
        (format.ORDER, b"ca_desc", put("<u4", 0, 0), "order ca_desc is not what rank says"),
        (format.ORDER, b"ca_asc", swapped("<u4", 0, 3), "order ca_asc is not what rank says"),
        (format.ORDER, b"nom", lambda v: v[:-4], "order nom is not what rank says"),
        (format.RANK, b"score", lambda v: v[:-4], "rank score has 3 values for 4 rows"),
        (format.RANK, b"score", put("<u4", 0, 0), "rank score does not hold each place once"),
        (format.RANK, b"score", swapped("<u4"), "rank score does not follow"),
        (format.RANK, b"capital_desc", swapped("<u4"), "rank capital_desc does not follow"),
        (format.TOP, b"rows", swapped("<u4", 13, 14), "list of 62 in order nom is not the head"),
        (format.TOP, b"rows", swapped("<u4"), "list of 62/62.0 in order score is not the head"),
        (format.TOP, b"rows", lambda v: v[:-4], "list of 62/62.0 in order score is not the head"),
        (format.TOP, b"rows", lambda v: v + v, "lists of first rows have 112 rows for 56"),
        (format.META, b"longest", lambda _: b"\3\0\0\0", "no step of ca_desc has 3 rows"),
        (format.META, b"cells", one_cell(0, 0, 1, 0), "cells end"),
        (format.META, b"cells", one_cell(1, 2, 4, 0), "was next"),
        (format.META, b"cells", two_cells("62", "47", 1), "the cells are not in order"),
        (format.META, b"cells", two_cells("62", "99", 0), "has not 0 websites"),
        (format.RECORD, ROW, other_record(nom="Orel"), "the folded name of row 0"),
        (format.RECORD, ROW, other_record(noms_anterieurs=["Ä"]), "former names of row 0"),
        (format.RECORD, ROW, other_record(iso2="FR"), "row 0 is of FR"),
        (format.RECORD, ROW, other_record(id="5"), "the identifiers are not those"),
        (format.RECORD, ROW, lambda _: odd_record(), "does not have the fields"),
        (format.IDENT, b"data", lambda v: v.replace(b"4", b"5"), "the identifiers are not those"),
        (format.IDENT, b"rows", put("<u4", 0, 0), "the identifiers do not name each row"),
        (format.IDENT, b"keys", put("<u8", 0, 1), "the keys of the identifiers"),
        (format.NAME, b"tokens", swapped("<u4", 0, 1), "the folded name of row"),
        (format.NAME, b"tokens", put("<u4", 0, 99), "a word that does not exist"),
        (format.WORD, b"data", lambda v: v.replace(b"lab", b"bal"), "the folded name of row"),
        (format.WORD, b"postings", swapped("<u4"), "the postings are not"),
        (format.WORD, b"posting_starts", put("<u4", 1, 0), "the starts of the postings"),
        (format.WORD, b"starts", put("<u4", 1, 4), "the folded name of row"),
        (format.WORD, b"owners", put("<u4", 0, 1), "the owners are not the words"),
        (format.WORD, b"suffixes", put("<u4", 0, 1), "are not the characters of the words"),
        (format.WORD, b"suffixes", swapped("<u4"), "the suffixes do not ascend"),
        (format.WORD, b"suffix_keys", put("<u8", 0, 1), "the keys of the suffixes"),
        (format.SET, b"rows", put("<u4", 3, 9), "set 0 of junction, of"),
        (format.SET, b"rows", lambda v: v + bytes(8), "row sets end at"),
        (format.JUNCTION, b"keys", put("<u8", 0, 1), "set 0 of junction is not that of"),
        (format.JUNCTION, b"places", put("<u4", 0, 2), "set 0 of junction is not that of"),
        (format.JUNCTION, b"places", lambda v: v + v, "junction has 2 sets, 4 places"),
        (format.HEAVY, b"keys", lambda _: bytes(8), "heavy has 1 sets, 0 places"),
        (format.PREFIX, b"places", lambda _: bytes(4), "prefix has 0 sets, 1 places"),
        (format.PHRASE, b"places", lambda _: bytes(4), "phrase has 0 sets, 1 places"),
        (format.RECORD, b"starts", put("<u4", 1, 0), "records of chunk 0 do not follow"),
        (format.RECORD, b"starts", put("<u4", 1, 9), "row 0 is damaged"),
        (format.RECORD, b"starts", lambda v: v[:-4], "there are 3 records for 4 rows"),
        (format.COMPTES, b"rows", put("<u4", 1, 4), "statements of a row that does not exist"),
        (format.COMPTES, b"starts", put("<u4", 1, 0), "statements of chunk 0 do not follow"),
        (format.COMPTES, b"starts", lambda v: v + v, "there are 4 statements for 2 rows"),
        (format.RATIO, b"exercice", put("<u2", 0, 2023), "row 1 has ratios of 2023"),
        (format.RATIO, b"autonomie_financiere", put("<f8", 0, 0.4), "of row 1 is not that of its"),
        (format.RATIO, b"z_altman", lambda v: v + v, "ratio z_altman has 4 values for 2 rows"),
        (format.RATIO, b"orders", put("<u4", 0, 1), "orders of ratios are not those"),
        (format.RATIO, b"orders", lambda v: v + v, "orders of ratios are not those"),
        (format.RATIO, b"orders", lambda v: v[4:], "orders of ratios are not those"),
        (format.RATIO, b"order_ends", put("<u4", 20, 0), "order_ends of ratios are not those of"),
        (format.RATIO, b"order_ends", lambda v: v[4:], "order_ends of ratios are not those of"),
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
    with Shard(path) as shard, pytest.raises(CorruptError, match=fault):
        invariants.check(shard)


def test_an_order_of_ratios_that_does_not_ascend_is_named(tmp_path: Path) -> None:
    """FORMAT.md §9, invariant 5: of equity to total assets, the first ratio."""
    path = tmp_path / "EE"
    lines = [LINES[0] | {"valeur": 20.0}, LINES[1]]
    write_shard(path, "EE", FOUND, comptes={"1": LINES, "2": lines})
    with Shard(path) as shard:
        invariants.check(shard)
        assert shard.ratio_orders["autonomie_financiere"].tolist() == [1, 0]
    with altered(path, format.RATIO) as txn:
        txn.put(b"orders", swapped("<u4", 0, 1)(bytes(txn.get(b"orders", b""))))
    with Shard(path) as shard, pytest.raises(CorruptError, match="orders of ratios are not those"):
        invariants.check(shard)


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
        pytest.raises(CorruptError, match=r"FR\.shard: the folded name of row 0"),
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
