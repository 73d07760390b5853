"""Sorted runs: lines written piece by piece are read in any order."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.publishing import shard_input

LINES = [f"Société n° {number} {'é' * (number % 7)}".encode() for number in range(50)]


def write_runs(folder: Path, size: int) -> list[shard_input.Run]:
    """Write all lines as runs of `size` lines each."""
    runs: list[shard_input.Run] = []
    for start in range(0, len(LINES), size):
        path = folder / f"{start}.run"
        runs.append(
            shard_input.write_run(path, start, split_into_blocks(LINES[start : start + size]))
        )
    return runs


def split_into_blocks(lines: list[bytes]) -> list[bytes]:
    """Join the lines to blocks of at most `shard_input.BLOCK` lines."""
    return [
        b"".join(line + b"\n" for line in lines[first : first + shard_input.BLOCK])
        for first in range(0, len(lines), shard_input.BLOCK)
    ]


@pytest.mark.parametrize("size", [1, 7, 50])
@pytest.mark.parametrize("block", [1, 3, 4_096])
def test_lines_are_read_in_any_order_of_their_numbers(
    tmp_path: Path, size: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_input, "BLOCK", block)
    runs = write_runs(tmp_path, size)

    @given(st.lists(st.integers(0, len(LINES) - 1)))
    def check_reading_in_order(numbers: list[int]) -> None:
        """Check that the lines with these numbers are read, in this order."""
        lines_read = list(shard_input.read_runs(runs, np.array(numbers, dtype=np.uint32)))

        assert lines_read == [LINES[number] for number in numbers]

    check_reading_in_order()


def test_an_empty_run_gives_no_lines(tmp_path: Path) -> None:
    empty_run = shard_input.write_run(tmp_path / "a", 0, [])
    full_run = shard_input.write_run(tmp_path / "b", empty_run.stop, split_into_blocks(LINES))

    assert (
        list(shard_input.read_runs([empty_run, full_run], np.arange(50, dtype=np.uint32))) == LINES
    )
    assert list(shard_input.read_runs([empty_run], np.empty(0, dtype=np.uint32))) == []
