"""The output of `inspect`, `list` and `diff`."""

import os
import shutil
from pathlib import Path

import orjson
import pytest

from shards.__main__ import main
from shards.changes.change_file import (
    CHANGED,
    CREATED,
    DELETED,
)
from shards.generations import change_steps
from tests.shards.two_publications import EARLIER, LATER
from tests.world import publish


def test_diff_and_list_show_the_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = publish(tmp_path, EARLIER), publish(tmp_path, LATER)

    assert main(["list", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert f"{second}  published" in output
    assert f"{first}  previous" in output
    assert f"since {first}: 1 supprimees, 1 creees, 1 modifiees" in output
    for has_change_files in (True, False):
        if not has_change_files:
            shutil.rmtree(tmp_path / change_steps.FOLDER)
        assert main(["diff", str(tmp_path), first, second]) == 0
        assert capsys.readouterr().out.splitlines()[1].split() == ["EE", "1", "1", "1"]
        assert main(["diff", str(tmp_path), first, second, "--rows"]) == 0
        assert [orjson.loads(line) for line in capsys.readouterr().out.splitlines()] == [
            {"nature": DELETED, "iso2": "EE", "id": "2"},
            {"nature": CREATED, "iso2": "EE", "id": "3"},
            {"nature": CHANGED, "iso2": "EE", "id": "1", "champs": ["nom", "ca_eur"]},
        ]
    assert main(["diff", str(tmp_path), first, first]) == 1
    assert main(["diff", str(tmp_path), first, "0" * 16]) == 1
    assert capsys.readouterr().err.count("\n") == 2


def test_inspecting_a_truncated_shard_or_a_missing_company_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / publish(tmp_path, EARLIER) / "EE.shard"

    assert main(["inspect", str(path), "--id", "1"]) == 0
    assert main(["inspect", str(path), "--id", "99"]) == 1
    assert "no company '99'" in capsys.readouterr().err
    assert main(["inspect", str(tmp_path), "--id", "1"]) == 1
    assert "--id is for a shard file" in capsys.readouterr().err
    os.truncate(path, 20_000)
    assert main(["inspect", str(path)]) == 1
    assert "has 20000 bytes, the manifest says" in capsys.readouterr().err


def test_inspect_shows_tables_and_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = publish(tmp_path, EARLIER)

    assert main(["inspect", str(tmp_path)]) == 0
    assert main(["inspect", str(tmp_path / name / "EE.shard")]) == 0
    output = capsys.readouterr().out
    assert f"{name} published" in output
    assert "EE, 2 companies" in output
    assert '"nom":"Ännchen OÜ"' in output


def test_inspecting_a_file_that_is_not_a_shard_fails_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").write_bytes(b"x" * 9_000)

    assert main(["inspect", str(tmp_path / "x")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
