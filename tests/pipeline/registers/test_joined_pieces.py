"""Main rows (the companies) that are joined in pieces of some rows give the same result as joined in one plan."""

import csv
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pipeline import importing
from pipeline.canonical import InputError
from pipeline.registers import REGISTERS
from pipeline.registers.register import LEAST_MEMORY, RegisterRows
from pipeline.registers.toml import declaration, declaration_reader, main_rows
from seeds import TABLES

DECLARATION = """
main = "companies"
[file.companies]
key = "name"
used = ["id", "name"]
[file.activities]
key = "code"
used = ["company", "code"]
[join.first]
file = "activities"
on = { id = "company" }
take = { nace = "code" }
orphans = "codes sans société"
[join.all]
file = "activities"
on = { id = "company" }
gather = { codes = "code" }
[derived]
list = "ARRAY_TO_STRING(codes, '+')"
[columns]
iso2 = "'LV'"
id = "id"
nom = "name"
nace_code = "nace"
adresse = "list"
effectif = "CAST(name AS BIGINT)"
"""
# Few identifiers, so that rows meet: none, numbers, and letters outside ASCII.
IDENTIFIERS = st.sampled_from(["", "1", "2", "3", "10", "1é", "1ﬁ", "1Z"])


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every join of two tables count as large, so that it is done in pieces, here of three rows."""
    monkeypatch.setattr(main_rows, "_MOST_SMALL_JOIN_ROWS", 0)
    monkeypatch.setattr(main_rows, "PIECE", 3)


def _files_with_joins() -> dict[str, list[Path]]:
    """The excerpts of the registers that join files, by source."""
    files_by_source: dict[str, list[Path]] = {}
    with (TABLES / "extraits.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            source, files = list(row.values())[:2]
            toml = Path(declaration.__file__).parents[1] / f"{source}.toml"
            if toml.exists() and "[join." in toml.read_text(encoding="utf-8"):
                raw = TABLES / "raw"
                paths = [path for name in shlex.split(files) for path in sorted(raw.glob(name))]
                files_by_source.setdefault(source, []).extend(paths)
    return files_by_source


@pytest.mark.parametrize(("source", "files"), _files_with_joins().items())
def test_an_excerpt_in_pieces_gives_the_rows_of_one_plan(
    source: str, files: Sequence[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_one_plan = _kept_rejected_and_counts(
        REGISTERS[source].read(files, _make_folder(tmp_path / "whole"))
    )
    monkeypatch.setattr(main_rows, "_MOST_SMALL_JOIN_ROWS", 0)
    monkeypatch.setattr(main_rows, "PIECE", 61)  # rows, so that an excerpt has several pieces

    in_pieces = _kept_rejected_and_counts(
        REGISTERS[source].read(files, _make_folder(tmp_path / "pieces"))
    )

    # The kept rows, the rejected rows, and the counts.
    assert_frame_equal(in_pieces[0], in_one_plan[0])
    assert_frame_equal(in_pieces[1], in_one_plan[1])
    assert in_pieces[2] == in_one_plan[2]


@given(
    companies=st.lists(st.lists(IDENTIFIERS, min_size=1, max_size=12), min_size=1, max_size=2),
    activities=st.lists(
        st.tuples(IDENTIFIERS, st.sampled_from(["", "01.1", "62.0", "96"])), min_size=1, max_size=20
    ),
)
@pytest.mark.usefixtures("small_pieces")
def test_rows_joined_in_pieces_are_those_that_a_loop_over_the_rows_gives(
    companies: list[list[str]], activities: list[tuple[str, str]]
) -> None:
    with TemporaryDirectory() as folder:
        work = Path(folder)
        lines = ["company,code", *(f"{key},{code}" for key, code in activities)]
        files = [_write_lines(work / "activities.csv", lines)]
        for number, keys in enumerate(companies):
            rows = (f"{key},{number}{row}" for row, key in enumerate(keys))
            files.append(_write_lines(work / f"companies-{number}.csv", ["id,name", *rows]))
        toml = _write_lines(work / "lv-test.toml", [DECLARATION])

        staged = declaration_reader.read(declaration.read(toml), files, _make_folder(work / "work"))
        joined_rows = staged.kept.select("id", "nom", "nace_code", "adresse").collect()

    codes_by_company = _codes_by_company(activities)
    expected = _expected_rows(companies, codes_by_company)
    assert joined_rows.rows() == expected
    # An empty key of an activity is read as null.
    keys_of_companies = {key for keys in companies for key in keys if key}
    identifiers_without_company = {
        key or None for key, _ in activities if key not in keys_of_companies
    }
    assert staged.counts.detail.get("codes sans société", 0) == len(identifiers_without_company)


@pytest.mark.usefixtures("small_pieces")
def test_a_failure_in_a_later_piece_names_its_row(tmp_path: Path) -> None:
    toml = _write_lines(tmp_path / "lv-test.toml", [DECLARATION])
    rows = [f"{key},{key}" for key in range(1, 8)]
    files = [
        _write_lines(tmp_path / "companies.csv", ["id,name", *rows, "8,eight"]),  # not a BIGINT
        _write_lines(tmp_path / "activities.csv", ["company,code", "8,62.0"]),
    ]

    with pytest.raises(InputError, match="row 8"):
        declaration_reader.read(declaration.read(toml), files, _make_folder(tmp_path / "work"))


@pytest.mark.usefixtures("small_pieces")
def test_an_import_in_pieces_writes_the_same_bytes_twice(tmp_path: Path) -> None:
    files = _files_with_joins()["fr-sirene"]
    written = [
        importing.run("fr-sirene", files, _make_folder(tmp_path / name)).output
        for name in ("a", "b")
    ]
    first, second = ((tmp_path / name / written[0]).read_bytes() for name in ("a", "b"))

    assert written[0] == written[1]
    assert first == second


def test_less_memory_makes_more_pieces_and_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = _files_with_joins()["ee"]
    monkeypatch.setattr(main_rows, "_MOST_SMALL_JOIN_ROWS", 0)
    monkeypatch.setattr(main_rows, "_ROW_BYTES", 1 << 20)  # a piece of 128 rows
    piece_counts: list[int] = []
    outputs: list[bytes] = []
    join_columns = main_rows._join_columns

    def count_and_join(*arguments: Any) -> pl.LazyFrame:
        """Count a piece of the latest read and join its columns."""
        piece_counts[-1] += 1
        return join_columns(*arguments)

    monkeypatch.setattr(main_rows, "_join_columns", count_and_join)
    for memory in (None, LEAST_MEMORY):
        piece_counts.append(0)
        out = _make_folder(tmp_path / f"{memory}")
        outputs.append((out / importing.run("ee", files, out, memory=memory).output).read_bytes())

    assert piece_counts[0] == 1 < piece_counts[1]  # unlimited memory: one piece
    assert outputs[0] == outputs[1]


def test_too_little_memory_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"needs 0\.5 GiB; give it more as --memory"):
        importing.run("ee", _files_with_joins()["ee"], tmp_path, memory=LEAST_MEMORY - 1)


def _kept_rejected_and_counts(reading: RegisterRows) -> tuple[pl.DataFrame, pl.DataFrame, object]:
    """The kept rows, the rejected rows and the counts of a reading."""
    return reading.kept.collect(), reading.rejected.collect(), reading.counts


def _codes_by_company(activities: Sequence[tuple[str, str]]) -> dict[str, list[str | None]]:
    """The codes of each company in the order of their rows; None for an empty code."""
    codes_by_company: dict[str, list[str | None]] = {}
    for key, code in activities:
        if key:
            codes_by_company.setdefault(key, []).append(code or None)
    return codes_by_company


def _expected_rows(
    companies: Sequence[Sequence[str]], codes: Mapping[str, Sequence[str | None]]
) -> list[tuple[str | None, ...]]:
    """The expected rows: identifier, name, first code, and all codes.

    Rows without an identifier are left out, and a row of the first file if its company has one row in each file.
    """
    rows: list[tuple[str | None, ...]] = []
    for number, keys in enumerate(companies):
        for row, key in enumerate(keys):
            is_unique = all(keys_of_file.count(key) <= 1 for keys_of_file in companies)
            is_older = is_unique and any(key in keys for keys in companies[number + 1 :])
            if not key or is_older:
                continue
            codes_of_company = codes.get(key, [])
            distinct_codes = list(dict.fromkeys(code for code in codes_of_company if code))
            first_code = codes_of_company[0] if codes_of_company else None
            rows.append((key, f"{number}{row}", first_code, "+".join(distinct_codes) or None))
    return rows


def _make_folder(path: Path) -> Path:
    """Create the folder `path`; return it."""
    path.mkdir()
    return path


def _write_lines(path: Path, lines: Sequence[str]) -> Path:
    """Write a published file with these lines to `path`; returns the path."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
