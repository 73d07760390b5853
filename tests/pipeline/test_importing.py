"""An import accounts for every row, appears whole, and refuses unknown columns and files."""

import json
import zipfile
from pathlib import Path

import polars as pl
import pytest

from pipeline import console, importing, registers
from pipeline.canonical import InputError
from pipeline.registers.toml import declaration
from seeds import TABLES

RAW = TABLES / "raw"
UK = RAW / "uk" / "BasicCompanyData-southyorkshire.zip"
FILED = RAW / "uk" / "BasicCompanyData-accounts-sample.zip"
ACCOUNTS = RAW / "uk" / "Accounts_Bulk_Data-sample.zip"
EE = sorted((RAW / "ee").glob("*.zip"))

DECLARED = Path(registers.__file__).parent / "uk-basic.toml"
LAYOUT = declaration.read(DECLARED).files["BasicCompanyData"]
HEADER = [*sorted(LAYOUT.used), *sorted(LAYOUT.ignored)]


def _published(path: Path, *rows: dict[str, str], header: list[str] | None = None) -> Path:
    """A BasicCompanyData file of these companies, every value quoted and CRLF."""
    columns = header or HEADER
    lines = [",".join(f" {name}" for name in columns)]
    for row in rows:
        values = [row.get(name, "").replace('"', '""') for name in columns]
        lines.append(",".join(f'"{value}"' for value in values))
    path.write_text("\r\n".join([*lines, ""]), encoding="utf-8", newline="")
    return path


def _company(number: str, name: str = "MÉTAUX & FILS LTD", **others: str) -> dict[str, str]:
    return {"CompanyNumber": number, "CompanyName": name} | others


def test_a_new_column_is_refused_by_name(tmp_path: Path) -> None:
    file = _published(tmp_path / "b.csv", _company("1"), header=[*HEADER, "SICCode2026"])

    with pytest.raises(InputError, match=r"b\.csv .*unknown column 'SICCode2026'"):
        importing.run("uk-basic", [file], tmp_path / "out")


@pytest.mark.parametrize("column", ["CompanyStatus", "URI"])
def test_a_column_that_is_gone_is_refused_by_name(tmp_path: Path, column: str) -> None:
    header = [name for name in HEADER if name != column]
    file = _published(tmp_path / "b.csv", _company("1"), header=header)

    with pytest.raises(InputError, match=rf"b\.csv .*expected column '{column}' is missing"):
        importing.run("uk-basic", [file], tmp_path / "out")


def test_a_column_that_is_there_twice_is_refused_by_name(tmp_path: Path) -> None:
    file = _published(tmp_path / "b.csv", _company("1"), header=[*HEADER, "URI"])

    with pytest.raises(InputError, match=r"column 'URI' is there twice"):
        importing.run("uk-basic", [file], tmp_path / "out")


def test_columns_are_found_by_name_whatever_their_place(tmp_path: Path) -> None:
    file = _published(tmp_path / "b.csv", _company("SC1", "ŻABKA"), header=HEADER[::-1])

    importing.run("uk-basic", [file], tmp_path / "out")

    found = pl.read_parquet(tmp_path / "out" / "companies" / "uk-basic.b.parquet")
    assert found.select("id", "nom").rows() == [("SC1", "ŻABKA")]


def test_a_company_of_two_files_is_merged_and_the_first_value_wins(tmp_path: Path) -> None:
    first = _published(tmp_path / "1.csv", _company("7", "PREMIER"), _company("8"))
    second = _published(
        tmp_path / "2.csv",
        _company("9"),
        _company("7", "SECOND", CompanyStatus="Active", IncorporationDate="14/04/2005"),
    )

    report = importing.run("uk-basic", [first, second], tmp_path / "out")

    found = pl.read_parquet(tmp_path / "out" / report.output)
    assert found.select("id", "nom", "statut", "date_creation").rows() == [
        ("7", "PREMIER", "Active", "2005-04-14"),
        ("8", "MÉTAUX & FILS LTD", None, None),
        ("9", "MÉTAUX & FILS LTD", None, None),
    ]
    assert (report.counts.read, report.counts.kept, report.counts.merged) == (4, 3, 1)


def test_the_real_files_share_five_companies(tmp_path: Path) -> None:
    report = importing.run("uk-basic", [FILED, UK], tmp_path)

    assert report.counts.merged == 5
    found = pl.read_parquet(tmp_path / report.output)
    osmetis = found.filter(pl.col("id") == "10027550")
    assert osmetis.select("nom", "ville", "nace_code").rows() == [
        ("OSMETIS LIMITED", "SHEFFIELD", "74990")
    ]


