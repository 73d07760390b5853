"""The start of a worker: settings of the allocator, and data that is prepared before the first request."""

import asyncio
import ctypes
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from serve.access.call import Request
from serve.access.rights import Caller
from serve.contract import activities
from serve.features.service import operations
from serve.generation.current_generation import CurrentGeneration
from serve.observe.log import RequestTrace
from serve.process import worker
from tests import world
from tests.serve.client import unstarted_context
from tests.world import company


def test_the_allocator_returns_freed_memory_unless_the_operator_sets_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[int, int]] = []  # the option and the value of each call of mallopt(3)
    library = SimpleNamespace(mallopt=lambda option, value: calls.append((option, value)))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    for name, _, _ in worker._ALLOCATOR:
        monkeypatch.setenv(name, "1")  # so that pytest removes it at the end
    for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"):
        monkeypatch.delenv(name)

    worker._tune_allocator()

    # -1 is M_TRIM_THRESHOLD, -3 is M_MMAP_THRESHOLD.
    assert calls == [(-1, 1 << 20), (-3, 1 << 20)]
    assert os.environ["MALLOC_MMAP_THRESHOLD_"] == "1048576"
    assert os.environ["MALLOC_ARENA_MAX"] == "1"


def test_arrays_and_activities_are_prepared_before_the_first_request(tmp_path: Path) -> None:
    activities.activity_index.cache_clear()
    current = CurrentGeneration(tmp_path)
    current.start()
    worker._fill_caches(current)  # no generation: requests return an error
    world.publish(tmp_path, [company("EE", "1", "Łódź OÜ")])
    current.start()

    worker._fill_caches(current)

    assert activities.activity_index.cache_info().currsize == 1
    with current.lease() as generation:
        assert generation.shards._arrays is not None
    current.close()


@pytest.mark.parametrize("warm", [True, False])
def test_the_arrays_of_a_later_generation_are_prepared_before_it_is_served(
    tmp_path: Path, warm: bool
) -> None:
    async def refresh_to_prepared_generation() -> None:
        """Refresh to a generation that a worker prepares; its arrays must have been made when it is served."""
        current = CurrentGeneration(tmp_path)
        world.publish(tmp_path, [company("EE", "1", "Łódź OÜ")])
        current.start()
        current.prepare_with(partial(worker._prepare_next, warm=warm))
        world.publish(tmp_path, [company("EE", "2", "Łódź OÜ")])
        await current.refresh()
        with current.lease() as generation:
            assert generation.shards._arrays is not None
        current.close()

    asyncio.run(refresh_to_prepared_generation())


def test_a_server_is_ready_after_a_minute_although_its_shards_are_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test shortens the minute to 0.05 s"""
    monkeypatch.setattr(worker, "_READING_SECONDS", 0.05)

    async def readiness_before_and_after_wait() -> list[int]:
        """The statuses of /readyz while the worker still holds it back, and 0.2 s later."""
        current = CurrentGeneration(tmp_path)
        world.publish(tmp_path, [company("EE", "1", "Łódź OÜ")])
        current.start()
        worker.StartupReader(current).hold_back()
        context = replace(unstarted_context(), published=current)
        context.holder.start()
        visitor = Caller(context.plans["visiteur"])
        request = Request(context, RequestTrace("", "/"), visitor, "/readyz", context.now())
        statuses = [(await operations.readyz(request)).status]
        await asyncio.sleep(0.2)
        statuses.append((await operations.readyz(request)).status)
        context.holder.close()
        current.close()
        return statuses

    assert asyncio.run(readiness_before_and_after_wait()) == [503, 200]
