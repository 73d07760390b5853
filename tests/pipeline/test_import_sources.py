"""`sources.json`: an import says which register, licence and files gave its tables, and a build carries it on."""

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline import importing
from pipeline.canonical import InputError
from pipeline.registers import REGISTERS
from seeds import TABLES
from shards.generations import register_sources
from shards.generations.register_sources import SOURCES
from tests.pipeline import builds
from tests.pipeline import rows as inputs

RAW = TABLES / "raw"
LV_FILE = RAW / "lv" / "register.csv"
ACCOUNTS_FILE = RAW / "uk" / "Accounts_Bulk_Data-sample.zip"
KBO_FILE = RAW / "be" / "KboOpenData_2024_09_excerpt.zip"
# The times of two imports.
FIRST_IMPORT, LATER_IMPORT = (datetime(2026, 11, day, 5, tzinfo=UTC) for day in (21, 22))


def _read_sources(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The sources of each table of an import, by the name of its file."""
    sources: dict[str, list[dict[str, Any]]] = json.loads((folder / SOURCES).read_bytes())
    return sources


def _source_dates(folder: Path) -> set[str | None]:
    """The distinct values of `date_source` of the imported companies."""
    [path] = (folder / "companies").glob("*.parquet")
    return set(pl.read_parquet(path)["date_source"])


def _copy_dated(file: Path, folder: Path, day: datetime) -> Path:
    """Copy a file, with `day` as the time of its last change."""
    copy = folder / file.name
    shutil.copyfile(file, copy)
    os.utime(copy, (day.timestamp(), day.timestamp()))
    return copy


def test_an_import_records_its_register_licence_and_files(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO_FILE], tmp_path, now=FIRST_IMPORT)

    [(table, [entry])] = _read_sources(tmp_path).items()
    assert table == "companies/be-kbo.KboOpenData_2024_09_excerpt.parquet"
    [file] = entry.pop("fichiers")
    assert (file["nom"], file["date"], file["origine_date"]) == (KBO_FILE.name, "2024-09", "nom")
    assert file["octets"] == KBO_FILE.stat().st_size
    assert entry == {
        "source": "be-kbo",
        "table": "companies",
        "complement": [],
        "registre": "Banque-Carrefour des Entreprises (SPF Économie)",
        "adresse": "",
        "licence": "Licence KBO/BCE Open Data",
        "licence_adresse": "https://economie.fgov.be/fr/themes/entreprises/banque-carrefour-des/"
        "services-pour-tous/banque-carrefour-des-0",
        "attribution": "Source : Banque-Carrefour des Entreprises, SPF Économie (BCE Open Data)",
        "attribution_en": "Source: Crossroads Bank for Enterprises, FPS Economy (CBE Open Data)",
        "importe": "2026-11-21T05:00:00+00:00",
        "lignes": 500,
    }


def test_the_modification_time_of_a_file_is_not_its_date(tmp_path: Path) -> None:
    file = _copy_dated(ACCOUNTS_FILE, tmp_path, datetime(2026, 10, 3, tzinfo=UTC))

    report = importing.run("uk-accounts", [file], tmp_path / "out")

    assert [(entry.date, entry.origine_date) for entry in report.dated] == [(None, "inconnue")]
    assert report.lines()[-1] == (
        f"  {file.name}: of an unknown date; --date sets the date of the register"
    )


def test_an_older_import_dated_by_modification_time_has_no_date(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO_FILE], tmp_path)
    path = tmp_path / SOURCES
    # Older imports gave the date of the last change, and named it `modification`.
    path.write_bytes(path.read_bytes().replace(b'"nom",', b'"modification",'))

    [(source,)] = register_sources.load(path.read_bytes()).values()

    assert (source.date, source.fichiers[0].date, source.fichiers[0].origine_date) == (
        None,
        None,
        "inconnue",
    )


def test_a_given_date_overrides_the_date_in_the_name_of_the_file(tmp_path: Path) -> None:
    report = importing.run("be-kbo", [KBO_FILE], tmp_path, "2024-08-31")

    assert [(entry.date, entry.origine_date) for entry in report.dated] == [
        ("2024-08-31", "indiquee")
    ]
    assert _source_dates(tmp_path) == {"2024-08-31"}


def test_rows_are_dated_by_the_newest_registration_whenever_the_file_was_copied(
    tmp_path: Path,
) -> None:
    file = _copy_dated(LV_FILE, tmp_path, datetime(2026, 10, 3, tzinfo=UTC))

    importing.run("lv-ur", [file], tmp_path / "out")

    assert _source_dates(tmp_path / "out") == {"2020-03-05"}  # the newest registration


def test_the_same_import_again_changes_no_byte(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO_FILE], tmp_path, now=FIRST_IMPORT)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}

    importing.run("be-kbo", [KBO_FILE], tmp_path, now=LATER_IMPORT)

    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


def test_a_new_edition_is_recorded_with_the_time_of_its_import(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO_FILE], tmp_path, "2024-08-31", FIRST_IMPORT)
    importing.run("be-kbo", [KBO_FILE], tmp_path, "2024-09-30", LATER_IMPORT)

    [[entry]] = _read_sources(tmp_path).values()
    assert entry["importe"] == "2026-11-22T05:00:00+00:00"


def test_two_imports_share_a_sources_file_and_a_deleted_table_has_no_entry(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO_FILE], tmp_path)
    importing.run("lv-ur", [LV_FILE], tmp_path)
    assert [table.split(".")[0] for table in _read_sources(tmp_path)] == [
        "companies/be-kbo", "companies/lv-ur",
    ]  # fmt: skip

    next((tmp_path / "companies").glob("be-kbo.*")).unlink()
    importing.run("lv-ur", [LV_FILE], tmp_path)

    assert [table.split(".")[0] for table in _read_sources(tmp_path)] == ["companies/lv-ur"]


def test_a_damaged_sources_file_is_named(tmp_path: Path) -> None:
    (tmp_path / SOURCES).write_text('{"companies/a.parquet": [{"source": "ee"}]}', encoding="utf-8")

    with pytest.raises(InputError, match=r"sources\.json cannot be read: .*import the register"):
        importing.run("lv-ur", [LV_FILE], tmp_path)


def test_every_importer_has_a_licence_and_an_attribution(tmp_path: Path) -> None:
    for source in REGISTERS:
        publisher = importing.publisher(source)
        # A source whose files an operator places has no address.
        assert all(publisher[name] for name in publisher if name != "adresse"), source
        # The address of an edition, which contains `{date:…}`, is replaced by that of its folder.
        assert "{" not in publisher["adresse"]


# -- in a generation -----------------------------------------------------------------------


def _sources_by_country(
    tmp_path: Path, *folders: Path, **options: object
) -> dict[str, list[tuple[str, int]]]:
    """The sources and rows of each country in the generation that is built of `folders`."""
    built = builds.run_build(tmp_path, *folders, **options)
    packed = (tmp_path / "data" / built.generation / SOURCES).read_bytes()
    sources = register_sources.load(packed)
    return {
        iso2: [(entry.source, entry.lignes) for entry in entries]
        for iso2, entries in sources.items()
    }


def test_a_generation_names_the_sources_and_row_counts_of_each_country(tmp_path: Path) -> None:
    """The companies of an input without `sources.json` have no source."""
    importing.run("gleif", sorted((RAW / "gleif").glob("lei2*")), tmp_path / "in")
    folder_without_sources = inputs.write_input(
        tmp_path / "own", [inputs.company("SE", "9990000001", "Åkeri AB")]
    )

    sources = _sources_by_country(tmp_path, tmp_path / "in", folder_without_sources, force=True)

    [table] = (tmp_path / "in" / "companies").glob("*.parquet")
    rows = pl.read_parquet(table).group_by("iso2").len().rows()
    assert sources == {iso2: [("gleif", count)] for iso2, count in rows}


def test_countries_that_are_not_built_again_keep_their_sources(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO_FILE], tmp_path / "be", now=FIRST_IMPORT)
    importing.run("lv-ur", [LV_FILE], tmp_path / "lv", now=FIRST_IMPORT)
    _sources_by_country(tmp_path, tmp_path / "be", tmp_path / "lv")
    importing.run("lv-ur", [LV_FILE], tmp_path / "lv2", now=LATER_IMPORT)

    sources = _sources_by_country(tmp_path, tmp_path / "lv2", pays=("LV",))

    assert sources == {"BE": [("be-kbo", 500)], "LV": [("lv-ur", 1)]}


def test_the_order_of_input_folders_does_not_change_the_generation(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO_FILE], tmp_path / "a", now=FIRST_IMPORT)
    importing.run("lv-ur", [LV_FILE], tmp_path / "b", now=FIRST_IMPORT)
    first = builds.run_build(tmp_path / "1", tmp_path / "a", tmp_path / "b")
    second = builds.run_build(tmp_path / "2", tmp_path / "b", tmp_path / "a")

    assert first.generation == second.generation


def test_the_report_counts_the_companies_that_have_a_value_in_each_field(tmp_path: Path) -> None:
    rows = [
        inputs.company("EE", "1", "Žürii OÜ", ville="Tallinn"),
        inputs.company("EE", "2", "Õ OÜ"),
    ]
    built = builds.run_build(tmp_path, inputs.write_input(tmp_path / "in", rows))

    filled = built.pays["EE"].renseignees
    assert (filled["nom"], filled["ville"], filled["telephone"], filled["score"]) == (2, 1, 0, 2)
