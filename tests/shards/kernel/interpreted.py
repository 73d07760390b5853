"""The compiled modules of the search engine, interpreted, beside the compiled ones: two engines from one source."""

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

import shards
from tests import ROOT

_KERNEL: Final = "shards.kernel."
# The modules that bind a compiled one, or another of these: they are imported anew with it.
_USERS: Final = (
    "shards.search.generation_arrays",
    "shards.search.kernel_query",
    "shards.search.kernel_session",
    "shards.search.result_page",
    "shards.search.search",
    "shards.search.distribution",
    "shards.analyses.market",
    "shards.matching.candidate_rows",
    "shards.suggest.proposals",
    "shards.suggest.suggestions",
)


def _source(name: str) -> Path | None:
    """The source of a module of the kernel, or of another module with a C header; None for any other."""
    source = ROOT / f"{name.replace('.', '/')}.py"
    engine = name.startswith(_KERNEL) or source.with_suffix(".pxd").exists()
    return source if engine and source.exists() else None


class _Sources:
    """Finds the source of a compiled module, where Python would prefer the compiled file."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        source = _source(name)
        return spec_from_file_location(name, source) if source else None


def interpreted_modules() -> dict[str, ModuleType]:
    """Modules of `shards` over interpreted ones, by name; all other modules stay over compiled ones."""
    for found in pkgutil.walk_packages(shards.__path__, "shards."):
        importlib.import_module(found.name)
    with _without(lambda name: name in _USERS or _source(name) is not None):
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
