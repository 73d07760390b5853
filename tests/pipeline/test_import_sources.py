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
LV = RAW / "lv" / "register.csv"
ACCOUNTS = RAW / "uk" / "Accounts_Bulk_Data-sample.zip"
KBO = RAW / "be" / "KboOpenData_2024_09_excerpt.zip"
FIRST, LATER = (datetime(2026, 11, day, 5, tzinfo=UTC) for day in (21, 22))


def _sources(folder: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((folder / SOURCES).read_bytes())
    return found


def _days(folder: Path) -> set[str | None]:
    [path] = (folder / "companies").glob("*.parquet")
    return set(pl.read_parquet(path)["date_source"])


def _copied(file: Path, folder: Path, day: datetime) -> Path:
    copy = folder / file.name
    shutil.copyfile(file, copy)
    os.utime(copy, (day.timestamp(), day.timestamp()))
    return copy


def test_an_import_says_what_it_read(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO], tmp_path, now=FIRST)

    [(table, [entry])] = _sources(tmp_path).items()
    assert table == "companies/be-kbo.KboOpenData_2024_09_excerpt.parquet"
    [file] = entry.pop("fichiers")
    assert (file["nom"], file["date"], file["origine_date"]) == (KBO.name, "2024-09", "nom")
    assert file["octets"] == KBO.stat().st_size
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


def test_the_time_of_a_copy_is_no_date_of_a_file(tmp_path: Path) -> None:
    file = _copied(ACCOUNTS, tmp_path, datetime(2026, 10, 3, tzinfo=UTC))

    report = importing.run("uk-accounts", [file], tmp_path / "out")

    assert [(one.date, one.origine_date) for one in report.dated] == [(None, "inconnue")]
    assert report.lines()[-1] == (
        f"  {file.name}: of an unknown date; --date gives that of the register"
    )


def test_an_older_import_that_took_the_time_of_the_copy_has_no_date(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO], tmp_path)
    path = tmp_path / SOURCES
    path.write_bytes(path.read_bytes().replace(b'"nom",', b'"modification",'))

    [(one,)] = register_sources.load(path.read_bytes()).values()

    assert (one.date, one.fichiers[0].date, one.fichiers[0].origine_date) == (
        None,
        None,
        "inconnue",
    )


def test_a_given_date_comes_before_all_others(tmp_path: Path) -> None:
    report = importing.run("be-kbo", [KBO], tmp_path, "2024-08-31")

    assert [(one.date, one.origine_date) for one in report.dated] == [("2024-08-31", "indiquee")]
    assert _days(tmp_path) == {"2024-08-31"}


def test_a_row_has_the_date_of_its_register_whenever_it_was_copied(tmp_path: Path) -> None:
    file = _copied(LV, tmp_path, datetime(2026, 10, 3, tzinfo=UTC))

    importing.run("lv-ur", [file], tmp_path / "out")

    assert _days(tmp_path / "out") == {"2020-03-05"}  # the newest registration


def test_the_same_import_again_changes_no_byte(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO], tmp_path, now=FIRST)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}

    importing.run("be-kbo", [KBO], tmp_path, now=LATER)

    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before


def test_another_edition_has_the_time_of_its_own_import(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO], tmp_path, "2024-08-31", FIRST)
    importing.run("be-kbo", [KBO], tmp_path, "2024-09-30", LATER)

    [[entry]] = _sources(tmp_path).values()
    assert entry["importe"] == "2026-11-22T05:00:00+00:00"


def test_sources_of_one_folder_add_up_and_go_with_their_table(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO], tmp_path)
    importing.run("lv-ur", [LV], tmp_path)
    assert [table.split(".")[0] for table in _sources(tmp_path)] == [
        "companies/be-kbo", "companies/lv-ur",
    ]  # fmt: skip

    next((tmp_path / "companies").glob("be-kbo.*")).unlink()
    importing.run("lv-ur", [LV], tmp_path)

    assert [table.split(".")[0] for table in _sources(tmp_path)] == ["companies/lv-ur"]


def test_a_damaged_sources_file_is_named(tmp_path: Path) -> None:
    (tmp_path / SOURCES).write_text('{"companies/a.parquet": [{"source": "ee"}]}', encoding="utf-8")

    with pytest.raises(InputError, match=r"sources\.json cannot be read: .*import the register"):
        importing.run("lv-ur", [LV], tmp_path)


def test_every_importer_has_a_licence_and_an_attribution(tmp_path: Path) -> None:
    for source in REGISTERS:
        said = importing.publisher(source)
        assert all(said[name] for name in said if name != "adresse"), source
        assert "{" not in said["adresse"]


# -- in a generation -----------------------------------------------------------------------


def _built(tmp_path: Path, *folders: Path, **options: object) -> dict[str, list[tuple[str, int]]]:
    """The sources and rows of each country in the generation that is built of `folders`."""
    built = builds.run(tmp_path, *folders, **options)
    packed = (tmp_path / "data" / built.generation / SOURCES).read_bytes()
    found = register_sources.load(packed)
    return {iso2: [(one.source, one.lignes) for one in entries] for iso2, entries in found.items()}


def test_a_build_says_which_sources_gave_a_country_its_rows(tmp_path: Path) -> None:
    importing.run("gleif", sorted((RAW / "gleif").glob("lei2*")), tmp_path / "in")
    own = inputs.write(tmp_path / "own", [inputs.company("SE", "9990000001", "Åkeri AB")])

    found = _built(tmp_path, tmp_path / "in", own, force=True)

    [table] = (tmp_path / "in" / "companies").glob("*.parquet")
    rows = pl.read_parquet(table).group_by("iso2").len().rows()
    assert found == {iso2: [("gleif", count)] for iso2, count in rows}


def test_kept_countries_keep_their_sources(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO], tmp_path / "be", now=FIRST)
    importing.run("lv-ur", [LV], tmp_path / "lv", now=FIRST)
    _built(tmp_path, tmp_path / "be", tmp_path / "lv")
    importing.run("lv-ur", [LV], tmp_path / "lv2", now=LATER)

    found = _built(tmp_path, tmp_path / "lv2", pays=("LV",))

    assert found == {"BE": [("be-kbo", 500)], "LV": [("lv-ur", 1)]}


def test_the_order_of_the_folders_does_not_matter(tmp_path: Path) -> None:
    importing.run("be-kbo", [KBO], tmp_path / "a", now=FIRST)
    importing.run("lv-ur", [LV], tmp_path / "b", now=FIRST)
    first = builds.run(tmp_path / "1", tmp_path / "a", tmp_path / "b")
    second = builds.run(tmp_path / "2", tmp_path / "b", tmp_path / "a")

    assert first.generation == second.generation


def test_the_report_counts_every_field(tmp_path: Path) -> None:
    rows = [
        inputs.company("EE", "1", "Žürii OÜ", ville="Tallinn"),
        inputs.company("EE", "2", "Õ OÜ"),
    ]
    built = builds.run(tmp_path, inputs.write(tmp_path / "in", rows))

    filled = built.pays["EE"].renseignees
    assert (filled["nom"], filled["ville"], filled["telephone"], filled["score"]) == (2, 1, 0, 2)
