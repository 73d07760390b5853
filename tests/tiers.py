"""The tiers of the suite, and the tier of a test.

| target | tests | goal on 2 cores |
|---|---|--:|
| `make quick` | values, and LMDB files in memory (/dev/shm) | 60 s |
| `make check` | also those that start our own servers and commands; lint, types, layers | 2 min |
| `make test` | also imports, builds and nights, and those of other projects' programs | 6 min |
| `pytest -m slow` | those that take long alone: lives of servers, kills, browsers, clusters | CI runs them too |

`make help` shows the times that were measured.

A test module need not say where it belongs: its imports, those of the helpers that it imports, and
the fixtures of its tests do.

- `outside`: it starts a program of another project (a browser, Redis, nginx, LibreOffice …).
- `long`: it imports or builds, or a server of its own begins and ends.
- `server`: it starts a server or a process of ours, or takes as long.
- `slow`: set by hand, on modules that take half a minute or more.
"""

import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Final

from tests import ROOT

# `tests.proof.tools.need` finds programs. A missing one skips the test; in CI it fails it.
OUTSIDE: Final = frozenset({"playwright.sync_api", "tests.proof.tools"})
# Ways to import and build; tests of processes from their start to their end, and those that take as long.
LONG: Final = frozenset({
    "pipeline.__main__", "pipeline.importing", "pipeline.publishing.build", "tests.bench.synth.lexicon",
    "tests.bench.synth.writer", "tests.bench.__main__", "tests.pipeline.nightly.test_fetching",
    "tests.serve.access.test_contacts", "tests.serve.access.test_unavailable",
    "tests.serve.contract.test_activities", "tests.serve.generation.test_current_generation",
    "tests.serve.surfaces.docs.test_examples", "tests.serve.features.export.test_export",
    "tests.serve.features.export.test_worker", "tests.serve.features.export.workbook.test_sheets",
    "tests.serve.features.export.workbook.test_statements", "tests.serve.surfaces.site.test_hostile",
    "tests.serve.http.test_held_loop", "tests.serve.test_products",
    "tests.shards.codec.test_folding", "tests.shards.kernel.test_damage",
    "tests.shards.generations.test_publication", "tests.test_citations", "tests.test_complexity",
})  # fmt: skip
# Ways to start servers and processes, and tests that take as long.
SERVER: Final = frozenset({
    "aiohttp", "http.server", "multiprocessing", "subprocess", "tests.pipeline.stages.test_text_cleaning",
    "tests.serve.features.export.test_tables", "tests.serve.features.export.workbook.test_accounts",
    "tests.shards.kernel.test_candidates", "tests.shards.search.test_facets", "tests.shards.search.test_distribution",
    "tests.shards.mirror.test_mirror", "tests.shards.verify.test_invariants",
})  # fmt: skip
# To parse all modules takes each process of a run a second, these patterns a tenth.
_NO_CODE: Final = re.compile(r'''("""|\'{3}).*?\1|#[^\n]*''', re.DOTALL)
_IMPORT: Final = re.compile(
    r"^ *(?:from ([\w.]+) import (\([^)]*\)|[^\n]+)|import ([^\n]+))", re.MULTILINE
)
LONG_FIXTURES: Final = frozenset({"crowded", "demo_data"})
SERVER_FIXTURES: Final = frozenset({"served"})


def of(path: Path, fixtures: Collection[str]) -> str:
    """The marker of a test in the file `path` that uses these fixtures: "" for the quick tier."""
    used = _used(path)
    if used & OUTSIDE:
        return "outside"
    if used & LONG or LONG_FIXTURES.intersection(fixtures):
        return "long"
    if used & SERVER or SERVER_FIXTURES.intersection(fixtures):
        return "server"
    return ""


@cache
def _used(path: Path) -> frozenset[str]:
    """The modules that a module of the tests imports, itself or through helpers, and itself."""
    used: set[str] = set()
    read: set[Path] = set()
    unread = {path}
    while unread:
        module = unread.pop()
        read.add(module)
        imported = _imported(module)
        used |= imported
        unread |= {helper for name in imported if (helper := _helper(name))} - read
    return frozenset(used)


@cache
def _helper(name: str) -> Path | None:
    """The file of a module of the tests."""
    path = ROOT / f"{name.replace('.', '/')}.py"
    return path if name.startswith("tests.") and path.exists() else None


@cache
def _imported(path: Path) -> frozenset[str]:
    """The modules that a file imports, at any depth, and itself: `from a import b` gives `a` and `a.b`."""
    names: set[str] = set()
    text = _NO_CODE.sub("", path.read_text(encoding="utf-8"))
    for module, listed, plain in _IMPORT.findall(text):
        parts = (listed or plain).strip("()").split(",")
        imported = [part.split()[0] for part in parts if part.strip()]
        names |= {module, *(f"{module}.{name}" for name in imported)} if module else {*imported}
    if path.is_relative_to(ROOT):
        names.add(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return frozenset(names)
