"""Sorted runs: lines written piece by piece are read in any order."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.publishing import shard_input

LINES = [f"Société n° {number} {'é' * (number % 7)}".encode() for number in range(50)]


def written(folder: Path, size: int) -> list[shard_input.Run]:
    found: list[shard_input.Run] = []
    for start in range(0, len(LINES), size):
        path = folder / f"{start}.run"
        found.append(shard_input.write_run(path, start, blocks(LINES[start : start + size])))
    return found


def blocks(lines: list[bytes]) -> list[bytes]:
    return [
        b"".join(line + b"\n" for line in lines[first : first + shard_input.BLOCK])
        for first in range(0, len(lines), shard_input.BLOCK)
    ]


@pytest.mark.parametrize("size", [1, 7, 50])
@pytest.mark.parametrize("block", [1, 3, 4_096])
def test_lines_are_read_in_the_order_asked_for(
    tmp_path: Path, size: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_input, "BLOCK", block)
    found = written(tmp_path, size)

    @given(st.lists(st.integers(0, len(LINES) - 1)))
    def hold(numbers: list[int]) -> None:
        read = list(shard_input.read_runs(found, np.array(numbers, dtype=np.uint32)))

        assert read == [LINES[number] for number in numbers]

    hold()


def test_an_empty_run_is_read_as_nothing(tmp_path: Path) -> None:
    empty = shard_input.write_run(tmp_path / "a", 0, [])
    whole = shard_input.write_run(tmp_path / "b", empty.stop, blocks(LINES))

    assert list(shard_input.read_runs([empty, whole], np.arange(50, dtype=np.uint32))) == LINES
    assert list(shard_input.read_runs([empty], np.empty(0, dtype=np.uint32))) == []
