"""Files that change between two reads: the compiled source, interpreted, over arrays that do not say the same twice.

Whatever a mapped array says, no index is outside an array, read or written: an index that was checked is the one that
is used. Interpreted modules raise IndexError where compiled ones would touch other memory.
"""

import random
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from shards import format
from shards.errors import ShardError
from shards.kernel import types
from shards.query import ORDERS, Query, Range
from shards.reader.shard import Shard
from tests.shards.altered import value_places
from tests.shards.kernel.test_damage import ENGINES, FOUND, THRESHOLDS, questions
from tests.shards.search.open_shards import INTERPRETED_MODULES
from tests.shards.search.test_search import tuned
from tests.world import write_shard

COUNTRIES: Final = ("EE", "NO")
ROUNDS: Final = 6
# Arrays that `shards/search/generation_arrays.py` has copied, so that nothing changes them.
COPIED: Final = {
    "cell_marks",
    "cell_stops",
    "pair_cells",
    "run_marks",
    "record_chunks",
    "record_sizes",
}
MAPPED_RUNS: Final = {types.FORME, types.VILLE, types.NACE}


class Restless:
    """An array of a file that changes: now and then a read finds another number."""

    def __init__(self, held: memoryview, chance: random.Random, rate: float) -> None:
        self._held, self._chance, self._rate = held, chance, rate
        self._bits = 8 * held.itemsize
        self._signed = held.format in "hiq"
        self._real = held.format == "d"

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self._held):
            raise IndexError(f"{index} of {len(self._held)}")
        if self._real or self._chance.random() >= self._rate:
            return self._held[index]
        near = self._chance.choice(
            (0, 1, self._held[index] + 1, 2 * len(self._held), 2**self._bits - 1)
        )
        return near & (2 ** (self._bits - self._signed) - 1)


def unsettle(shard: types.ShardArrays, chance: random.Random, rate: float) -> None:
    """Let every array that is mapped change while it is read."""
    for name in type(shard).__annotations__:
        held = getattr(shard, name)
        if name in COPIED:
            continue
        if isinstance(held, memoryview):
            setattr(shard, name, Restless(held, chance, rate))
        elif isinstance(held, list) and held and isinstance(held[0], memoryview):
            changed = [
                Restless(one, chance, rate) if name != "run_ends" or i in MAPPED_RUNS else one
                for i, one in enumerate(held)
            ]
            setattr(shard, name, changed)


@contextmanager
def opened(folder: Path, modules: Any) -> Iterator[Any]:
    """Two countries, so that rows are merged."""
    base = modules["shards.search.search"].ShardSet()
    for iso2 in COUNTRIES:
        found: list[Any] = [{**one, "iso2": iso2} for one in FOUND]
        write_shard(folder / iso2, iso2, found)
        base[iso2] = Shard(folder / iso2)
    yield base
    base.forget()
    for shard in base.values():
        shard.close()


def judged(ask: Callable[[], object]) -> None:
    """Ask, and let no error of an index inside the compiled source pass, whatever it was turned into."""
    try:
        ask()
    except (ShardError, LookupError, ValueError) as error:
        cause: BaseException = error.__cause__ or error
        where = traceback.extract_tb(cause.__traceback__)[-1]
        outside = "shards/kernel" in where.filename or where.name == "__getitem__"
        if outside and not isinstance(cause, ShardError):
            raise AssertionError("an index is outside its array") from cause


@pytest.mark.parametrize("rate", [0.001, 0.02])
@pytest.mark.parametrize("thresholds", THRESHOLDS, ids=["small", "large"])
def test_no_index_is_read_twice_from_the_map(
    thresholds: dict[tuple[Any, str], Any], rate: float, tmp_path: Path
) -> None:
    chance = random.Random(7)
    with tuned(thresholds, {}), opened(tmp_path, INTERPRETED_MODULES) as base:
        for shard in base.own_session().arrays.record.shards:
            unsettle(shard, chance, rate)
        for _ in range(ROUNDS):
            for ask in questions(INTERPRETED_MODULES, base):
                judged(ask)
            for tri in ORDERS:
                judged(lambda tri=tri: _page(base, Query(tri=tri)))  # type: ignore[misc]


def _page(base: Any, query: Query) -> object:
    return INTERPRETED_MODULES["shards.search.search"].search(base, query, offset=0, limit=150)


@pytest.mark.parametrize("number", [0xFFFFFFFF, 0x7FFFFFFF, 91, 0])
@pytest.mark.parametrize("engine", ENGINES, ids=["interpreted", "compiled"])
def test_activities_of_cells_that_change_under_an_open_shard_move_no_slot(
    engine: Any, number: int, tmp_path: Path
) -> None:
    """Before: a search read and wrote outside its working memory"""
    with opened(tmp_path, engine) as base:
        searching = engine["shards.search.search"]
        counting = engine["shards.search.distribution"]

        def asked() -> object:
            counted = counting.distributions(base, Query(villes=("t1",)), ("nace",), float("inf"))
            query = Query(nace=("62.01",), ranges=(Range("effectif", 2),))
            page = searching.search(base, query, offset=0, limit=9)
            return counted[1]["nace"].top_values(), page.total

        whole = asked()
        start, size = value_places(tmp_path / "EE")[format.CODE, b"nace.cells"]
        with (tmp_path / "EE").open("r+b") as file:
            file.seek(start)
            file.write(number.to_bytes(4, "little") * (size // 4))

        assert asked() == whole
