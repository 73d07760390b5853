"""The compiled modules of the search engine as interpreted Python: a second engine from the same source."""

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
# Modules that import a compiled module or a module of this list. A second copy of each imports interpreted modules.
_COPIED: Final = (
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


def _source_path(name: str) -> Path | None:
    """The source of a module of the kernel, or of another module with a C header; None for other modules."""
    source = ROOT / f"{name.replace('.', '/')}.py"
    is_compiled = name.startswith(_KERNEL) or source.with_suffix(".pxd").exists()
    return source if is_compiled and source.exists() else None


class _SourceFinder:
    """Finds the source of a compiled module, where Python would prefer the compiled file."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The source of a compiled module; None for other modules, which Python then finds as usual."""
        source = _source_path(name)
        return spec_from_file_location(name, source) if source else None


def interpreted_modules() -> dict[str, ModuleType]:
    """The second copies of `_COPIED`, which import interpreted modules, by name. `sys.modules` is as before."""
    # Other modules must be imported before, so that they keep the compiled modules.
    for module in pkgutil.walk_packages(shards.__path__, "shards."):
        importlib.import_module(module.name)
    with _forget_modules(lambda name: name in _COPIED or _source_path(name) is not None):
        finder = _SourceFinder()
        sys.meta_path.insert(0, finder)
        try:
            return {name: importlib.import_module(name) for name in _COPIED}
        finally:
            sys.meta_path.remove(finder)


@contextmanager
def _forget_modules(is_removed: Callable[[str], bool]) -> Iterator[None]:
    """Within the block, imports load modules anew: those whose name `is_removed` accepts are not in `sys.modules`.

    After the block, the modules loaded within it are removed and the earlier ones restored, also in their packages.
    """
    removed = {name: module for name, module in sys.modules.items() if is_removed(name)}
    parents = {name: sys.modules[name.rpartition(".")[0]] for name in removed}
    for name, parent in parents.items():
        del sys.modules[name]
        delattr(parent, name.rpartition(".")[2])
    try:
        yield
    finally:
        for name in [name for name in sys.modules if is_removed(name)]:
            del sys.modules[name]
        sys.modules.update(removed)
        for name, module in removed.items():
            setattr(parents[name], name.rpartition(".")[2], module)
