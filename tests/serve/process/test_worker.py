"""The settings of the memory allocator at the start of a serving process."""

import ctypes
import os
from types import SimpleNamespace

import pytest

from serve.process import worker


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
