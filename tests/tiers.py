"""The tiers of the suite, and the tier of a test.

| target | tests | goal on 2 cores |
|---|---|--:|
| `make quick` | values, and LMDB files in memory (/dev/shm) | 60 s |
| `make check` | also tests that start our own servers and commands; lint, types, layers | 2 min |
| `make test` | also imports, builds, nights, and programs of other projects | 6 min |
| `pytest -m slow` | long tests: lives of servers, kills, browsers, clusters | CI runs them too |

`make help` shows the measured times.

A test module does not declare its tier. The tier follows from the imports of the module and of its helpers, and from
the fixtures of its tests.

- `outside`: it starts a program of another project (a browser, Redis, nginx, LibreOffice …).
- `long`: it imports or builds, or starts and stops its own server.
- `server`: it starts one of our servers or processes, or takes as long.
- `slow`: set by hand, on modules that take half a minute or more.
"""

import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Final

from tests import ROOT

# `tests.proof.tools.need` finds programs. A missing program skips the test; in CI it fails the test.
OUTSIDE: Final = frozenset({"playwright.sync_api", "tests.proof.tools"})
# Modules that import and build; tests of processes from start to end, and tests that take as long.
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
# Modules that start servers and processes, and tests that take as long.
SERVER: Final = frozenset({
    "aiohttp", "http.server", "multiprocessing", "subprocess", "tests.pipeline.stages.test_text_cleaning",
    "tests.serve.features.export.test_tables", "tests.serve.features.export.workbook.test_accounts",
    "tests.shards.kernel.test_candidates", "tests.shards.search.test_facets", "tests.shards.search.test_distribution",
    "tests.shards.mirror.test_mirror", "tests.shards.verify.test_invariants",
})  # fmt: skip
# Parsing all modules takes a second in each process of a run, these patterns a tenth of a second.
_NO_CODE: Final = re.compile(r'''("""|\'{3}).*?\1|#[^\n]*''', re.DOTALL)
_IMPORT: Final = re.compile(
    r"^ *(?:from ([\w.]+) import (\([^)]*\)|[^\n]+)|import ([^\n]+))", re.MULTILINE
)
LONG_FIXTURES: Final = frozenset({"crowded", "demo_data"})
SERVER_FIXTURES: Final = frozenset({"server"})


def tier_of(path: Path, fixtures: Collection[str]) -> str:
    """The marker of a test in the file `path` that uses these fixtures: "" for the quick tier."""
    used = _all_imports(path)
    if used & OUTSIDE:
        return "outside"
    if used & LONG or LONG_FIXTURES.intersection(fixtures):
        return "long"
    if used & SERVER or SERVER_FIXTURES.intersection(fixtures):
        return "server"
    return ""


@cache
def _all_imports(path: Path) -> frozenset[str]:
    """The modules that a test module imports, directly or through helpers, and the module itself."""
    used: set[str] = set()
    read: set[Path] = set()
    unread = {path}
    while unread:
        module = unread.pop()
        read.add(module)
        imported = _imports(module)
        used |= imported
        unread |= {helper for name in imported if (helper := _helper(name))} - read
    return frozenset(used)


@cache
def _helper(name: str) -> Path | None:
    """The file of a module of `tests`, by its dotted name; None for other modules."""
    path = ROOT / f"{name.replace('.', '/')}.py"
    return path if name.startswith("tests.") and path.exists() else None


@cache
def _imports(path: Path) -> frozenset[str]:
    """The modules that a file imports, at any indentation, and itself: `from a import b` gives `a` and `a.b`."""
    names: set[str] = set()
    text = _NO_CODE.sub("", path.read_text(encoding="utf-8"))
    for module, listed, plain in _IMPORT.findall(text):
        parts = (listed or plain).strip("()").split(",")
        imported = [part.split()[0] for part in parts if part.strip()]
        names |= {module, *(f"{module}.{name}" for name in imported)} if module else {*imported}
    if path.is_relative_to(ROOT):
        names.add(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return frozenset(names)
