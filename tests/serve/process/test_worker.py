"""The start of a serving process: settings of the allocator, and what is prepared before somebody asks for it."""

import asyncio
import ctypes
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from serve.contract import activities
from serve.generation.current_generation import CurrentGeneration
from serve.process import worker
from tests import world
from tests.world import company


def test_the_allocator_returns_what_is_freed_unless_the_operator_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[tuple[int, int]] = []
    library = SimpleNamespace(mallopt=lambda option, value: said.append((option, value)))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    for name, _, _ in worker._ALLOCATOR:
        monkeypatch.setenv(name, "1")  # so that it is removed at the end
    for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"):
        monkeypatch.delenv(name)

    worker._tune_allocator()

    assert said == [(-1, 1 << 20), (-3, 1 << 20)]
    assert os.environ["MALLOC_MMAP_THRESHOLD_"] == "1048576"
    assert os.environ["MALLOC_ARENA_MAX"] == "1"


def test_arrays_are_gathered_before_the_first_search_unless_there_is_nothing_to_gather(
    tmp_path: Path,
) -> None:
    current = CurrentGeneration(tmp_path)
    current.start()
    worker._gather_arrays(current)  # nothing is published: requests say so
    world.publish(tmp_path, [company("EE", "1", "Łódź OÜ")])
    current.start()

    worker._gather_arrays(current)

    with current.lease() as generation:
        assert generation.shards._arrays is not None
    current.close()


def test_requests_take_turns_often_while_activities_are_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, seen = sys.getswitchinterval(), list[float]()

    def index() -> None:
        seen.append(sys.getswitchinterval())
        raise MemoryError

    monkeypatch.setattr(activities, "activity_index", index)
    with pytest.raises(MemoryError):
        asyncio.run(worker._prepare_first())

    assert seen == [pytest.approx(worker._GIVEN_WAY)]
    assert sys.getswitchinterval() == usual > seen[0]
