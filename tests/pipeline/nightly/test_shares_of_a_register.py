"""Files with a part of the earlier file's rows, and files or companies that occur twice."""

import re
import shutil
import zipfile
from pathlib import Path

import pytest

from pipeline.__main__ import main
from tests.pipeline.nightly.test_nightly import published_counts, source_results
from tests.pipeline.registers import layouts

# Registers whose files do not show whether they are complete, so only a loss of rows shows that a file was cut.
WITHOUT_END = ("ee", "ie-cro", "lt-jar", "lv-ur", "cz-res", "ro-onrc", "de-offeneregister")
LAYOUTS = layouts.layouts_by_source()
ROW_COUNT = 60  # of a written file
GOOD_COUNTS = {"NO": 6}  # the companies of `no-enheter`, the good register of a night


def _write_config(folder: Path, *sources: str) -> Path:
    """Write the configuration of a night with these sources, whose files the test places itself; returns its path."""
    text = f"""work = "{folder}/work"
data = "{folder}/data"
sources = [{", ".join(f'"{source}"' for source in sources)}]
slowest = 0
"""
    tables = (f"[source.{source}]\nfetch = false\nmax_rejected = 1.0\n" for source in sources)
    path = folder / "nightly.toml"
    path.write_text(text + "".join(tables), encoding="utf-8")
    return path


def _files_of_rows(source: str, count: int) -> dict[str, bytes]:
    """The files of a source, the main one with `count` copies of its first row under consecutive numbers."""
    files = dict(LAYOUTS[source].files)
    table = next((table for table in layouts.csv_tables(LAYOUTS[source]) if table.is_main), None)
    name = table.name if table else next(iter(files))
    header, *lines = (
        files[name].splitlines(keepends=True) if table else (b"", *files[name].splitlines(True))
    )
    first_row = lines[0]
    identifier = max(re.findall(rb"(?<![0-9.])[0-9]{6,11}(?![0-9])", first_row), key=len)
    rows = (
        first_row.replace(identifier, str(int(identifier) + offset).zfill(len(identifier)).encode())
        for offset in range(count)
    )
    files[name] = header + b"".join(rows)
    return files


def _place_files(folder: Path, source: str, files: dict[str, bytes]) -> None:
    """Replace the raw files of a source in `folder`, the folder of a night, by `files` (name to content)."""
    raw = folder / "work" / "raw" / source
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir(parents=True)
    for name, text in files.items():
        (raw / name).write_bytes(text)