def test_an_id_twice_inside_one_file_is_left_for_the_build_to_stop_on(tmp_path: Path) -> None:
    first = _published(tmp_path / "1.csv", _company("7", "UN"), _company("7", "DEUX"))
    second = _published(tmp_path / "2.csv", _company("7", "TROIS"))

    report = importing.run("uk-basic", [first, second], tmp_path / "out")

    found = pl.read_parquet(tmp_path / "out" / report.output)
    assert found["nom"].to_list() == ["UN", "DEUX", "TROIS"]
    assert report.counts.merged == 0


def test_a_row_without_id_or_name_is_set_apart_with_its_reason(tmp_path: Path) -> None:
    file = _published(
        tmp_path / "b.csv", _company("1"), _company("", "SANS NUMÉRO"), _company("3", "  ")
    )

    report = importing.run("uk-basic", [file], tmp_path / "out")

    assert report.counts.rejected == {"sans identifiant": 1, "sans nom": 1}
    assert report.rejected == "rejected/uk-basic.b.parquet"
    rejected = pl.read_parquet(tmp_path / "out" / "rejected" / "uk-basic.b.parquet")
    assert rejected.rows() == [
        ("b.csv", 2, None, "SANS NUMÉRO", "sans identifiant", None),
        ("b.csv", 3, "3", None, "sans nom", None),
    ]


def test_a_date_that_is_none_keeps_the_row_and_is_counted_with_its_value(tmp_path: Path) -> None:
    file = _published(
        tmp_path / "b.csv",
        _company("1", IncorporationDate="31/02/2005"),
        _company("2", IncorporationDate="2005-02-28"),
        _company("3", IncorporationDate="28/02/2005"),
        _company("4"),
    )

    report = importing.run("uk-basic", [file], tmp_path / "out")

    found = pl.read_parquet(tmp_path / "out" / report.output)
    assert found["date_creation"].to_list() == [None, None, "2005-02-28", None]
    assert report.counts.noted["date illisible"] == 2
    assert report.counts.examples["date illisible"] == ("2005-02-28", "31/02/2005")


def test_an_old_file_in_windows_1252_is_read_and_said_to_be(tmp_path: Path) -> None:
    file = _published(tmp_path / "b.csv", _company("1", "CAFÉ “ÉLAN” LTD"))
    file.write_bytes(file.read_text(encoding="utf-8").encode("cp1252"))

    report = importing.run("uk-basic", [file], tmp_path / "out")

    found = pl.read_parquet(tmp_path / "out" / report.output)
    assert found["nom"].to_list() == ["CAFÉ “ÉLAN” LTD"]
    assert report.counts.noted["b.csv en cp1252"] == 1


def test_the_same_files_again_replace_and_other_files_add(tmp_path: Path) -> None:
    importing.run("uk-basic", [UK], tmp_path)
    output = tmp_path / "companies" / "uk-basic.BasicCompanyData-southyorkshire.parquet"
    before = output.read_bytes()
    importing.run("uk-basic", [UK], tmp_path)
    importing.run("ee", EE, tmp_path)

    assert output.read_bytes() == before
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == [
        "ee.ettevotja_rekvisiidid__lihtandmed.json",
        "ee.ettevotja_rekvisiidid__lihtandmed.parquet",
        "sources.json",
        "uk-basic.BasicCompanyData-southyorkshire.json",
        "uk-basic.BasicCompanyData-southyorkshire.parquet",
    ]


def test_a_mended_file_takes_its_rejected_rows_away(tmp_path: Path) -> None:
    file = _published(tmp_path / "b.csv", _company("1"), _company("", "SANS NUMÉRO"))
    importing.run("uk-basic", [file], tmp_path / "out")
    _published(file, _company("1"), _company("2", "AVEC NUMÉRO"))

    report = importing.run("uk-basic", [file], tmp_path / "out")

    assert report.rejected is None
    assert not list((tmp_path / "out" / "rejected").iterdir())


def test_a_file_already_imported_with_others_is_refused(tmp_path: Path) -> None:
    importing.run("uk-basic", [FILED, UK], tmp_path)

    with pytest.raises(InputError, match="BasicCompanyData-southyorkshire is already in"):
        importing.run("uk-basic", [UK], tmp_path)


def test_a_failed_import_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = _published(tmp_path / "b.csv", _company("1"))
    importing.run("uk-basic", [file], out)
    before = {path: path.read_bytes() for path in out.rglob("*.*")}
    file.write_text(file.read_text(encoding="utf-8") + '"un","champ', encoding="utf-8")

    with pytest.raises(InputError, match=r"b\.csv is damaged"):
        importing.run("uk-basic", [file], out)

    assert {path: path.read_bytes() for path in out.rglob("*.*")} == before


