"""`build --dry-run`: what a build would do, written nowhere."""

from pathlib import Path

import pytest

from pipeline.__main__ import main
from tests.pipeline.builds import run
from tests.pipeline.rows import company, two_countries, write


def test_a_dry_run_tells_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    given = two_countries(tmp_path / "a")
    command = ["build", "--out", str(data), "--dry-run", "--input"]

    assert main([*command, str(given)]) == 0
    told = capsys.readouterr().out
    assert "published: nothing" in told
    assert not data.exists()

    run(tmp_path, given)
    before = _files(data)
    write(given, [company("UK", "1", "Œuvre")], name="uk")
    assert main([*command, str(given), "--minimum", "UK=5", "9"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["EE", "2", "2", "unchanged"] in lines
    assert ["UK", "2", "1", "to", "be", "built"] in lines
    assert ["total", "4", "3"] in lines
    closed = [" ".join(line) for line in lines if line[:2] == ["gate", "closed:"]]
    assert closed == [
        "gate closed: UK has 1 companies, the published generation has 2",
        "gate closed: the whole has 3 companies, 9 are the minimum",
        "gate closed: UK has 1 companies, 5 are the minimum",
    ]
    assert _files(data) == before


def _files(data: Path) -> dict[str, tuple[int, int]]:
    found = {str(path): path.stat() for path in data.rglob("*")}
    return {path: (stat.st_mtime_ns, stat.st_size) for path, stat in found.items()}
