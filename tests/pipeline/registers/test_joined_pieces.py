"""Main rows joined piece by piece: the same rows as of one plan, whatever the order of the files."""

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

TOML = """
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
KEYS = st.sampled_from(["", "1", "2", "3", "10", "1é", "1ﬁ", "1Z"])


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every join is large, and a piece has three rows."""
    monkeypatch.setattr(main_rows, "_FEW", 0)
    monkeypatch.setattr(main_rows, "PIECE", 3)


def _with_joins() -> dict[str, list[Path]]:
    """The excerpts of the registers that join files, by source."""
    found: dict[str, list[Path]] = {}
    with (TABLES / "extraits.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            source, files = list(row.values())[:2]
            toml = Path(declaration.__file__).parents[1] / f"{source}.toml"
            if toml.exists() and "[join." in toml.read_text(encoding="utf-8"):
                raw = TABLES / "raw"
                paths = [path for name in shlex.split(files) for path in sorted(raw.glob(name))]
                found.setdefault(source, []).extend(paths)
    return found


@pytest.mark.parametrize(("source", "files"), _with_joins().items())
def test_an_excerpt_in_pieces_gives_the_rows_of_one_plan(
    source: str, files: Sequence[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _values(REGISTERS[source].read(files, _folder(tmp_path / "whole")))
    monkeypatch.setattr(main_rows, "_FEW", 0)
    monkeypatch.setattr(main_rows, "PIECE", 61)

    pieces = _values(REGISTERS[source].read(files, _folder(tmp_path / "pieces")))

    assert_frame_equal(pieces[0], whole[0])
    assert_frame_equal(pieces[1], whole[1])
    assert pieces[2] == whole[2]


@given(
    companies=st.lists(st.lists(KEYS, min_size=1, max_size=12), min_size=1, max_size=2),
    activities=st.lists(
        st.tuples(KEYS, st.sampled_from(["", "01.1", "62.0", "96"])), min_size=1, max_size=20
    ),
)
@pytest.mark.usefixtures("in_pieces")
def test_pieces_of_any_rows_are_joined_as_one_after_the_other(
    companies: list[list[str]], activities: list[tuple[str, str]]
) -> None:
    with TemporaryDirectory() as folder:
        work = Path(folder)
        lines = ["company,code", *(f"{key},{code}" for key, code in activities)]
        files = [_write(work / "activities.csv", lines)]
        for number, keys in enumerate(companies):
            rows = (f"{key},{number}{place}" for place, key in enumerate(keys))
            files.append(_write(work / f"companies-{number}.csv", ["id,name", *rows]))
        toml = _write(work / "lv-test.toml", [TOML])

        staged = declaration_reader.read(declaration.read(toml), files, _folder(work / "work"))
        found = pl.concat([staged.kept.select("id", "nom", "nace_code", "adresse")]).collect()

    codes = _codes_by_company(activities)
    expected = _merged_rows(companies, codes)
    assert found.rows() == expected
    known = {key for keys in companies for key in keys if key}
    alone = {key or None for key, _ in activities if key not in known}
    assert staged.counts.detail.get("codes sans société", 0) == len(alone)


@pytest.mark.usefixtures("in_pieces")
def test_a_failure_in_a_later_piece_names_its_row(tmp_path: Path) -> None:
    toml = _write(tmp_path / "lv-test.toml", [TOML])
    rows = [f"{key},{key}" for key in range(1, 8)]
    files = [
        _write(tmp_path / "companies.csv", ["id,name", *rows, "8,eight"]),
        _write(tmp_path / "activities.csv", ["company,code", "8,62.0"]),
    ]

    with pytest.raises(InputError, match="row 8"):
        declaration_reader.read(declaration.read(toml), files, _folder(tmp_path / "work"))


@pytest.mark.usefixtures("in_pieces")
def test_an_import_in_pieces_writes_the_same_bytes_twice(tmp_path: Path) -> None:
    files = _with_joins()["fr-sirene"]
    written = [
        importing.run("fr-sirene", files, _folder(tmp_path / name)).output for name in ("a", "b")
    ]
    first, second = ((tmp_path / name / written[0]).read_bytes() for name in ("a", "b"))

    assert written[0] == written[1]
    assert first == second


def test_less_memory_makes_more_pieces_and_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = _with_joins()["ee"]
    monkeypatch.setattr(main_rows, "_FEW", 0)
    monkeypatch.setattr(main_rows, "_ROW", 1 << 20)  # a piece of 128 rows
    sizes: list[int] = []
    kept: list[bytes] = []
    with_columns = main_rows._with_columns

    def count(*given: Any) -> pl.LazyFrame:
        sizes[-1] += 1
        return with_columns(*given)

    monkeypatch.setattr(main_rows, "_with_columns", count)
    for memory in (None, LEAST_MEMORY):
        sizes.append(0)
        out = _folder(tmp_path / f"{memory}")
        kept.append((out / importing.run("ee", files, out, memory=memory).output).read_bytes())

    assert sizes[0] == 1 < sizes[1]
    assert kept[0] == kept[1]


def test_too_little_memory_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"needs 0\.5 GiB; give it more as --memory"):
        importing.run("ee", _with_joins()["ee"], tmp_path, memory=LEAST_MEMORY - 1)


def _values(found: RegisterRows) -> tuple[pl.DataFrame, pl.DataFrame, object]:
    return found.kept.collect(), found.rejected.collect(), found.counts


def _codes_by_company(activities: Sequence[tuple[str, str]]) -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = {}
    for key, code in activities:
        if key:
            found.setdefault(key, []).append(code or None)
    return found


def _merged_rows(
    companies: Sequence[Sequence[str]], codes: Mapping[str, Sequence[str | None]]
) -> list[tuple[str | None, ...]]:
    """The kept rows: those with an identifier; one that both files have once keeps the first."""
    rows: list[tuple[str | None, ...]] = []
    for number, keys in enumerate(companies):
        for place, key in enumerate(keys):
            once = all(each.count(key) <= 1 for each in companies)
            if not key or (number and once and key in companies[0]):
                continue
            of_key = codes.get(key, [])
            distinct = list(dict.fromkeys(code for code in of_key if code))
            first = of_key[0] if of_key else None
            rows.append((key, f"{number}{place}", first, "+".join(distinct) or None))
    return rows


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def _write(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
