"""The memory of processes, and their time on a processor."""

import mmap
import subprocess
import sys
import time
from pathlib import Path

from serve.observe import metrics
from serve.observe.metrics import EXPORT, WORKER

MEBIBYTE = 1 << 20
# Says a line once it has taken 64 MiB and 0.3 s of a processor, and ends with its stdin.
BUSY = """
import time
taken = b"x" * (64 << 20)
while time.process_time() < 0.3:
    pass
print(flush=True)
input()
"""


def test_memory_that_is_written_counts_until_it_is_freed() -> None:
    """The memory is mapped, since an allocator may keep what it is given back."""
    before = metrics.measure_processes(())[WORKER].memory
    with mmap.mmap(-1, 64 * MEBIBYTE, flags=mmap.MAP_PRIVATE) as held:
        for at in range(0, len(held), MEBIBYTE):
            held[at : at + MEBIBYTE] = b"x" * MEBIBYTE
        during = metrics.measure_processes(())[WORKER].memory

    assert 60 * MEBIBYTE < during - before < 80 * MEBIBYTE
    assert metrics.measure_processes(())[WORKER].memory < during - 60 * MEBIBYTE


def test_a_mapped_file_is_no_memory_of_a_process(tmp_path: Path) -> None:
    """Shards are mapped files: they are the page cache."""
    (tmp_path / "shard").write_bytes(b"x" * (64 * MEBIBYTE))
    before = metrics.measure_processes(())[WORKER].memory
    with (
        (tmp_path / "shard").open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
    ):
        assert all(mapped[place] == ord("x") for place in range(0, len(mapped), 4_096))
        assert metrics.measure_processes(())[WORKER].memory - before < 8 * MEBIBYTE


def test_an_exporter_counts_while_it_runs_and_its_time_after_that() -> None:
    before = metrics.measure_processes(())[EXPORT]
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        during = metrics.measure_processes([process.pid])[EXPORT]
        process.kill()
    after = metrics.measure_processes([process.pid])[EXPORT]

    assert during.memory > 60 * MEBIBYTE
    assert after.memory == 0
    assert during.processor - before.processor > 0.2
    assert after.processor - before.processor > 0.2


def test_the_time_of_this_process_is_counted_in_seconds() -> None:
    before, begun = metrics.measure_processes(())[WORKER].processor, time.process_time()
    while time.process_time() - begun < 0.2:
        pass

    assert 0.15 < metrics.measure_processes(())[WORKER].processor - before < 2