@pytest.mark.parametrize(
    ("source", "name", "content", "message"),
    [
        ("uk", "a.csv", b"", "unknown source 'uk'; known: be-kbo, be-nbb, ch-zefix, "),
        ("uk-basic", "a.csv", b"", "a.csv is empty"),
        ("uk-basic", "a.zip", b"PK but no", "a.zip is no zip"),
        ("uk-accounts", "a.zip", b"PK but no", "a.zip is no zip"),
        ("ee", "b.csv", None, "b.csv: no such file"),
        ("uk-accounts", "b.zip", None, "b.zip: no such file"),
    ],
)
def test_a_wrong_use_is_named_with_its_value(
    tmp_path: Path, source: str, name: str, content: bytes | None, message: str
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(InputError, match=message):
        importing.run(source, [file], tmp_path / "out")


def test_no_file_and_the_same_file_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file to import"):
        importing.run("ee", [], tmp_path)
    with pytest.raises(InputError, match="is given twice"):
        importing.run("ee", [EE[0], EE[0]], tmp_path)


@pytest.mark.parametrize("source", ["ee", "uk-basic", "uk-accounts"])
def test_a_folder_is_said_to_be_one(tmp_path: Path, source: str) -> None:
    (tmp_path / "télé").mkdir()

    with pytest.raises(InputError, match=r"télé is a folder; name the published files in it, as "):
        importing.run(source, [tmp_path / "télé"], tmp_path / "out")


def test_a_zip_without_a_csv_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("LISEZMOI.txt", "rien")

    with pytest.raises(InputError, match=r"a\.zip holds no \.csv"):
        importing.run("ee", [tmp_path / "a.zip"], tmp_path / "out")


@pytest.mark.parametrize(
    ("source", "names", "message"),
    [
        (
            "uk-accounts",
            ["ettevõtjad.csv", "LISEZMOI.txt"],
            r"a\.zip: none of 2 is kept: unknown file name \(2\); is it a file of uk-accounts",
        ),
        ("uk-accounts", [], r"a\.zip holds no file; give a file of this register"),
    ],
)
def test_a_zip_of_which_nothing_is_kept_is_refused(
    tmp_path: Path, source: str, names: list[str], message: str
) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in names:
            archive.writestr(name, "rien")

    with pytest.raises(InputError, match=message):
        importing.run(source, [tmp_path / "a.zip"], tmp_path / "out")

    assert not list((tmp_path / "out").rglob("*.*"))


def test_a_header_without_a_row_and_rows_without_a_name_are_refused(tmp_path: Path) -> None:
    file = _published(tmp_path / "b.csv")
    with pytest.raises(InputError, match=r"b\.csv has no row; download it again"):
        importing.run("uk-basic", [file], tmp_path / "out")

    _published(file, _company("1", ""), _company("", "É"), _company("3", ""))
    with pytest.raises(InputError, match=r"none of 3 is kept: no identifier \(1\), no name"):
        importing.run("uk-basic", [file], tmp_path / "out")


@pytest.mark.parametrize(
    ("source", "files"), [("uk-basic", [FILED, UK]), ("ee", EE), ("uk-accounts", [ACCOUNTS])]
)
def test_every_row_is_kept_dropped_rejected_or_merged(
    tmp_path: Path, source: str, files: list[Path]
) -> None:
    counts = importing.run(source, files, tmp_path).counts

    dropped, rejected = sum(counts.dropped.values()), sum(counts.rejected.values())
    assert counts.read == counts.kept + dropped + rejected + counts.merged


@pytest.mark.parametrize(
    ("source", "files"), [("uk-basic", [FILED, UK]), ("ee", EE), ("uk-accounts", [ACCOUNTS])]
)
def test_the_report_is_printed_in_english(tmp_path: Path, source: str, files: list[Path]) -> None:
    counts = importing.run(source, files, tmp_path).counts

    reasons = {*counts.dropped, *counts.rejected, *counts.noted, *counts.detail}
    same = {reason for reason in reasons if console.english_reason(reason) == reason}
    assert same <= {"SIC 2003", "SIC None Supplied"}


def test_the_report_is_saved_and_says_the_same_as_the_one_returned(tmp_path: Path) -> None:
    report = importing.run("ee", EE, tmp_path)

    saved = json.loads(
        (tmp_path / "imports" / "ee.ettevotja_rekvisiidid__lihtandmed.json").read_text()
    )
    assert saved["comptage"] == json.loads(json.dumps(report.to_dict()["comptage"]))
    assert saved["fichiers"] == [path.name for path in EE]
    assert report.lines()[1] == "  2,665 read, 2,665 kept"


def test_many_parts_still_give_a_name_a_disk_can_hold() -> None:
    parts = [f"BasicCompanyData-2026-11-01-part{n}_7" for n in range(1, 8)]

    name = importing.output_name("uk-basic", parts)

    assert len(name) <= importing.LONGEST_NAME
    assert name == importing.output_name("uk-basic", parts[::-1])
    assert name != importing.output_name("uk-basic", parts[:6])
