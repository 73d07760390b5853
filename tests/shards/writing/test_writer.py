"""Input that the writer refuses, without leaving a file behind."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import lmdb
import numpy as np
import pytest

from shards import format
from shards.codec import record, strings
from shards.errors import AmountError, OutOfOrderError
from shards.reader.shard import Shard
from shards.writing import lmdb_writer, writer
from shards.writing.writer import FEWEST_SAMPLES, Columns
from tests.world import Company, columns, company, sort_by_layout, write_shard

COMPANIES = sort_by_layout(
    [
        company("EE", str(number), f"Ä {number}", division="62", groupe="62.0", ca_eur=ca)
        for number, ca in enumerate((3.0, 2.0, 2.0, None))
    ]
)


def records(rows: range) -> Iterator[bytes]:
    """The records of these rows."""
    return (record.encode(COMPANIES[row]) for row in rows)


def write(path: Path, **changes: Any) -> None:
    """Write COMPANIES with some columns replaced."""
    writer.write(path / "EE", "EE", replace(columns(COMPANIES), **changes), records, ())


def columns_of_rows(*rows: int) -> Columns:
    """The columns of COMPANIES in another order of rows."""
    return columns([COMPANIES[row] for row in rows])


def test_the_companies_of_these_tests_are_accepted(tmp_path: Path) -> None:
    write(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["EE"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noms": strings.pack(["a\nb", "c", "d", "e"])}, "noms: 4 texts with 5 ends of line"),
        ({"ids": strings.pack(["1", "2", "3"])}, "ids: 3 texts with 3 ends of line for 4 rows"),
        ({"ids": strings.pack(["1", "2", "3", "1"])}, "identifier '1' comes twice"),
        ({"cells": [("62", "62.0", 3)]}, "the cells have 3 rows of 4"),
        ({"cells": [("62", "62.0", 2), ("62", "62.0", 2)]}, "each sector and sub-sector once"),
        ({"cells": [("62", None, 2), ("62", "62.0", 2)]}, "null last"),
        ({"cells": [(None, None, 2), ("62", "62.0", 2)]}, "null last"),
    ],
)
def test_columns_that_contradict_each_other_are_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(OutOfOrderError, match=message):
        write(tmp_path, **changes)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["ca_eur", "capital_eur", "actif_eur"])
@pytest.mark.parametrize("amount", [1e300, -1e300, 1.1e18, float("inf")])
def test_an_amount_that_cannot_be_added_up_is_refused_by_company(
    tmp_path: Path, name: str, amount: float
) -> None:
    amounts = np.array([5.0, 4.0, amount, float("nan")])

    with pytest.raises(
        AmountError, match=rf"company '2': {name} is {re.escape(f'{amount:g}')}, over 1e\+18"
    ):
        write(tmp_path, **{name: amounts})

    assert list(tmp_path.iterdir()) == []


def test_the_largest_amount_is_accepted(tmp_path: Path) -> None:
    write(tmp_path, capital_eur=np.array([writer.LARGEST_AMOUNT, -writer.LARGEST_AMOUNT, 0.0, 1.0]))

    assert [path.name for path in tmp_path.iterdir()] == ["EE"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((1, 0, 2, 3), r"row 1 \('0'\)"),  # turnover ascends
        ((0, 2, 1, 3), r"row 2 \('1'\)"),  # equal turnovers, identifier descends
        ((3, 0, 1, 2), r"row 1 \('0'\)"),  # the row without a turnover is first
    ],
)
def test_rows_out_of_order_are_refused_and_the_first_wrong_row_is_named(
    tmp_path: Path, rows: tuple[int, ...], message: str
) -> None:
    with pytest.raises(OutOfOrderError, match=message):
        writer.write(tmp_path / "EE", "EE", columns_of_rows(*rows), records, ())

    assert list(tmp_path.iterdir()) == []


def test_missing_records_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutOfOrderError, match="3 records were given for 4 rows"):
        writer.write(tmp_path / "EE", "EE", columns(COMPANIES), lambda rows: records(rows[:3]), ())


@pytest.mark.parametrize(
    ("rows", "message"),
    [((4,), "row 4 of 4 rows"), ((2, 1), "not given in the order of rows")],
)
def test_statements_without_a_row_or_out_of_order_are_refused(
    tmp_path: Path, rows: tuple[int, ...], message: str
) -> None:
    with pytest.raises(OutOfOrderError, match=message):
        writer.write(
            tmp_path / "EE", "EE", columns(COMPANIES), records, [(row, b"[]") for row in rows]
        )

    assert list(tmp_path.iterdir()) == []


def test_progress_counts_every_row(tmp_path: Path) -> None:
    progress: list[int] = []

    writer.write(tmp_path / "EE", "EE", columns(COMPANIES), records, (), progress.append)

    assert sum(progress) == len(COMPANIES)


def test_a_file_of_many_commits_is_the_same_in_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FORMAT.md §9, invariant 7: the pages of an earlier commit leave no trace."""
    monkeypatch.setattr(lmdb_writer, "_COMMIT_BYTES", 1)
    dataset: list[Company] = [company("EE", str(i), f"Œuvre {i}") for i in range(300)]

    for name in ("a", "b"):
        write_shard(tmp_path / name, "EE", dataset)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with (
        lmdb.open(str(tmp_path / "a"), subdir=False, readonly=True, lock=False, max_dbs=32) as env,
        env.begin() as txn,
    ):
        # A chunk, the starts of its records, and a dictionary.
        assert txn.stat(env.open_db(format.RECORD, txn=txn))["entries"] == 3


def test_a_record_that_is_longer_than_the_window_is_read_as_it_was_written(tmp_path: Path) -> None:
    """The window of zstd is 16 KiB, with the dictionary before it."""
    path = tmp_path / "EE.shard"
    # Words of four digits and a blank, in no order, twice as long as the window.
    text = " ".join(f"{number * number % 9_973:04}" for number in range(2 * (16 << 10) // 5))
    rows = [
        company("EE", f"{number:04}", f"Osaühing {number}", description=text[: number * 40])
        for number in range(FEWEST_SAMPLES + 300)
    ]

    dataset = write_shard(path, "EE", rows)

    shard = Shard(path)
    assert shard.file.value(format.RECORD, format.DICTIONARY)
    assert shard.companies(range(len(dataset))) == [
        {field: entry.get(field) for field in record.FIELDS} for entry in dataset
    ]
    shard.close()
