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
from tests.world import columns, companies, company, sort_by_layout, write_shard

LINES = [
    {"etat": "bilan_actif", "code": "FA", "libelle": "Actif immobilisé", "valeur": -1.5,
     "devise": "GBP", "exercice": 2017, "ordre": 10},
]  # fmt: skip


def test_a_company_is_read_as_it_was_written(tmp_path: Path) -> None:
    entry = company("EE", "10000018", "Ännchen & Söhne «OÜ»", email="a@b.ee", ca_eur=0.5)
    write_shard(tmp_path / "EE", "EE", [entry])

    with Shard(tmp_path / "EE") as shard:
        stored = orjson.loads(shard.record(0, coordonnees=True))
        public = orjson.loads(shard.record(0, coordonnees=False))

    assert stored == {field: entry[field] for field in stored}
    assert public == {**stored, "email": None}


def test_statements_are_read_with_their_company(tmp_path: Path) -> None:
    """E5"""
    dataset = [company("UK", "1", "A"), company("UK", "2", "B", ca_eur=1.0)]
    write_shard(tmp_path / "UK", "UK", dataset, comptes={"1": LINES})

    with Shard(tmp_path / "UK") as shard:
        comptes = [shard.comptes(row) for row in range(shard.rows)]

    assert comptes[0] is None  # the company with a turnover comes first
    assert orjson.loads(comptes[1] or b"") == LINES


def test_a_table_has_the_number_and_the_size_of_its_entries(tmp_path: Path) -> None:
    """`inspect` shows both"""
    dataset = [company("EE", f"{number}", "Łódź", email="a@b.ee") for number in range(3)]
    write_shard(tmp_path / "EE", "EE", dataset, comptes={"1": LINES})

    with Shard(tmp_path / "EE") as shard:
        for table in format.TABLES[1:]:
            values = [value for _, value in shard.file.items(table)]
            assert shard.file.entries(table) == len(values)
            assert shard.file.size(table) == sum(map(len, values))


def test_each_table_has_as_many_entries_as_the_format_says(tmp_path: Path) -> None:
    """FORMAT.md §3; `record` and `comptes` have a chunk each, and two further entries."""
    document = (Path(format.__file__).parent / "FORMAT.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([\w +]+) \|$", document, re.MULTILINE)
    dataset = [company("EE", f"{number}", "Łódź", email="a@b.ee") for number in range(3)]
    write_shard(tmp_path / "EE", "EE", dataset, comptes={"1": LINES})

    with Shard(tmp_path / "EE") as shard:
        counts = {table.decode(): shard.file.entries(table) for table in format.TABLES[1:]}

    assert counts == {
        table: 3 if text == "chunks + 2" else int(text) for table, text in rows if table in counts
    }


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc/self/smaps")
def test_the_file_is_read_without_neighbouring_pages_until_a_search_scans_arrays(
    tmp_path: Path,
) -> None:
    """`expect_scans` turns on reading ahead for all but records and statements; with `frames`, also for these."""
    dataset = [company("EE", f"{number:04}", f"Łódź {number * number}") for number in range(900)]
    write_shard(tmp_path / "EE", "EE", dataset)

    with Shard(tmp_path / "EE") as shard:
        kib_at_opening = kib_without_neighbours(shard.path)
        shard.file.expect_scans()
        kib_in_scans = kib_without_neighbours(shard.path)
        shard.file.expect_scans(frames=True)
        frame_kib = sum(len(chunk) for chunk in shard.frames.chunks) >> 10
        value_kib = sum(shard.file.size(table) for table in format.TABLES) >> 10
        assert kib_without_neighbours(shard.path) == 0
    assert frame_kib - 8 < kib_in_scans <= frame_kib + 8  # two pages
    assert value_kib <= kib_at_opening


def kib_without_neighbours(path: Path) -> int:
    """The KiB of the map of a file that are read without neighbouring pages (madvise: `rr` in smaps)."""
    regions = re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text())
    return sum(
        int(re.findall(r"Size: +(\d+) kB", region)[0])
        for region in regions
        if str(path) in region and " rr" in region.rsplit("VmFlags:")[-1]
    )


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("FN 122.119-m", "FN 122.119-m"),  # exactly
        ("fn122119M", "FN 122.119-m"),  # the only identifier with these letters and digits
        ("12 3", "12 3"),  # exactly, though 1-23 has the same letters and digits
        ("123", None),  # two identifiers have these digits
        ("7-8", "78"),  # the only identifier with these digits, though 789 begins with them
        ("--", "--"),  # exactly
        ("/", None),  # no letter, no digit
        ("", None),
        ("124", None),
    ],
)
def test_an_identifier_is_found_exactly_or_if_unique_without_punctuation(
    tmp_path: Path, identifier: str, expected: str | None
) -> None:
    """E2: an identifier without an exact match is found if one company alone has its letters and digits"""
    ids = ["FN 122.119-m", "12 3", "1-23", "--", "78", "789"]
    write_shard(tmp_path / "EE", "EE", [company("EE", i, "Ä") for i in ids])

    with Shard(tmp_path / "EE") as shard:
        row = shard.find(identifier)

        assert (None if row is None else shard.company(row)["id"]) == expected


def test_rows_out_of_layout_order_are_refused_and_leave_no_file(tmp_path: Path) -> None:
    rows = sort_by_layout(
        [company("EE", "1", "A", ca_eur=1.0), company("EE", "2", "B", ca_eur=2.0)]
    )

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


def test_a_file_that_is_not_a_shard_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.shard"
    path.write_bytes(b"PK\x03\x04" * 4096)

    with pytest.raises(WrongFormatError, match="not a shard"):
        Shard(path)


@given(companies())
def test_the_same_companies_give_the_same_bytes(dataset: list[dict[str, object]]) -> None:
    """FORMAT.md §9, invariant 7."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "a", Path(folder) / "b"
        write_shard(first, "EE", dataset)
        write_shard(second, "EE", list(reversed(dataset)))

        assert first.read_bytes() == second.read_bytes()
