"""The default memory limit, and the needs of a country."""

from pathlib import Path

import pytest

from pipeline.workers import memory
from pipeline.workers.memory import GIB


@pytest.mark.parametrize(
    ("machine", "container", "expected"),
    [
        ("MemTotal: 9 kB\nMemAvailable:    8388608 kB\n", "max\n", 4 * GIB),
        ("MemAvailable:    8388608 kB\n", f"{3 * GIB}\n", 1.5 * GIB),
        ("MemAvailable:    8388608 kB\n", None, 4 * GIB),
        (None, None, 2 * GIB),
    ],
)
def test_the_default_is_half_of_what_is_available(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    machine: str | None,
    container: str | None,
    expected: float,
) -> None:
    for name, text in (("_MACHINE", machine), ("_CONTAINER", container)):
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        monkeypatch.setattr(memory, name, path)

    assert memory.default_limit() == expected


def test_less_memory_means_fewer_rows_at_once_within_limits() -> None:
    assert memory.batch_rows(32 * GIB) == memory.MOST_ROWS
    assert memory.batch_rows(1) == memory.FEWEST_ROWS
    assert (
        memory.FEWEST_ROWS < memory.batch_rows(GIB // 2) < memory.batch_rows(GIB) < memory.MOST_ROWS
    )


def test_a_country_needs_memory_for_its_companies_and_for_its_rows() -> None:
    assert memory.needed_bytes(0, 1000) == memory.PROCESS
    assert memory.needed_bytes(10, 1000) == memory.PROCESS + 10 * (memory.COMPANY + memory.ROW)
    assert memory.needed_bytes(5000, 1000) == (
        memory.PROCESS + 5000 * memory.COMPANY + 1000 * memory.ROW
    )
