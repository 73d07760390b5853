"""Companies in real shards, open for search."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final

from shards.query import Query
from shards.reader.shard import Shard
from shards.search import search
from shards.search.search import ShardSet
from tests.shards.kernel.interpreted import interpreted_modules
from tests.world import COUNTRIES, Company, write_shard

INTERPRETED_MODULES: Final = interpreted_modules()
INTERPRETED: Final = INTERPRETED_MODULES["shards.search.search"]
# The compiled search, and the same source interpreted.
ENGINES: Final = {"compiled": search, "interpreted": INTERPRETED}


def module_of(engine: ModuleType, module: ModuleType) -> ModuleType:
    """A module over the compiled modules of an engine."""
    return module if engine is search else INTERPRETED_MODULES[module.__name__]


@contextmanager
def open_shard(found: Sequence[Company], iso2: str = "EE") -> Iterator[tuple[Shard, list[Company]]]:
    """The shard of one country, and its companies by row."""
    with tempfile.TemporaryDirectory() as folder:
        rows = write_shard(Path(folder) / iso2, iso2, found)
        with Shard(Path(folder) / iso2) as shard:
            yield shard, rows


class OpenShards:
    """Companies in the shards of all their countries."""

    def __init__(
        self,
        found: Sequence[Company],
        comptes: Mapping[tuple[str, str], Any] = MappingProxyType({}),
    ) -> None:
        """Open `found`, with statement lines by country and identifier."""
        self.found, self.comptes = found, comptes
        self.stack = ExitStack()

    def __enter__(self) -> "OpenShards":
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.shards = ShardSet()
        for iso2 in COUNTRIES:
            lines = {key[1]: found for key, found in self.comptes.items() if key[0] == iso2}
            write_shard(folder / iso2, iso2, self.found, lines)
            self.shards[iso2] = self.stack.enter_context(Shard(folder / iso2))
        interpreted = INTERPRETED.ShardSet()
        interpreted.update(self.shards)
        self.bases = {id(search): self.shards, id(INTERPRETED): interpreted}
        return self

    def pages(
        self, query: Query, limit: int, engine: Any = search
    ) -> tuple[int, list[tuple[str, str]]]:
        """The total, and the companies of all pages that may be asked for, one after the other."""
        rows: list[tuple[str, str]] = []
        for offset in range(0, len(self.found) + limit, limit):
            page = engine.search(self.bases[id(engine)], query, offset=offset, limit=limit)
            found = [(r.iso2, self.shards[r.iso2].company(r.row)["id"]) for r in page.rows]
            assert len(found) == max(0, min(limit, page.total - offset))
            rows += found
        return page.total, rows

    def __exit__(self, *error: Any) -> None:
        self.stack.close()
