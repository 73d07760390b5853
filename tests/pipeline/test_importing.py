"""An import counts every row, leaves no half-written output, and refuses unknown columns and files."""

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
# Published files, or excerpts of them; the two British files of companies have five companies in common.
UK_FILE = RAW / "uk" / "BasicCompanyData-southyorkshire.zip"
UK_SAMPLE_FILE = RAW / "uk" / "BasicCompanyData-accounts-sample.zip"
ACCOUNTS_FILE = RAW / "uk" / "Accounts_Bulk_Data-sample.zip"
EE_FILES = sorted((RAW / "ee").glob("*.zip"))

DECLARATION = Path(registers.__file__).parent / "uk-basic.toml"
LAYOUT = declaration.read(DECLARATION).files["BasicCompanyData"]
# The columns that the declaration expects.
HEADER = [*sorted(LAYOUT.used), *sorted(LAYOUT.ignored)]


def _write_basic_data(path: Path, *rows: dict[str, str], header: list[str] | None = None) -> Path:
    """A BasicCompanyData file of these companies, every value quoted and CRLF."""
    columns = header or HEADER
    lines = [",".join(f" {name}" for name in columns)]
    for row in rows:
        values = [row.get(name, "").replace('"', '""') for name in columns]
        lines.append(",".join(f'"{value}"' for value in values))
    path.write_text("\r\n".join([*lines, ""]), encoding="utf-8", newline="")
    return path


def _uk_row(number: str, name: str = "MÉTAUX & FILS LTD", **fields: str) -> dict[str, str]:
    """A row of a BasicCompanyData file."""
    return {"CompanyNumber": number, "CompanyName": name} | fields


def test_a_new_column_is_refused_by_name(tmp_path: Path) -> None:
    file = _write_basic_data(tmp_path / "b.csv", _uk_row("1"), header=[*HEADER, "SICCode2026"])

    with pytest.raises(InputError, match=r"b\.csv .*unknown column 'SICCode2026'"):
        importing.run("uk-basic", [file], tmp_path / "out")


@pytest.mark.parametrize("column", ["CompanyStatus", "URI"])
def test_a_column_that_is_gone_is_refused_by_name(tmp_path: Path, column: str) -> None:
    header = [name for name in HEADER if name != column]
    file = _write_basic_data(tmp_path / "b.csv", _uk_row("1"), header=header)

    with pytest.raises(InputError, match=rf"b\.csv .*expected column '{column}' is missing"):
        importing.run("uk-basic", [file], tmp_path / "out")


def test_a_column_that_is_there_twice_is_refused_by_name(tmp_path: Path) -> None:
    file = _write_basic_data(tmp_path / "b.csv", _uk_row("1"), header=[*HEADER, "URI"])

    with pytest.raises(InputError, match=r"column 'URI' is there twice"):
        importing.run("uk-basic", [file], tmp_path / "out")


def test_columns_are_found_by_name_whatever_their_place(tmp_path: Path) -> None:
    file = _write_basic_data(tmp_path / "b.csv", _uk_row("SC1", "ŻABKA"), header=HEADER[::-1])

    importing.run("uk-basic", [file], tmp_path / "out")

    companies = pl.read_parquet(tmp_path / "out" / "companies" / "uk-basic.b.parquet")
    assert companies.select("id", "nom").rows() == [("SC000001", "ŻABKA")]


def test_a_company_of_two_files_is_merged_and_the_last_file_wins(tmp_path: Path) -> None:
    first = _write_basic_data(tmp_path / "1.csv", _uk_row("7", "PREMIER"), _uk_row("8"))
    second = _write_basic_data(
        tmp_path / "2.csv",
        _uk_row("9"),
        _uk_row("7", "SECOND", CompanyStatus="Active", IncorporationDate="14/04/2005"),
    )

    report = importing.run("uk-basic", [first, second], tmp_path / "out")

    companies = pl.read_parquet(tmp_path / "out" / report.output)
    assert companies.select("id", "nom", "statut", "date_creation").rows() == [
        ("00000008", "MÉTAUX & FILS LTD", None, None),
        ("00000009", "MÉTAUX & FILS LTD", None, None),
        ("00000007", "SECOND", "Active", "2005-04-14"),
    ]
    assert (report.counts.read, report.counts.kept, report.counts.merged) == (4, 3, 1)


