"""The tiers of the suite, and the tier of a test.

| target | tests | time on 2 cores |
|---|---|--:|
| `make quick` | values, and LMDB files in memory (/dev/shm) | < 60 s |
| `make check` | also those that start our own servers, commands and builds; lint, types, layers | < 4 min |
| `make test` | all, with programs of other projects and the proofs of crash safety | see `make help` |

A test module need not say where it belongs: its imports and the fixtures of its tests do.

- `outside`: it starts a program of the system (a browser, Redis, nginx, LibreOffice …).
- `server`: it starts a server, a process or a whole build of ours.
- `slow`: set by hand, on proofs that take minutes.
"""

import ast
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests import ROOT

# Modules that start programs of other projects. A missing program skips the test (in CI: fails it).
OUTSIDE: Final = frozenset({
    "playwright.sync_api", "tests.proof.tools", "tests.quota.servers", "tests.serve.nginx",
    "tests.serve.pages.browser",
})  # fmt: skip
# Modules that start servers, processes and builds of this project.
SERVER: Final = frozenset({
    "http.server", "multiprocessing", "pipeline.__main__", "pipeline.importing", "subprocess",
    "tests.bench.__main__", "tests.demo", "tests.pipeline.dask", "tests.pipeline.inputs",
    "tests.pipeline.synth.made", "tests.serve.client", "tests.serve.exports",
    "tests.serve.mcp.client", "tests.serve.pages.visitor", "tests.serve.processes",
})  # fmt: skip
SERVER_FIXTURES: Final = frozenset({"demo_data", "served"})


def of(path: Path, fixtures: Collection[str]) -> str:
    """The marker of a test in the file `path` that uses these fixtures: "" for the quick tier."""
    used = _used(path)
    if used & OUTSIDE:
        return "outside"
    if used & SERVER or SERVER_FIXTURES.intersection(fixtures):
        return "server"
    return ""


@cache
def _used(path: Path) -> frozenset[str]:
    """The modules that a module imports, and itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {name for node in ast.walk(tree) for name in _names(node)}
    if path.is_relative_to(ROOT):
        names.add(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return frozenset(names)


def _names(node: ast.AST) -> Iterator[str]:
    """`import a.b` gives `a.b`; `from a import b` gives `a` and `a.b`."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
