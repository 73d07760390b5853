"""`build --dry-run` prints the plan of a build and writes nothing."""

from pathlib import Path

import pytest

from pipeline.__main__ import main
from tests.pipeline.builds import run_build
from tests.pipeline.rows import company, write_input, write_two_countries


def test_a_dry_run_prints_the_plan_and_the_closed_gates_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A closed gate is a condition, such as a minimum of companies, for which a real build would not publish."""
    data = tmp_path / "data"
    folder = write_two_countries(tmp_path / "a")
    command = ["build", "--out", str(data), "--dry-run", "--input"]

    assert main([*command, str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "published: nothing" in printed
    assert not data.exists()

    run_build(tmp_path, folder)
    before = _times_and_sizes(data)
    write_input(folder, [company("UK", "1", "Œuvre")], name="uk")
    assert main([*command, str(folder), "--minimum", "UK=5", "9"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["EE", "2", "2", "unchanged"] in lines
    assert ["UK", "2", "1", "to", "be", "built"] in lines
    assert ["total", "4", "3"] in lines
    closed_gates = [" ".join(line) for line in lines if line[:2] == ["gate", "closed:"]]
    assert closed_gates == [
        "gate closed: UK has 1 companies, the published generation has 2",
        "gate closed: the whole has 3 companies, fewer than the minimum of 9",
        "gate closed: UK has 1 companies, fewer than the minimum of 5",
    ]
    assert _times_and_sizes(data) == before


def _times_and_sizes(data: Path) -> dict[str, tuple[int, int]]:
    """The time of the last change and the size of each file, by path."""
    stats = {str(path): path.stat() for path in data.rglob("*")}
    return {path: (stat.st_mtime_ns, stat.st_size) for path, stat in stats.items()}
