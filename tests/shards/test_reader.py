"""One shard, written and read back: companies, statements, identifiers, bytes."""

import re
import sys
import tempfile
from pathlib import Path

import orjson
import pytest
from hypothesis import given

from shards import format
from shards.errors import OutOfOrderError, WrongFormatError
from shards.reader.shard import Shard
from shards.writing import writer
from tests.world import columns, companies, company, in_layout, write_shard

LINES = [
    {"etat": "bilan_actif", "code": "FA", "libelle": "Actif immobilisé", "valeur": -1.5,
     "devise": "GBP", "exercice": 2017, "ordre": 10},
]  # fmt: skip


def test_a_company_comes_back_as_it_was_written(tmp_path: Path) -> None:
    written = company("EE", "10000018", "Ännchen & Söhne «OÜ»", email="a@b.ee", ca_eur=0.5)
    write_shard(tmp_path / "EE", "EE", [written])

    with Shard(tmp_path / "EE") as shard:
        read = orjson.loads(shard.record(0, coordonnees=True))
        public = orjson.loads(shard.record(0, coordonnees=False))

    assert read == {field: written[field] for field in read}
    assert public == {**read, "email": None}


def test_statements_come_back_with_their_company(tmp_path: Path) -> None:
    """E5"""
    found = [company("UK", "1", "A"), company("UK", "2", "B", ca_eur=1.0)]
    write_shard(tmp_path / "UK", "UK", found, comptes={"1": LINES})

    with Shard(tmp_path / "UK") as shard:
        comptes = [shard.comptes(row) for row in range(shard.rows)]

    assert comptes[0] is None  # the company with a turnover comes first
    assert orjson.loads(comptes[1] or b"") == LINES


def test_a_table_has_the_number_and_the_size_of_its_entries(tmp_path: Path) -> None:
    """`inspect` shows both"""
    found = [company("EE", f"{number}", "Łódź", email="a@b.ee") for number in range(3)]
    write_shard(tmp_path / "EE", "EE", found, comptes={"1": LINES})

    with Shard(tmp_path / "EE") as shard:
        for table in format.TABLES[1:]:
            values = [value for _, value in shard.file.items(table)]
            assert shard.file.entries(table) == len(values)
            assert shard.file.size(table) == sum(map(len, values))


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/smaps is of Linux")
def test_single_reads_of_the_file_bring_in_no_neighbours_until_a_search_reads_through_arrays(
    tmp_path: Path,
) -> None:
    found = [company("EE", f"{number:04}", f"Łódź {number * number}") for number in range(900)]
    write_shard(tmp_path / "EE", "EE", found)

    with Shard(tmp_path / "EE") as shard:
        opened = random_kib(shard.path)
        shard.file.expect_scans()
        scanned = random_kib(shard.path)
        shard.file.expect_scans(frames=True)
        frames = sum(len(chunk) for chunk in shard.frames.chunks) >> 10
        values = sum(shard.file.size(table) for table in format.TABLES) >> 10
        assert random_kib(shard.path) == 0
    assert frames - 8 < scanned <= frames + 8  # two pages
    assert values <= opened


def random_kib(path: Path) -> int:
    """How much of the map of a file is read without neighbours (madvise: `rr` in smaps)."""
    regions = re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text())
    return sum(
        int(re.findall(r"Size: +(\d+) kB", region)[0])
        for region in regions
        if str(path) in region and " rr" in region.rsplit("VmFlags:")[-1]
    )


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("FN 122.119-m", "FN 122.119-m"),  # exactly
        ("fn122119M", "FN 122.119-m"),  # the only one with these letters and digits
        ("12 3", "12 3"),  # exactly, though 1-23 has the same letters and digits
        ("123", None),  # two have them
        ("7-8", "78"),  # the only one, though 789 begins with it
        ("--", "--"),  # exactly
        ("/", None),  # no letter, no digit
        ("", None),
        ("124", None),
    ],
)
def test_an_identifier_is_found_exactly_or_if_unique_without_punctuation(
    tmp_path: Path, asked: str, found: str | None
) -> None:
    """E2"""
    ids = ["FN 122.119-m", "12 3", "1-23", "--", "78", "789"]
    write_shard(tmp_path / "EE", "EE", [company("EE", i, "Ä") for i in ids])

    with Shard(tmp_path / "EE") as shard:
        row = shard.find(asked)

        assert (None if row is None else shard.company(row)["id"]) == found


def test_rows_out_of_layout_order_are_refused_and_leave_no_file(tmp_path: Path) -> None:
    rows = in_layout([company("EE", "1", "A", ca_eur=1.0), company("EE", "2", "B", ca_eur=2.0)])

    with pytest.raises(OutOfOrderError, match="row 1 \\('2'\\)"):
        writer.write(tmp_path / "EE", "EE", columns(rows[::-1]), lambda _: iter(()), ())

    assert list(tmp_path.iterdir()) == []


def test_an_identifier_that_comes_twice_is_refused(tmp_path: Path) -> None:
    """E3"""
    with pytest.raises(OutOfOrderError, match="comes twice"):
        write_shard(tmp_path / "EE", "EE", [company("EE", "1", "A"), company("EE", "1", "B")])


def test_a_failed_write_leaves_the_old_shard_as_it_was(tmp_path: Path) -> None:
    write_shard(tmp_path / "EE", "EE", [company("EE", "1", "Orléans")])

    with pytest.raises(OutOfOrderError):
        write_shard(tmp_path / "EE", "EE", [company("EE", "1", "A"), company("EE", "1", "B")])

    with Shard(tmp_path / "EE") as shard:
        assert shard.company(0)["nom"] == "Orléans"


def test_a_country_without_companies_has_a_shard(tmp_path: Path) -> None:
    write_shard(tmp_path / "EE", "EE", [])

    with Shard(tmp_path / "EE") as shard:
        assert (shard.iso2, shard.rows, shard.find("1")) == ("EE", 0, None)
        assert shard.layout.cells == ()


def test_a_file_that_is_no_shard_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.shard"
    path.write_bytes(b"PK\x03\x04" * 4096)

    with pytest.raises(WrongFormatError, match="not a shard"):
        Shard(path)


@given(companies())
def test_the_same_companies_give_the_same_bytes(found: list[dict[str, object]]) -> None:
    """FORMAT.md §9, invariant 7."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "a", Path(folder) / "b"
        write_shard(first, "EE", found)
        write_shard(second, "EE", list(reversed(found)))

        assert first.read_bytes() == second.read_bytes()
