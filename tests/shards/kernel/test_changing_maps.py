"""Files that change between two reads: interpreted modules of the kernel over arrays whose numbers change.

Whatever numbers a mapped array has, no read or write is outside an array: the index that was checked is the index that
is used. Interpreted modules raise IndexError where compiled modules would access other memory.
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
from tests.shards.kernel.test_damage import COMPANIES, ENGINES, THRESHOLDS, shard_calls
from tests.shards.search.open_shards import INTERPRETED_MODULES
from tests.shards.search.test_search import tuning
from tests.shards.shard_edits import value_places
from tests.world import write_shard

COUNTRIES: Final = ("EE", "NO")
ROUNDS: Final = 6
# Arrays that `shards/search/generation_arrays.py` has copied. They do not change with the file.
COPIED: Final = {
    "cell_marks",
    "cell_stops",
    "pair_cells",
    "run_marks",
    "record_chunks",
    "record_sizes",
}
# The columns of codes whose `run_ends` are read from the file.
MAPPED_RUNS: Final = {types.FORME, types.VILLE, types.NACE}


class ChangingArray:
    """An array of a file that changes: some reads return another number."""

    def __init__(self, array: memoryview, chance: random.Random, rate: float) -> None:
        self._array, self._chance, self._rate = array, chance, rate
        self._bits = 8 * array.itemsize
        self._signed = array.format in "hiq"  # signed integers of 2, 4 and 8 bytes
        self._is_float = array.format == "d"

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: int) -> Any:
        """The stored number, or at random 0, 1, the stored number plus 1, or a number that is out of range."""
        if not 0 <= index < len(self._array):
            raise IndexError(f"{index} of {len(self._array)}")
        if self._is_float or self._chance.random() >= self._rate:
            return self._array[index]
        changed_number = self._chance.choice(
            (0, 1, self._array[index] + 1, 2 * len(self._array), 2**self._bits - 1)
        )
        return changed_number & (2 ** (self._bits - self._signed) - 1)


def make_changing(shard: types.ShardArrays, chance: random.Random, rate: float) -> None:
    """Replace each array that is read from the mapped file by one that changes while it is read, as the file might.

    `rate` is the share of reads of integers that return another number.
    """
    for name in type(shard).__annotations__:
        array = getattr(shard, name)
        if name in COPIED:
            continue
        if isinstance(array, memoryview):
            setattr(shard, name, ChangingArray(array, chance, rate))
        elif isinstance(array, list) and array and isinstance(array[0], memoryview):
            # Some `run_ends` are copies of the numbers in the file, so they stay the same when the file changes.
            changing_parts = [
                ChangingArray(part, chance, rate)
                if name != "run_ends" or i in MAPPED_RUNS
                else part
                for i, part in enumerate(array)
            ]
            setattr(shard, name, changing_parts)


@contextmanager
def open_countries(folder: Path, modules: Any) -> Iterator[Any]:
    """Open two countries with the same companies, so that a search merges rows of two shards."""
    base = modules["shards.search.search"].ShardSet()
    for iso2 in COUNTRIES:
        dataset: list[Any] = [{**entry, "iso2": iso2} for entry in COMPANIES]
        write_shard(folder / iso2, iso2, dataset)
        base[iso2] = Shard(folder / iso2)
    yield base
    base.forget()
    for shard in base.values():
        shard.close()


def assert_no_index_error(call: Callable[[], object]) -> None:
    """Call a function. Fail if it used an index outside an array, even if it raised another error for this.

    The kernel runs as Python, and raises ShardError for damage that it notices. Any other error from a line of the
    kernel, or from `__getitem__` of a `ChangingArray`, is an index outside an array.
    """
    try:
        call()
    except (ShardError, LookupError, ValueError) as error:
        cause: BaseException = error.__cause__ or error
        last_frame = traceback.extract_tb(cause.__traceback__)[-1]
        outside = "shards/kernel" in last_frame.filename or last_frame.name == "__getitem__"
        if outside and not isinstance(cause, ShardError):
            raise AssertionError("an index is outside its array") from cause


@pytest.mark.parametrize("rate", [0.001, 0.02])
@pytest.mark.parametrize("thresholds", THRESHOLDS, ids=["small", "large"])
def test_no_index_is_read_twice_from_the_map(
    thresholds: dict[tuple[Any, str], Any], rate: float, tmp_path: Path
) -> None:
    chance = random.Random(7)
    with tuning(thresholds, {}), open_countries(tmp_path, INTERPRETED_MODULES) as base:
        for shard in base.own_session().arrays.record.shards:
            make_changing(shard, chance, rate)
        for _ in range(ROUNDS):
            for call in shard_calls(INTERPRETED_MODULES, base):
                assert_no_index_error(call)
            for tri in ORDERS:
                assert_no_index_error(lambda tri=tri: _page(base, Query(tri=tri)))  # type: ignore[misc]


def _page(base: Any, query: Query) -> object:
    """Search the first 150 rows with the interpreted engine."""
    return INTERPRETED_MODULES["shards.search.search"].search(base, query, offset=0, limit=150)


# The greatest number, the greatest signed number, more than the rows of a country, the least.
@pytest.mark.parametrize("number", [0xFFFFFFFF, 0x7FFFFFFF, 91, 0])
@pytest.mark.parametrize("engine", ENGINES, ids=["interpreted", "compiled"])
def test_activities_of_cells_that_change_while_a_shard_is_open_do_not_change_the_results(
    engine: Any, number: int, tmp_path: Path
) -> None:
    """The first search copies `nace.cells`. An earlier version read and wrote outside the working memory of a search"""
    with open_countries(tmp_path, engine) as base:
        searching = engine["shards.search.search"]
        counting = engine["shards.search.distribution"]

        def counts_and_total() -> object:
            """The counts and the total of two searches that read activities."""
            distribution = counting.distributions(
                base, Query(villes=("t1",)), ("nace",), float("inf")
            )
            query = Query(nace=("62.01",), ranges=(Range("effectif", 2),))
            page = searching.search(base, query, offset=0, limit=9)
            return distribution[1]["nace"].top_values(), page.total

        expected = counts_and_total()
        start, size = value_places(tmp_path / "EE")[format.CODE, b"nace.cells"]
        with (tmp_path / "EE").open("r+b") as file:
            file.seek(start)
            file.write(number.to_bytes(4, "little") * (size // 4))

        assert counts_and_total() == expected
