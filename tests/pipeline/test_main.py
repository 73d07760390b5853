"""The command line: output, exit codes, errors in one line."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.__main__ import main
from pipeline.publishing import country, plan
from pipeline.publishing.plan import BuildOptions
from shards.generations import pointer
from tests.pipeline.rows import (
    companies_frame,
    company,
    statement_line,
    statements_frame,
    write_input,
    write_two_countries,
)


def test_a_build_prints_its_report_and_its_generation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_input(tmp_path / "in", [company("EE", "1", "Ä"), company("GB", "1", "Ö")])

    code = main(["build", "--input", str(source), "--out", str(tmp_path / "data"), "--jobs", "1"])

    printed = capsys.readouterr()
    assert code == 0
    lines = printed.out.splitlines()
    assert [text[:5].strip() for text in lines[:4]] == ["iso2", "EE", "UK", "total"]
    assert lines[-1].startswith(f"published {pointer.current_name(tmp_path / 'data')} in ")
    assert printed.err == ""


def test_an_error_is_one_line_that_names_the_value_and_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_input(tmp_path / "in", [company("EE", "1", "Ä"), company("EE", "1", "Ö")])

    code = main(["build", "--input", str(source), "--out", str(tmp_path / "data")])

    printed = capsys.readouterr().err
    assert code == 1
    assert printed.count("\n") == 1
    assert printed.startswith("error: EE: 1 identifiers come more than once: 1 (2 times in part")


def _cut_in_half(content: bytes) -> bytes:
    """The first half of a file."""
    return content[: len(content) // 2]


def _damage_schema(content: bytes) -> bytes:
    """Put a character that base64 does not have into the schema of a Parquet file."""
    before, key, after = content.partition(b"ARROW:schema")
    return before + key + after.replace(b"/", b"!", 1)


def _damage_text(content: bytes) -> bytes:
    """Replace the name Õismäe by bytes that are not UTF-8."""
    return content.replace("Õismäe".encode(), b"\xff" * 8)


@pytest.mark.parametrize("damage", [lambda _: b"", _cut_in_half, _damage_schema, _damage_text])
@pytest.mark.parametrize("table", ["companies", "comptes"])
def test_a_damaged_file_is_named_in_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    table: str,
    damage: Callable[[bytes], bytes],
) -> None:
    row = company("EE", "2", "Õismäe") if table == "companies" else statement_line("EE", "1", 2020)
    frame = (
        companies_frame(row)
        if table == "companies"
        else statements_frame(row | {"libelle": "Õismäe"})
    )
    source = write_input(
        tmp_path / "in", [company("EE", "1", "Ä")], [statement_line("EE", "1", 2021)]
    )
    bad = source / table / "autre.parquet"
    frame.sink_parquet(bad, compression="uncompressed", statistics=False)
    content = bad.read_bytes()
    bad.write_bytes(damage(content))

    code = main(["build", "--input", str(source), "--out", str(tmp_path / "data")])

    assert bad.read_bytes() != content
    printed = capsys.readouterr().err
    assert code == 1
    assert printed.count("\n") == 1
    assert printed.startswith(f"error: {bad} cannot be read: ")
    assert printed.endswith("; import it again\n")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["build"],
        ["build", "--input", "in"],
        ["build", "--input", "in", "--out", "d", "--jobs", "0"],
        ["build", "--input", "in", "--out", "d", "--jobs", "x"],
        ["build", "--input", "in", "--out", "d", "--memory", "0"],
        ["build", "--input", "in", "--out", "d", "--memory", "x"],
        ["build", "--input", "in", "--out", "d", "--memory", "inf"],
        ["build", "--input", "in", "--out", "d", "--memory", "nan"],
        ["build", "--input", "in", "--out", "d", "--max-rejected", "2"],
        ["build", "--input", "in", "--out", "d", "--max-rejected", "nan"],
        ["build", "--input", "in", "--out", "d", "--pays", ","],
        ["build", "--input", "in", "--out", "d", "--inconnu"],
        ["build", "--inp", "in", "--out", "d"],
        ["import", "ee", "a.csv", "--ou", "d"],
        ["--hel"],
        ["import", "rien", "f", "--out", "d"],
        ["import", "ee", "--out", "d"],
    ],
)
def test_wrong_use_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)

    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pays", "EE,ZZ"], "argument --pays: unknown country ZZ; known: AT, BE, "),
        (["--minimum", "qq=1"], "argument --minimum: unknown country QQ; known: AT, BE, "),
        (["--minimum", "5", "=5"], "argument --minimum: '=5' is not a number of companies; write "),
        (["--minimum", " =5"], "argument --minimum: ' =5' is not a number of companies; write "),
        (
            ["--cluster", "foo"],
            "argument --cluster: 'foo' is not an address of a scheduler; write tcp:",
        ),
        (["--cluster", "10.0.0.1:8786"], "argument --cluster: '10.0.0.1:8786' is not an address"),
        (["--cluster", "tcp://erde"], "argument --cluster: 'tcp://erde' is not an address"),
        (
            ["--cluster", "tcp://erde:99999"],
            "argument --cluster: 'tcp://erde:99999' is not an address",
        ),
        (["--cluster", "http://erde:1"], "argument --cluster: 'http://erde:1' is not an address"),
        (
            ["--minimum", "UK=1", "5", "gb=2"],
            "argument --minimum: UK has several minimums; give one",
        ),
        (
            ["--minimum", "5", "--minimum", "6"],
            "argument --minimum: the total has several minimums; give one",
        ),
        (["--minimum", "UK="], "argument --minimum: 'UK=' is not a number of companies; write "),
    ],
)
def test_a_wrong_value_is_named_before_anything_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    source = write_input(tmp_path / "in", [company("EE", "1", "Ä")])

    with pytest.raises(SystemExit) as caught:
        main(["build", "--input", str(source), "--out", str(tmp_path / "data"), *arguments])

    assert caught.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("command", "example"),
    [([], "build"), (["import"], "import"), (["build"], "build")],
)
def test_help_has_an_example(
    command: list[str], example: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*command, "--help"])

    assert caught.value.code == 0
    assert f"example: python -m pipeline {example} " in capsys.readouterr().out


@pytest.mark.parametrize(
    "address", ["tcp://10.0.0.1:8786", "tls://über-erde.example:8786", "tcp://[::1]:8786"]
)
def test_a_valid_address_of_a_scheduler_reaches_the_build_options(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[BuildOptions] = []

    def record_options(options: BuildOptions) -> Iterator[str]:
        planned.append(options)
        yield "noted"

    monkeypatch.setattr(plan, "forecast", record_options)

    assert main(["build", "--dry-run", "--input", "a", "--out", "b", "--cluster", address]) == 0

    assert [options.cluster for options in planned] == [address]


def test_an_interrupted_build_publishes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    source = write_input(tmp_path / "in", [company("EE", "1", "Ä")])
    monkeypatch.setattr(country, "build", raise_interrupt)

    code = main(["build", "--input", str(source), "--out", str(tmp_path / "data")])

    assert code == 1
    assert capsys.readouterr().err == "error: interrupted; what was published stays\n"
    assert list((tmp_path / "data").iterdir()) == []


def test_a_failed_import_prints_one_line_of_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["import", "ee", str(tmp_path / "absent.csv"), "--out", str(tmp_path / "in")])

    assert code == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_options_set_the_minimum_of_companies_and_the_number_of_kept_generations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    command = ["build", "--out", str(data), "--jobs", "1", "--input"]

    assert main([*command, str(write_two_countries(tmp_path / "a")), "--minimum", "GB=3"]) == 1
    assert "UK has 2 companies, fewer than the minimum of 3" in capsys.readouterr().err
    for word in ("É", "Œ", "Ü"):
        assert main([*command, str(write_two_countries(tmp_path / word, word)), "--keep", "3"]) == 0
    assert "unchanged, taken from the published generation: EE" in capsys.readouterr().out
    current = pointer.read(data)
    assert current is not None
    assert len(current.generations) == 3
    for wrong_option in (["--minimum", "beaucoup"], ["--keep", "1"]):
        with pytest.raises(SystemExit):
            main([*command, str(tmp_path / "É"), *wrong_option])
