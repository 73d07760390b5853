"""The date of a published file: from its metadata, its name or its newest row, in this order."""

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
# The metadata of the Belgian zip; the excerpt does not contain them.
META_CSV = '"Variable","Value"\r\n"SnapshotDate","{}"\r\n"ExtractType","full"\r\n'


def _row_and_file_dates(
    source: str, files: list[Path], work: Path
) -> tuple[set[str | None], list[FileDate]]:
    """The dates in the column `date_source` of the kept rows, and the dates of the files."""
    reading = read(source, files, work)
    return set(reading.kept.collect()["date_source"]), [reading.dates[file] for file in files]


def _kbo_with_snapshot_date(folder: Path, day: str) -> Path:
    """The Belgian excerpt with a `meta.csv` that gives `day` as the date of the edition."""
    path = folder / "KboOpenData_0127_2024_09_Full.zip"
    shutil.copy(KBO, path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("meta.csv", META_CSV.format(day))
    return path


def test_the_date_in_meta_csv_is_the_date_of_all_rows_of_the_zip(tmp_path: Path) -> None:
    file = _kbo_with_snapshot_date(tmp_path, "31-08-2024")

    assert _row_and_file_dates("be-kbo", [file], tmp_path) == (
        {"2024-08-31"}, [FileDate("2024-08-31", "contenu")],
    )  # fmt: skip


def test_an_impossible_date_in_meta_csv_is_refused(tmp_path: Path) -> None:
    file = _kbo_with_snapshot_date(tmp_path, "31-02-2024")

    with pytest.raises(
        InputError, match=r"meta\.csv: '31-02-2024' is not a date of an edition .*give the day"
    ):
        read("be-kbo", [file], tmp_path)


def test_a_file_without_metadata_has_the_date_in_its_name(tmp_path: Path) -> None:
    assert _row_and_file_dates("be-kbo", [KBO], tmp_path) == (
        {"2024-09"},
        [FileDate("2024-09", "nom")],
    )


def test_a_file_whose_name_has_no_date_has_the_date_of_its_newest_row(tmp_path: Path) -> None:
    file = RAW / "fr" / "StockUniteLegale_utf8.csv"

    assert _row_and_file_dates("fr-sirene", [file], tmp_path) == (
        {"2025-06-27"}, [FileDate("2025-06-27", "contenu")],
    )  # fmt: skip


@pytest.mark.parametrize("year", [1999, 2021, 2100])
def test_the_modification_time_of_a_file_does_not_change_its_date(
    tmp_path: Path, year: int
) -> None:
    file = tmp_path / "StockUniteLegale_utf8.csv"
    shutil.copy(RAW / "fr" / "StockUniteLegale_utf8.csv", file)
    modified = datetime(year, 1, 1, tzinfo=UTC).timestamp()
    os.utime(file, (modified, modified))

    assert _row_and_file_dates("fr-sirene", [file], tmp_path) == (
        {"2025-06-27"}, [FileDate("2025-06-27", "contenu")],
    )  # fmt: skip


def test_each_row_has_the_date_of_its_own_file(tmp_path: Path) -> None:
    first, second = tmp_path / "krs-1.json", tmp_path / "krs-2.json"
    text = (RAW / "pl" / "krs_odpis_aktualny_0000413516.json").read_text(encoding="utf-8")
    first.write_text(text, encoding="utf-8")
    newer_text = text.replace("0000413516", "0000413517").replace("08.03.2022", "09.11.2025")
    second.write_text(newer_text, encoding="utf-8")

    reading = read("pl-krs", [first, second], tmp_path)

    assert reading.kept.select("id", "date_source").collect().rows() == [
        ("0000413516", "2022-03-08"),
        ("0000413517", "2025-11-09"),
    ]
    assert [reading.dates[file].date for file in (first, second)] == ["2022-03-08", "2025-11-09"]


def test_a_register_without_dates_of_rows_has_the_date_of_its_newest_company(
    tmp_path: Path,
) -> None:
    """The declaration names the column with the day on which a company was registered."""
    file = _estonian_register(tmp_path, "14.01.2022")

    assert _row_and_file_dates("ee", [file], tmp_path) == (
        {"2022-01-14"}, [FileDate("2022-01-14", "contenu")],
    )  # fmt: skip


def test_a_file_of_accounts_has_its_newest_closing_date_that_is_past(tmp_path: Path) -> None:
    file = tmp_path / "financial_statements.csv"
    shutil.copy(RAW / "lv" / "financial_statements.csv", file)
    newest = _sorted_closing_dates(file)[-1]

    assert read("lv-comptes", [file], tmp_path).dates == {file: FileDate(newest, "contenu")}

    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(newest, "2999-12-31"), encoding="utf-8")
    # The newest closing date is now in the future, so an older one is the date of the file.
    [file_date] = read("lv-comptes", [file], tmp_path).dates.values()
    assert (file_date.date or "2999") < "2999"


def test_a_file_of_accounts_whose_name_has_a_date_has_that_date(tmp_path: Path) -> None:
    file = tmp_path / "financial_statements-2026-05-01.csv"
    shutil.copy(RAW / "lv" / "financial_statements.csv", file)

    assert read("lv-comptes", [file], tmp_path).dates == {file: FileDate("2026-05-01", "nom")}


def _sorted_closing_dates(file: Path) -> list[str]:
    """The closing dates of a Latvian file of accounts, the oldest first."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return sorted(row["year_ended_on"] for row in csv.DictReader(stream, delimiter=";"))


def test_a_date_in_the_future_is_ignored_in_rows_names_and_metadata(tmp_path: Path) -> None:
    future_day = (datetime.now(UTC) + timedelta(days=40)).date()
    file = tmp_path / f"lihtandmed-{future_day}.csv"
    # The modification time, 2**32, is in 2106.
    os.utime(_estonian_register(tmp_path, f"{future_day:%d.%m.%Y}").rename(file), (2**32, 2**32))
    kbo = _kbo_with_snapshot_date(tmp_path, f"{future_day:%d-%m-%Y}")

    row_dates, [file_date] = _row_and_file_dates("ee", [file], tmp_path)

    assert row_dates == {file_date.date}
    assert (file_date.date or "") < str(future_day)
    assert _row_and_file_dates("be-kbo", [kbo], tmp_path)[1] == [FileDate("2024-09", "nom")]


def _estonian_register(folder: Path, day: str) -> Path:
    """Write an Estonian register of two companies, one registered in 2008, one on `day`; returns its path."""
    [packed] = (RAW / "ee").glob("*lihtandmed*")
    with zipfile.ZipFile(packed) as archive:
        lines = archive.read(archive.namelist()[0]).decode("utf-8-sig").splitlines()
    header, *rows = csv.reader(lines, delimiter=";")
    day_column = header.index("ettevotja_esmakande_kpv")
    two_rows = [row for row in rows if row[day_column].endswith("2008")][:2]
    two_rows[0][day_column] = day
    file = folder / "lihtandmed.csv"
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, delimiter=";").writerows([header, *two_rows])
    return file
