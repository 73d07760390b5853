"""The start of a serving process: settings of the allocator, and what is prepared before somebody asks for it."""

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


def test_arrays_and_activities_are_there_before_the_first_request(tmp_path: Path) -> None:
    activities.activity_index.cache_clear()
    current = CurrentGeneration(tmp_path)
    current.start()
    worker._prepare(current)  # nothing is published: requests say so
    world.publish(tmp_path, [company("EE", "1", "Łódź OÜ")])
    current.start()

    worker._prepare(current)

    assert activities.activity_index.cache_info().currsize == 1
    with current.lease() as generation:
        assert generation.shards._arrays is not None
    current.close()


@pytest.mark.parametrize("warm", [True, False])
def test_the_arrays_of_a_later_generation_are_gathered_before_it_is_served(
    tmp_path: Path, warm: bool
) -> None:
    async def scenario() -> None:
        current = CurrentGeneration(tmp_path)
        world.publish(tmp_path, [company("EE", "1", "Łódź OÜ")])
        current.start()
        current.prepare_with(partial(worker._prepare_next, warm=warm))
        world.publish(tmp_path, [company("EE", "2", "Łódź OÜ")])
        await current.refresh()
        with current.lease() as generation:
            assert generation.shards._arrays is not None
        current.close()

    asyncio.run(scenario())


def test_a_server_is_ready_after_a_minute_though_it_is_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_READING_SECONDS", 0.05)

    async def scenario() -> list[int]:
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

    assert asyncio.run(scenario()) == [503, 200]
