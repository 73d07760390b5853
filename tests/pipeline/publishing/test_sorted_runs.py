"""Sorted runs: lines written piece by piece are read in any order."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.publishing import sorted_runs

LINES = [f"Société n° {number} {'é' * (number % 7)}".encode() for number in range(50)]


def written(folder: Path, size: int) -> list[sorted_runs.Run]:
    found: list[sorted_runs.Run] = []
    for start in range(0, len(LINES), size):
        path = folder / f"{start}.run"
        found.append(sorted_runs.write(path, start, blocks(LINES[start : start + size])))
    return found


def blocks(lines: list[bytes]) -> list[bytes]:
    return [
        b"".join(line + b"\n" for line in lines[first : first + sorted_runs.BLOCK])
        for first in range(0, len(lines), sorted_runs.BLOCK)
    ]


@pytest.mark.parametrize("size", [1, 7, 50])
@pytest.mark.parametrize("block", [1, 3, 4_096])
def test_lines_are_read_in_the_order_asked_for(
    tmp_path: Path, size: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorted_runs, "BLOCK", block)
    found = written(tmp_path, size)

    @given(st.lists(st.integers(0, len(LINES) - 1)))
    def hold(numbers: list[int]) -> None:
        read = list(sorted_runs.read(found, np.array(numbers, dtype=np.uint32)))

        assert read == [LINES[number] for number in numbers]

    hold()


def test_an_empty_run_is_read_as_nothing(tmp_path: Path) -> None:
    empty = sorted_runs.write(tmp_path / "a", 0, [])
    whole = sorted_runs.write(tmp_path / "b", empty.stop, blocks(LINES))

    assert list(sorted_runs.read([empty, whole], np.arange(50, dtype=np.uint32))) == LINES
    assert list(sorted_runs.read([empty], np.empty(0, dtype=np.uint32))) == []
