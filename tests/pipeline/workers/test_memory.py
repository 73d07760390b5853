"""The default memory limit, and the needs of a country."""

from pathlib import Path

import pytest

from pipeline.workers import processes
from pipeline.workers.processes import COMPANY_BYTES, GIB, PROCESS_BYTES, ROW_BYTES
from shards import host_memory


@pytest.mark.parametrize(
    ("meminfo", "group_limit", "build_and_import"),
    [
        ("MemTotal: 9 kB\nMemAvailable:    8388608 kB\n", "max\n", (4 * GIB, 6 * GIB)),  # no limit
        ("MemAvailable:    8388608 kB\n", f"{4 * GIB}\n", (2 * GIB, 3 * GIB)),
        # An import may take 2 GiB at least.
        ("MemAvailable:    8388608 kB\n", f"{GIB}\n", (GIB // 2, 2 * GIB)),
        ("MemAvailable:    8388608 kB\n", None, (4 * GIB, 6 * GIB)),
        (None, None, (2 * GIB, 3 * GIB)),  # without /proc, 4 GiB are assumed
    ],
)
def test_a_build_takes_half_of_the_available_memory_and_an_import_three_quarters(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    meminfo: str | None,
    group_limit: str | None,
    build_and_import: tuple[int, int],
) -> None:
    """The available memory is that of the machine, or the limit of the process's control group if that is less.

    A unit of systemd has such a limit. An import can take at least 2 GiB.
    """
    group_folder = tmp_path / "fs/system.slice/societes-nightly.service"
    group_folder.mkdir(parents=True)
    own_group = "0::/system.slice/societes-nightly.service\n"
    text_by_file = {
        "meminfo": meminfo,
        "cgroup": own_group,
        str(group_folder / "memory.max"): group_limit,
    }
    for name, text in text_by_file.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    for name, path in (("_MACHINE", "meminfo"), ("_OWN_GROUP", "cgroup"), ("_GROUPS", "fs")):
        monkeypatch.setattr(host_memory, name, tmp_path / path)

    assert (processes.default_memory(), processes.call_memory()) == build_and_import


def test_less_memory_means_fewer_rows_at_once_between_two_bounds() -> None:
    assert processes.batch_rows(32 * GIB) == processes.MOST_ROWS
    assert processes.batch_rows(1) == processes.FEWEST_ROWS
    assert (
        processes.FEWEST_ROWS
        < processes.batch_rows(GIB // 2)
        < processes.batch_rows(GIB)
        < processes.MOST_ROWS
    )


def test_a_country_needs_memory_for_its_companies_and_for_its_rows() -> None:
    # The arguments are the companies, and the most companies that are complete rows at the same time.
    assert processes.needed_bytes(0, 1000) == PROCESS_BYTES
    assert processes.needed_bytes(10, 1000) == PROCESS_BYTES + 10 * (COMPANY_BYTES + ROW_BYTES)
    assert processes.needed_bytes(5000, 1000) == (
        PROCESS_BYTES + 5000 * COMPANY_BYTES + 1000 * ROW_BYTES
    )
