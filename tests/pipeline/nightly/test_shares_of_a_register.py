"""Files that are a part of what they were the night before, and files or companies that are there twice."""

import re
import shutil
import zipfile
from pathlib import Path

import pytest

from pipeline.__main__ import main
from tests.pipeline.nightly.test_nightly import published, results
from tests.pipeline.registers import layouts

# Registers whose files have no mark of their own by which a part is told from the whole.
WITHOUT_MARK = ("ee", "ie-cro", "lt-jar", "lv-ur", "cz-res", "ro-onrc", "de-offeneregister")
LAYOUTS = layouts.layouts()
ROWS = 60


def _configured(folder: Path, *sources: str) -> Path:
    text = f"""work = "{folder}/work"
data = "{folder}/data"
sources = [{", ".join(f'"{source}"' for source in sources)}]
slowest = 0
"""
    tables = (f"[source.{source}]\nfetch = false\nmax_rejected = 1.0\n" for source in sources)
    path = folder / "nightly.toml"
    path.write_text(text + "".join(tables), encoding="utf-8")
    return path


def _rows(source: str, count: int) -> dict[str, bytes]:
    """The published files of a source, the first with `count` rows of other numbers."""
    files = dict(LAYOUTS[source].files)
    table = next((t for t in layouts.tables(LAYOUTS[source]) if t.is_main), None)
    name = table.name if table else next(iter(files))
    header, *lines = (
        files[name].splitlines(keepends=True) if table else (b"", *files[name].splitlines(True))
    )
    line = lines[0]
    number = max(re.findall(rb"(?<![0-9.])[0-9]{6,11}(?![0-9])", line), key=len)
    rows = (
        line.replace(number, str(int(number) + place).zfill(len(number)).encode())
        for place in range(count)
    )
    files[name] = header + b"".join(rows)
    return files


def _publish(folder: Path, source: str, files: dict[str, bytes]) -> None:
    raw = folder / "work" / "raw" / source
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir(parents=True)
    for name, text in files.items():
        (raw / name).write_bytes(text)


@pytest.mark.parametrize("source", WITHOUT_MARK)
def test_a_register_that_is_cut_to_its_first_rows_keeps_the_edition_before_and_says_why(
    tmp_path: Path, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _configured(tmp_path, source, "no-enheter")
    _publish(tmp_path, "no-enheter", dict(LAYOUTS["no-enheter"].files))
    _publish(tmp_path, source, _rows(source, ROWS))
    assert main(["nightly", str(config)]) == 0
    before = published(config)
    _publish(tmp_path, source, _rows(source, ROWS * 6 // 10))

    capsys.readouterr()

    main(["nightly", str(config)])

    assert published(config) == before
    assert results(config)[source] == "precedent"
    why = capsys.readouterr().err
    assert "36 rows are kept, 60 were of the edition before" in why


def test_a_company_that_is_twice_in_a_register_fails_that_register_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _configured(tmp_path, "ie-cro", "no-enheter")
    _publish(tmp_path, "no-enheter", dict(LAYOUTS["no-enheter"].files))
    files = _rows("ie-cro", ROWS)
    [(name, text)] = files.items()
    twice = text + text.splitlines(keepends=True)[-1]
    _publish(tmp_path, "ie-cro", {name: twice})

    for _ in range(2):  # the second night finds the import of the first
        assert main(["nightly", str(config)]) == 0

        assert published(config) == {"NO": 6}
        assert "IE: 1 identifiers come more than once" in capsys.readouterr().err
    _publish(tmp_path, "ie-cro", files)
    main(["nightly", str(config)])
    _publish(tmp_path, "ie-cro", {name: twice})
    main(["nightly", str(config)])

    assert published(config) == {"IE": ROWS, "NO": 6}


@pytest.mark.parametrize(
    ("published_as", "damaged_as", "count", "why"),
    [
        (b",Strike Off Listed,", b",Durchgestrichen,", ROWS, "60 of 60 published statuses"),
        (b",Strike Off Listed,", b",Durchgestrichen,", 2, "2 of 60 published statuses"),
        (b"INNOVA-SHIELD LIMITED", b"n/a", 2, "2 of 60 rows rejected (3.3%, at most 1.0%)"),
        (b"INNOVA-SHIELD LIMITED", b"#N/A", 2, "2 of 60 rows rejected (3.3%, at most 1.0%)"),
        (b"ST. MARY'S PLACE", b"John Doe born 12/03/1961", 20, "20 texts of 60 companies"),
        (b"2020-07-15", b"07/15/2020", ROWS, "unreadable date (30)"),
    ],
)
def test_what_would_close_a_gate_of_a_country_fails_its_register_alone(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    published_as: bytes,
    damaged_as: bytes,
    count: int,
    why: str,
) -> None:
    config = _configured(tmp_path, "ie-cro", "no-enheter")
    _publish(tmp_path, "no-enheter", dict(LAYOUTS["no-enheter"].files))
    [(name, text)] = _rows("ie-cro", ROWS).items()
    assert published_as in text
    _publish(tmp_path, "ie-cro", {name: text.replace(published_as, damaged_as, count)})

    assert main(["nightly", str(config)]) == 0

    assert published(config) == {"NO": 6}
    assert why in capsys.readouterr().err


def test_numbers_that_a_spreadsheet_has_written_fail_their_register_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _configured(tmp_path, "ee", "no-enheter")
    _publish(tmp_path, "no-enheter", dict(LAYOUTS["no-enheter"].files))
    files = {
        name: re.sub(rb";(\d\d)(\d{3})(\d{3});", rb";\1,\2,\3;", text)
        for name, text in _rows("ee", ROWS).items()
    }
    _publish(tmp_path, "ee", files)

    assert main(["nightly", str(config)]) == 0

    assert published(config) == {"NO": 6}
    assert "60 of 60 identifiers are not of the form of the country" in capsys.readouterr().err


def test_a_day_of_accounts_that_is_there_twice_counts_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _configured(tmp_path, "uk-basic", "uk-accounts")
    _publish(tmp_path, "uk-basic", dict(LAYOUTS["uk-basic"].files))
    with zipfile.ZipFile(tmp_path / "day.zip", "w") as archive:
        for name, text in LAYOUTS["uk-accounts"].files.items():
            archive.writestr(name, text)
    day = (tmp_path / "day.zip").read_bytes()
    names = ("Accounts_Bulk_Data-2024-01-03.zip", "Accounts_Bulk_Data-2024-01-03 (1).zip")
    _publish(tmp_path, "uk-accounts", dict.fromkeys(names, day))

    main(["nightly", str(config)])

    why = capsys.readouterr().err
    assert all(name in why for name in names)
    assert len(list((tmp_path / "work" / "input" / "uk-accounts").glob("*/comptes"))) == 1