@pytest.mark.parametrize("source", WITHOUT_END)
def test_a_register_that_is_cut_to_its_first_rows_is_refused_and_keeps_the_earlier_edition(
    tmp_path: Path, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _write_config(tmp_path, source, "no-enheter")
    _place_files(tmp_path, "no-enheter", dict(LAYOUTS["no-enheter"].files))
    _place_files(tmp_path, source, _files_of_rows(source, ROW_COUNT))
    assert main(["nightly", str(config)]) == 0
    before = published_counts(config)
    # 36 of 60 rows, less than the 90 % that a night requires.
    _place_files(tmp_path, source, _files_of_rows(source, ROW_COUNT * 6 // 10))
    capsys.readouterr()

    main(["nightly", str(config)])

    assert published_counts(config) == before
    assert source_results(config)[source] == "precedent"
    printed = capsys.readouterr().err
    assert "36 rows are kept, the edition before had 60" in printed


def test_a_company_that_is_twice_in_a_register_fails_that_register_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _write_config(tmp_path, "ie-cro", "no-enheter")
    _place_files(tmp_path, "no-enheter", dict(LAYOUTS["no-enheter"].files))
    files = _files_of_rows("ie-cro", ROW_COUNT)
    [(name, text)] = files.items()
    text_with_copy = text + text.splitlines(keepends=True)[-1]
    _place_files(tmp_path, "ie-cro", {name: text_with_copy})

    for _ in range(2):  # the second night reuses the import of the first
        assert main(["nightly", str(config)]) == 0

        assert published_counts(config) == GOOD_COUNTS
        assert "IE: 1 identifiers come more than once" in capsys.readouterr().err
    # After an accepted edition, the faulty one is refused and the accepted one stays.
    _place_files(tmp_path, "ie-cro", files)
    main(["nightly", str(config)])
    _place_files(tmp_path, "ie-cro", {name: text_with_copy})
    main(["nightly", str(config)])

    assert published_counts(config) == {"IE": ROW_COUNT} | GOOD_COUNTS


@pytest.mark.parametrize(
    ("published_as", "damaged_as", "count", "message"),
    [
        (b",Strike Off Listed,", b",Durchgestrichen,", ROW_COUNT, "60 of 60 published statuses"),
        (b",Strike Off Listed,", b",Durchgestrichen,", 2, "2 of 60 published statuses"),
        (b"INNOVA-SHIELD LIMITED", b"n/a", 2, "2 of 60 rows rejected (3.3%, at most 1.0%)"),
        (b"INNOVA-SHIELD LIMITED", b"#N/A", 2, "2 of 60 rows rejected (3.3%, at most 1.0%)"),
        (b"ST. MARY'S PLACE", b"John Doe born 12/03/1961", 20, "20 texts of 60 companies"),
        # Each row has this date twice, so 60 replacements change 30 rows.
        (b"2020-07-15", b"07/15/2020", ROW_COUNT, "unreadable date (30)"),
    ],
)
def test_an_edition_that_would_close_a_gate_fails_its_register_alone(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    published_as: bytes,
    damaged_as: bytes,
    count: int,
    message: str,
) -> None:
    """A gate is a condition of publication for the whole generation; only the register that breaks it is left out."""
    config = _write_config(tmp_path, "ie-cro", "no-enheter")
    _place_files(tmp_path, "no-enheter", dict(LAYOUTS["no-enheter"].files))
    [(name, text)] = _files_of_rows("ie-cro", ROW_COUNT).items()
    assert published_as in text
    _place_files(tmp_path, "ie-cro", {name: text.replace(published_as, damaged_as, count)})

    assert main(["nightly", str(config)]) == 0

    assert published_counts(config) == GOOD_COUNTS
    assert message in capsys.readouterr().err


def test_identifiers_with_the_thousands_separators_of_a_spreadsheet_fail_their_register_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _write_config(tmp_path, "ee", "no-enheter")
    _place_files(tmp_path, "no-enheter", dict(LAYOUTS["no-enheter"].files))
    files = {
        name: re.sub(rb";(\d\d)(\d{3})(\d{3});", rb";\1,\2,\3;", text)
        for name, text in _files_of_rows("ee", ROW_COUNT).items()
    }
    _place_files(tmp_path, "ee", files)

    assert main(["nightly", str(config)]) == 0

    assert published_counts(config) == GOOD_COUNTS
    assert "60 of 60 identifiers do not have the format of the country" in capsys.readouterr().err


def test_a_day_of_accounts_under_two_names_is_imported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _write_config(tmp_path, "uk-basic", "uk-accounts")
    _place_files(tmp_path, "uk-basic", dict(LAYOUTS["uk-basic"].files))
    with zipfile.ZipFile(tmp_path / "day.zip", "w") as archive:
        for name, text in LAYOUTS["uk-accounts"].files.items():
            archive.writestr(name, text)
    day = (tmp_path / "day.zip").read_bytes()
    names = ("Accounts_Bulk_Data-2024-01-03.zip", "Accounts_Bulk_Data-2024-01-03 (1).zip")
    _place_files(tmp_path, "uk-accounts", dict.fromkeys(names, day))

    main(["nightly", str(config)])

    printed = capsys.readouterr().err
    assert all(name in printed for name in names)
    assert len(list((tmp_path / "work" / "input" / "uk-accounts").glob("*/comptes"))) == 1
