"""The modules of `shards/kernel/` uncompiled, beside the compiled ones: two engines from one source."""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

import shards.kernel
import shards.search

_KERNEL: Final = "shards.kernel."
# The modules that bind one of the kernel's, or another of these: they are imported anew with it.
_USERS: Final = (
    "shards.search.generation_arrays",
    "shards.search.kernel_query",
    "shards.search.kernel_session",
    "shards.search.record_joiner",
    "shards.search.search",
    "shards.search.distribution",
    "shards.search.facets",
    "shards.analyses.market",
    "shards.matching.candidate_rows",
    "shards.suggest.suggestions",
)
_FOLDER: Final = Path(next(iter(shards.kernel.__path__)))


class _Sources:
    """Finds the source of a kernel module, where Python would prefer the compiled file."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if not name.startswith(_KERNEL):
            return None
        source = _FOLDER / f"{name.removeprefix(_KERNEL).replace('.', '/')}.py"
        return spec_from_file_location(name, source) if source.exists() else None


def interpreted_modules() -> dict[str, ModuleType]:
    """Modules of `shards.search` over interpreted ones, by name; all other modules stay over compiled ones."""
    for found in pkgutil.walk_packages(shards.search.__path__, "shards.search."):
        importlib.import_module(found.name)
    with _without(lambda name: name.startswith(_KERNEL) or name in _USERS):
        finder = _Sources()
        sys.meta_path.insert(0, finder)
        try:
            return {name: importlib.import_module(name) for name in _USERS}
        finally:
            sys.meta_path.remove(finder)


@contextmanager
def _without(chosen: Callable[[str], bool]) -> Iterator[None]:
    """Forget modules within the block, and have them back after it."""
    kept = {name: module for name, module in sys.modules.items() if chosen(name)}
    parents = {name: sys.modules[name.rpartition(".")[0]] for name in kept}
    for name, parent in parents.items():
        del sys.modules[name]
        delattr(parent, name.rpartition(".")[2])
    try:
        yield
    finally:
        for name in [name for name in sys.modules if chosen(name)]:
            del sys.modules[name]
        sys.modules.update(kept)
        for name, module in kept.items():
            setattr(parents[name], name.rpartition(".")[2], module)