def test_the_five_companies_that_two_published_files_share_are_merged(tmp_path: Path) -> None:
    report = importing.run("uk-basic", [UK_SAMPLE_FILE, UK_FILE], tmp_path)

    assert report.counts.merged == 5
    companies = pl.read_parquet(tmp_path / report.output)
    merged_company = companies.filter(pl.col("id") == "10027550")  # one of the five
    assert merged_company.select("nom", "ville", "nace_code").rows() == [
        ("OSMETIS LIMITED", "SHEFFIELD", "74990")
    ]


def test_an_import_keeps_an_id_that_is_twice_in_one_file_because_the_build_refuses_it(
    tmp_path: Path,
) -> None:
    first = _write_basic_data(tmp_path / "1.csv", _uk_row("7", "UN"), _uk_row("7", "DEUX"))
    second = _write_basic_data(tmp_path / "2.csv", _uk_row("7", "TROIS"))

    report = importing.run("uk-basic", [first, second], tmp_path / "out")

    companies = pl.read_parquet(tmp_path / "out" / report.output)
    assert companies["nom"].to_list() == ["UN", "DEUX", "TROIS"]
    assert report.counts.merged == 0


def test_a_row_without_id_or_name_is_written_to_the_rejected_rows_with_a_reason(
    tmp_path: Path,
) -> None:
    file = _write_basic_data(
        tmp_path / "b.csv", _uk_row("1"), _uk_row("", "SANS NUMÉRO"), _uk_row("3", "  ")
    )

    report = importing.run("uk-basic", [file], tmp_path / "out")

    assert report.counts.rejected == {"sans identifiant": 1, "sans nom": 1}
    assert report.rejected == "rejected/uk-basic.b.parquet"
    rejected = pl.read_parquet(tmp_path / "out" / "rejected" / "uk-basic.b.parquet")
    assert rejected.rows() == [
        ("b.csv", 2, None, "SANS NUMÉRO", "sans identifiant", None),
        ("b.csv", 3, "00000003", None, "sans nom", None),
    ]


def test_an_unreadable_date_is_null_and_counted_with_examples_and_its_row_stays(
    tmp_path: Path,
) -> None:
    file = _write_basic_data(
        tmp_path / "b.csv",
        _uk_row("1", IncorporationDate="31/02/2005"),
        _uk_row("2", IncorporationDate="2005-02-28"),
        _uk_row("3", IncorporationDate="28/02/2005"),
        _uk_row("4"),
    )

    report = importing.run("uk-basic", [file], tmp_path / "out")

    companies = pl.read_parquet(tmp_path / "out" / report.output)
    assert companies["date_creation"].to_list() == [None, None, "2005-02-28", None]
    assert report.counts.noted["date illisible"] == 2
    assert report.counts.examples["date illisible"] == ("2005-02-28", "31/02/2005")


def test_a_file_in_windows_1252_is_read_and_noted(tmp_path: Path) -> None:
    file = _write_basic_data(
        tmp_path / "b.csv",
        _uk_row("1", "CAFÉ “ÉLAN” LTD"),
        _uk_row("2", "CAFÉ LTD"),
        _uk_row("3", "CAFE LTD"),
    )
    file.write_bytes(file.read_text(encoding="utf-8").encode("cp1252"))

    report = importing.run("uk-basic", [file], tmp_path / "out")

    companies = pl.read_parquet(tmp_path / "out" / report.output)
    assert companies["nom"].to_list() == ["CAFÉ “ÉLAN” LTD", "CAFÉ LTD", "CAFE LTD"]
    assert report.counts.noted["b.csv en cp1252"] == 2


def test_a_repeated_import_replaces_its_output_and_another_register_adds_files(
    tmp_path: Path,
) -> None:
    importing.run("uk-basic", [UK_FILE], tmp_path)
    output = tmp_path / "companies" / "uk-basic.BasicCompanyData-southyorkshire.parquet"
    before = output.read_bytes()
    importing.run("uk-basic", [UK_FILE], tmp_path)
    importing.run("ee", EE_FILES, tmp_path)

    assert output.read_bytes() == before
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == [
        "ee.ettevotja_rekvisiidid__lihtandmed.json",
        "ee.ettevotja_rekvisiidid__lihtandmed.parquet",
        "sources.json",
        "uk-basic.BasicCompanyData-southyorkshire.json",
        "uk-basic.BasicCompanyData-southyorkshire.parquet",
    ]


def test_an_import_of_the_corrected_file_deletes_the_file_of_rejected_rows(tmp_path: Path) -> None:
    file = _write_basic_data(tmp_path / "b.csv", _uk_row("1"), _uk_row("", "SANS NUMÉRO"))
    importing.run("uk-basic", [file], tmp_path / "out")
    _write_basic_data(file, _uk_row("1"), _uk_row("2", "AVEC NUMÉRO"))

    report = importing.run("uk-basic", [file], tmp_path / "out")

    assert report.rejected is None
    assert not list((tmp_path / "out" / "rejected").iterdir())


