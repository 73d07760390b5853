"""The date of a published file: of its head, its name, its newest row, in this order."""

import csv
import os
import shutil
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.canonical import InputError
from pipeline.registers.register import FileDate
from tests.pipeline.registers.reading import RAW, read

KBO = RAW / "be" / "KboOpenData_2024_09_excerpt.zip"
META = '"Variable","Value"\r\n"SnapshotDate","{}"\r\n"ExtractType","full"\r\n'


def _dates(source: str, files: list[Path], work: Path) -> tuple[set[str | None], list[FileDate]]:
    """The dates in the rows, and those of the files."""
    found = read(source, files, work)
    return set(found.kept.collect()["date_source"]), [found.dates[file] for file in files]


def _with_meta(folder: Path, day: str) -> Path:
    path = folder / "KboOpenData_0127_2024_09_Full.zip"
    shutil.copy(KBO, path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("meta.csv", META.format(day))
    return path


def test_the_head_of_one_file_dates_all_of_them(tmp_path: Path) -> None:
    file = _with_meta(tmp_path, "31-08-2024")

    assert _dates("be-kbo", [file], tmp_path) == (
        {"2024-08-31"}, [FileDate("2024-08-31", "contenu")],
    )  # fmt: skip


def test_a_date_of_the_edition_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    file = _with_meta(tmp_path, "31-02-2024")

    with pytest.raises(
        InputError, match=r"meta\.csv: '31-02-2024' is no date of an edition .*give the day"
    ):
        read("be-kbo", [file], tmp_path)


def test_without_it_the_name_dates_a_file(tmp_path: Path) -> None:
    assert _dates("be-kbo", [KBO], tmp_path) == ({"2024-09"}, [FileDate("2024-09", "nom")])


def test_else_it_is_the_newest_date_in_the_rows_of_the_file(tmp_path: Path) -> None:
    file = RAW / "fr" / "StockUniteLegale_utf8.csv"

    assert _dates("fr-sirene", [file], tmp_path) == (
        {"2025-06-27"}, [FileDate("2025-06-27", "contenu")],
    )  # fmt: skip


@pytest.mark.parametrize("year", [1999, 2021, 2100])
def test_the_time_of_a_copy_counts_for_nothing(tmp_path: Path, year: int) -> None:
    file = tmp_path / "StockUniteLegale_utf8.csv"
    shutil.copy(RAW / "fr" / "StockUniteLegale_utf8.csv", file)
    copied = datetime(year, 1, 1, tzinfo=UTC).timestamp()
    os.utime(file, (copied, copied))

    assert _dates("fr-sirene", [file], tmp_path) == (
        {"2025-06-27"}, [FileDate("2025-06-27", "contenu")],
    )  # fmt: skip


def test_each_row_has_the_date_of_its_own_file(tmp_path: Path) -> None:
    first, second = tmp_path / "krs-1.json", tmp_path / "krs-2.json"
    text = (RAW / "pl" / "krs_odpis_aktualny_0000413516.json").read_text(encoding="utf-8")
    first.write_text(text, encoding="utf-8")
    other = text.replace("0000413516", "0000413517").replace("08.03.2022", "09.11.2025")
    second.write_text(other, encoding="utf-8")

    found = read("pl-krs", [first, second], tmp_path)

    assert found.kept.select("id", "date_source").collect().rows() == [
        ("0000413516", "2022-03-08"),
        ("0000413517", "2025-11-09"),
    ]
    assert [found.dates[file].date for file in (first, second)] == ["2022-03-08", "2025-11-09"]


def test_else_it_is_the_newest_value_of_the_column_that_the_declaration_names(
    tmp_path: Path,
) -> None:
    """A register of January 2022 is of January 2022, whenever it was copied."""
    file = _estonia(tmp_path, "14.01.2022")

    assert _dates("ee", [file], tmp_path) == (
        {"2022-01-14"}, [FileDate("2022-01-14", "contenu")],
    )  # fmt: skip


def test_accounts_are_of_their_newest_closing_date_that_is_past(tmp_path: Path) -> None:
    file = tmp_path / "financial_statements.csv"
    shutil.copy(RAW / "lv" / "financial_statements.csv", file)
    newest = _closings(file)[-1]

    assert read("lv-comptes", [file], tmp_path).dates == {file: FileDate(newest, "contenu")}

    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(newest, "2999-12-31"), encoding="utf-8")
    [told] = read("lv-comptes", [file], tmp_path).dates.values()
    assert (told.date or "2999") < "2999"


def test_accounts_whose_name_has_a_date_are_of_that_date(tmp_path: Path) -> None:
    file = tmp_path / "financial_statements-2026-05-01.csv"
    shutil.copy(RAW / "lv" / "financial_statements.csv", file)

    assert read("lv-comptes", [file], tmp_path).dates == {file: FileDate("2026-05-01", "nom")}


def _closings(file: Path) -> list[str]:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return sorted(row["year_ended_on"] for row in csv.DictReader(stream, delimiter=";"))


def test_a_date_in_the_future_counts_nowhere(tmp_path: Path) -> None:
    ahead = (datetime.now(UTC) + timedelta(days=40)).date()
    named = tmp_path / f"lihtandmed-{ahead}.csv"
    os.utime(_estonia(tmp_path, f"{ahead:%d.%m.%Y}").rename(named), (2**32, 2**32))
    headed = _with_meta(tmp_path, f"{ahead:%d-%m-%Y}")

    rows, [told] = _dates("ee", [named], tmp_path)

    assert rows == {told.date}
    assert (told.date or "") < str(ahead)
    assert _dates("be-kbo", [headed], tmp_path)[1] == [FileDate("2024-09", "nom")]


def _estonia(folder: Path, day: str) -> Path:
    """Two companies, of which the younger was founded on `day`."""
    [packed] = (RAW / "ee").glob("*lihtandmed*")
    with zipfile.ZipFile(packed) as archive:
        lines = archive.read(archive.namelist()[0]).decode("utf-8-sig").splitlines()
    header, *rows = csv.reader(lines, delimiter=";")
    place = header.index("ettevotja_esmakande_kpv")
    two = [row for row in rows if row[place].endswith("2008")][:2]
    two[0][place] = day
    file = folder / "lihtandmed.csv"
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, delimiter=";").writerows([header, *two])
    return file
