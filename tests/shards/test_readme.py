"""The commands of shards/README.md: each is run on a small data set; an address of another host is only parsed."""

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

import shards
from shards.__main__ import main
from shards.mirror import mirror, source_kinds
from tests.world import company, publish

README: Final = (Path(shards.__file__).parent / "README.md").read_text()
COMMANDS: Final = re.findall(r"^python -m shards (.*?) *(?:#.*)?$", README, re.MULTILINE)
COMPANIES: Final = [company("EE", "1", "Ännchen OÜ"), company("UK", "00944111", "Royal Tool Ltd")]


def test_every_command_of_the_readme_works_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`A`, `B` and `GENERATION` stand for generations; commands with an address of another host are left out."""
    pytest.importorskip("cryptography")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo-data").mkdir()
    data = tmp_path / "demo-data" / "data"
    before, after = publish(data, COMPANIES[:1]), publish(data, COMPANIES)
    names = {"A": before, "B": after, "GENERATION": after}

    executed = []
    for command in COMMANDS:
        if "https://" in command:
            continue
        arguments = [
            re.sub(r"^(A|B)$|GENERATION", lambda m: names[m[0]], word)
            for word in shlex.split(command)
        ]

        assert main(arguments) == 0, capsys.readouterr().err
        executed.append(arguments[0])

    assert set(executed) == {
        "inspect",
        "list",
        "diff",
        "verify",
        "rollback",
        "sync",
        "keygen",
        "sign",
    }


def test_the_addresses_of_the_readme_are_valid_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of each source is its address"""
    addresses = [word for command in COMMANDS for word in command.split() if "://" in word]

    assert addresses
    for address in addresses:
        assert source_kinds.find_source(address, {}).name == address


def test_the_folder_of_mirrored_files_is_that_of_the_format_document() -> None:
    assert (
        f"DATA/{mirror.BLOBS}/<blake3>" in (Path(shards.__file__).parent / "FORMAT.md").read_text()
    )


def test_no_line_of_the_readme_is_longer_than_120_characters() -> None:
    assert [line for line in README.splitlines() if len(line) > 120] == []
