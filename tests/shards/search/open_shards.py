"""Shards of given companies, open for search."""

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
# The compiled search, and its source as interpreted Python.
ENGINES: Final = {"compiled": search, "interpreted": INTERPRETED}


def module_of(engine: ModuleType, module: ModuleType) -> ModuleType:
    """A module as an engine uses it: the module over compiled modules, or its copy over interpreted modules."""
    return module if engine is search else INTERPRETED_MODULES[module.__name__]


@contextmanager
def open_shard(
    dataset: Sequence[Company], iso2: str = "EE"
) -> Iterator[tuple[Shard, list[Company]]]:
    """The open shard of a country, and the companies of the country by row."""
    with tempfile.TemporaryDirectory() as folder:
        rows = write_shard(Path(folder) / iso2, iso2, dataset)
        with Shard(Path(folder) / iso2) as shard:
            yield shard, rows


class OpenShards:
    """A context in which the companies of a data set are in open shards of all COUNTRIES, in a temporary folder."""

    def __init__(
        self,
        dataset: Sequence[Company],
        comptes: Mapping[tuple[str, str], Any] = MappingProxyType({}),
    ) -> None:
        """Open the companies of `dataset`, with statement lines by country and identifier."""
        self.dataset, self.comptes = dataset, comptes
        self.stack = ExitStack()

    def __enter__(self) -> "OpenShards":
        """Write and open a shard of each country; sets `shards`, and `bases` with the shards for each engine.

        The engines are the compiled modules and the same modules as interpreted Python.
        """
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.shards = ShardSet()
        for iso2 in COUNTRIES:
            lines = {
                key[1]: lines_of_company
                for key, lines_of_company in self.comptes.items()
                if key[0] == iso2
            }
            write_shard(folder / iso2, iso2, self.dataset, lines)
            self.shards[iso2] = self.stack.enter_context(Shard(folder / iso2))
        interpreted = INTERPRETED.ShardSet()
        interpreted.update(self.shards)
        # The open shards for each engine, by the identity of its module.
        self.bases = {id(search): self.shards, id(INTERPRETED): interpreted}
        return self

    def pages(
        self, query: Query, limit: int, engine: Any = search
    ) -> tuple[int, list[tuple[str, str]]]:
        """The total, and the keys (country, identifier) of the companies on all result pages of `limit` rows, in order.

        Checks that each page is as long as the total says; `engine` is the compiled or the interpreted search.
        """
        rows: list[tuple[str, str]] = []
        for offset in range(0, len(self.dataset) + limit, limit):
            page = engine.search(self.bases[id(engine)], query, offset=offset, limit=limit)
            page_rows = [
                (row.iso2, self.shards[row.iso2].company(row.row)["id"]) for row in page.rows
            ]
            assert len(page_rows) == max(0, min(limit, page.total - offset))
            rows += page_rows
        return page.total, rows

    def __exit__(self, *error: Any) -> None:
        self.stack.close()
