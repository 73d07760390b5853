"""Pages that are entered are there: the kernel counts no fault when they are touched."""

import mmap
import os
import resource
import sys
from pathlib import Path

import pytest

from serve import mapping

SIZE = (64 << 20) + 5_000  # no whole number of pages

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="madvise of Linux")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "É tö.shard"
    found.write_bytes(os.urandom(1 << 20) * 65)
    os.truncate(found, SIZE)
    return found


def faults(view: mmap.mmap) -> int:
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for at in range(0, len(view), mmap.PAGESIZE):
        view[at]
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    view.madvise(mmap.MADV_RANDOM)  # as LMDB maps: a fault brings one page
    return view


def test_a_page_that_is_entered_costs_no_fault(path: Path) -> None:
    with mapped(path) as untouched, mapped(path) as view:
        assert mapping.enter(path, 0, SIZE) >= 2 * SIZE  # both
        assert faults(view) + faults(untouched) < 20
    with mapped(path) as view:
        assert faults(view) > 20


def test_a_file_that_is_not_mapped_is_left_alone(path: Path) -> None:
    assert mapping.enter(path, 0, SIZE) == 0


def test_only_the_bytes_that_are_asked_for_are_entered(path: Path) -> None:
    with mapped(path) as view:
        assert mapping.enter(path, 4 * mmap.PAGESIZE, 5) == mmap.PAGESIZE
        assert mapping.enter(path, SIZE - SIZE % mmap.PAGESIZE, 1 << 30) == mmap.PAGESIZE
        assert mapping.enter(path, SIZE + mmap.PAGESIZE, 1 << 30) == 0
        assert faults(view) > 20


def test_a_map_that_is_longer_than_its_file_is_entered_as_far_as_there_is_one(path: Path) -> None:
    """As LMDB's: beyond the end of the file there is no page."""
    with path.open("rb+") as file:
        view = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    os.truncate(path, 10_000)
    with view:
        assert mapping.enter(path, 0, SIZE) == 3 * mmap.PAGESIZE