def test_a_file_already_imported_with_others_is_refused(tmp_path: Path) -> None:
    importing.run("uk-basic", [UK_SAMPLE_FILE, UK_FILE], tmp_path)

    with pytest.raises(InputError, match="BasicCompanyData-southyorkshire is already in"):
        importing.run("uk-basic", [UK_FILE], tmp_path)


def test_a_failed_import_leaves_the_earlier_import_unchanged(tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = _write_basic_data(tmp_path / "b.csv", _uk_row("1"))
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
        ("uk-basic", "a.zip", b"PK but no", "a.zip is not a zip"),
        ("uk-accounts", "a.zip", b"PK but no", "a.zip is not a zip"),
        ("ee", "b.csv", None, "b.csv: no such file"),
        ("uk-accounts", "b.zip", None, "b.zip: no such file"),
    ],
)
def test_an_unknown_source_and_an_unusable_file_are_named(
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
        importing.run("ee", [EE_FILES[0], EE_FILES[0]], tmp_path)


@pytest.mark.parametrize("source", ["ee", "uk-basic", "uk-accounts"])
def test_a_folder_given_as_a_file_is_refused_with_a_hint(tmp_path: Path, source: str) -> None:
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
def test_a_zip_without_a_usable_file_is_refused(
    tmp_path: Path, source: str, names: list[str], message: str
) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in names:
            archive.writestr(name, "rien")

    with pytest.raises(InputError, match=message):
        importing.run(source, [tmp_path / "a.zip"], tmp_path / "out")

    assert not list((tmp_path / "out").rglob("*.*"))


def test_a_file_without_a_usable_row_is_refused(tmp_path: Path) -> None:
    file = _write_basic_data(tmp_path / "b.csv")
    with pytest.raises(InputError, match=r"b\.csv has no row; download it again"):
        importing.run("uk-basic", [file], tmp_path / "out")

    _write_basic_data(file, _uk_row("1", ""), _uk_row("", "É"), _uk_row("3", ""))
    with pytest.raises(InputError, match=r"none of 3 is kept: no identifier \(1\), no name"):
        importing.run("uk-basic", [file], tmp_path / "out")


@pytest.mark.parametrize(
    ("source", "files"),
    [("uk-basic", [UK_SAMPLE_FILE, UK_FILE]), ("ee", EE_FILES), ("uk-accounts", [ACCOUNTS_FILE])],
)
def test_every_row_is_kept_dropped_rejected_or_merged(
    tmp_path: Path, source: str, files: list[Path]
) -> None:
    counts = importing.run(source, files, tmp_path).counts

    dropped, rejected = sum(counts.dropped.values()), sum(counts.rejected.values())
    assert counts.read == counts.kept + dropped + rejected + counts.merged


@pytest.mark.parametrize(
    ("source", "files"),
    [("uk-basic", [UK_SAMPLE_FILE, UK_FILE]), ("ee", EE_FILES), ("uk-accounts", [ACCOUNTS_FILE])],
)
def test_the_report_is_printed_in_english(tmp_path: Path, source: str, files: list[Path]) -> None:
    counts = importing.run(source, files, tmp_path).counts

    reasons = {*counts.dropped, *counts.rejected, *counts.noted, *counts.detail}
    untranslated = {reason for reason in reasons if console.english_reason(reason) == reason}
    assert untranslated <= {"SIC 2003", "SIC None Supplied"}


def test_the_saved_report_equals_the_returned_report(tmp_path: Path) -> None:
    report = importing.run("ee", EE_FILES, tmp_path)

    stored_report = json.loads(
        (tmp_path / "imports" / "ee.ettevotja_rekvisiidid__lihtandmed.json").read_text()
    )
    assert stored_report["comptage"] == json.loads(json.dumps(report.to_dict()["comptage"]))
    assert stored_report["fichiers"] == [path.name for path in EE_FILES]
    assert report.lines()[1] == "  2,665 read, 2,665 kept"


def test_the_output_name_of_many_files_is_short_enough_for_a_disk() -> None:
    parts = [f"BasicCompanyData-2026-11-01-part{number}_7" for number in range(1, 8)]

    name = importing.output_name("uk-basic", parts)

    assert len(name) <= importing.MOST_NAME_BYTES
    assert name == importing.output_name("uk-basic", parts[::-1])
    assert name != importing.output_name("uk-basic", parts[:6])
