"""Shards that change under a program that has them open and searches: it answers, or says that a file is damaged.

    python -m tests.proof.changed_maps --changes 500 --seconds 3600

Each change is a bit, a byte or a number of one value of one table, written into the mapped file; then everything is
asked that can be asked of shards, and the bytes are put back. What a search relies on was read before the change (so
it was right when it was checked), after it, or while a thread writes old and new bytes in turn. A crash ends the
program; an error that is no CorruptError ends it with the status 1 and says which change led there.
"""

import argparse
import mmap
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from serve.contract import activities
from serve.contract.seed_tables import match_weights, name_tables, number_notation
from shards import format
from shards.analyses import comparables, market
from shards.errors import CorruptError
from shards.matching.line import Line
from shards.matching.matcher import Matcher
from shards.query import Query
from shards.reader.shard import Shard
from shards.search import distribution, search
from shards.search.search import UNLIMITED, ShardSet
from shards.suggest import proposals, suggestions
from tests.shards.altered import value_places
from tests.shards.kernel.test_damage import FOUND, QUERIES, THRESHOLDS
from tests.shards.search.test_search import tuned
from tests.world import lei, write_shard

TABLES: Final = format.TABLES[1:]  # `meta` is copied when a shard is opened
COUNTRIES: Final = ("EE", "NO")
MOMENTS: Final = ("before", "after", "meanwhile")
LINES: Final = (
    Line(nom="ab cd 3 fitlab 17"), Line(nom="fitlb abcd"), Line(id="0005"), Line(tva="EE100"),
)  # fmt: skip
ACCOUNTS: Final = [
    {"etat": "annexe", "code": code, "libelle": code, "valeur": value, "devise": "EUR",
     "exercice": 2024, "ordre": order}
    for order, (code, value) in enumerate((("Equity", 5.0), ("TotalAssets", 40.0), ("TurnoverRevenue", 80.0)))
]  # fmt: skip

LEARNT: Final = (name_tables(), match_weights(), number_notation())

Question = Callable[[], object]


class Change(NamedTuple):
    """Bytes of a value of a shard, as they are and as they will be."""

    file: int
    table: bytes
    key: bytes
    place: int
    was: bytes
    becomes: bytes


def changes(
    paths: Sequence[Path], table: bytes, count: int, chance: random.Random
) -> Iterator[Change]:
    """`count` changes of a table; each value of it is as likely as the others, however long."""
    found = [
        (number, key, start, size)
        for number, path in enumerate(paths)
        for (name, key), (start, size) in value_places(path).items()
        if name == table and size
    ]
    files = [path.read_bytes() for path in paths]
    for _ in range(count if found else 0):
        number, key, start, size = chance.choice(found)
        width = min(size, chance.choice((1, 1, 4, 8)))
        place = start + chance.randrange(size // width) * width
        was = files[number][place : place + width]
        match chance.choice(("bit", "bit", "top", "zero", "random")):
            case "bit":
                becomes = bytearray(was)
                becomes[chance.randrange(width)] ^= 1 << chance.randrange(8)
            case "top":
                becomes = bytearray(b"\xff" * width)
            case "zero":
                becomes = bytearray(width)
            case _:
                becomes = bytearray(chance.randbytes(width))
        yield Change(number, table, key, place, was, bytes(becomes))


def questions(base: ShardSet) -> list[Question]:
    """Everything that is asked of a generation, in no particular order."""
    first = min(base)
    asked: list[Question] = []
    for query in (
        *QUERIES,
        Query(nace=("62.0",), secteurs=("62",)),
        Query(nace=("62.01",), q="fit"),
    ):
        asked.append(partial(_page, base, query))
    for query in QUERIES[:: len(QUERIES) // 6]:
        asked += [
            partial(distribution.count_facets, base, query, limit=20),
            partial(_distributions, base, query),
            partial(_market, base, query),
        ]
    for q in ("a", "fit", "ab c", "4 f", "t"):
        asked += [
            partial(suggestions.companies, base, q, (), 5),
            partial(suggestions.words, base, q, (), 5),
            partial(suggestions.towns, base, q, (), 5),
        ]
    asked += [
        partial(proposals.nearest_texts, base, Query(q=q))
        for q in ("fitlba 5", "cb", "5", "fiitlab")
    ]
    asked += [partial(comparables.comparables, base, first, row, 5) for row in (0, 40, 89)]
    for shard in base.values():
        asked += [partial(_shard, shard, row) for row in (0, 7, 89)]
    asked += [partial(_matches, base, line) for line in LINES]
    return asked


def _page(base: ShardSet, query: Query) -> object:
    page = search.search(base, query, offset=0, limit=60)
    return [search.records(base, page.rows, coordonnees=given) for given in (True, False)]


def _distributions(base: ShardSet, query: Query) -> object:
    counted = distribution.distributions(base, query, distribution.DIMENSIONS, UNLIMITED)
    assert counted
    return [one.top_values(9) for one in counted[1].values()]


def _market(base: ShardSet, query: Query) -> object:
    return market.figures_of(base, query, newest=2024)


def _matches(base: ShardSet, line: Line) -> object:
    return Matcher(base, *LEARNT, activities=activities.classes, coordonnees=True).match(line, 5)


def _shard(shard: Shard, row: int) -> object:
    """What the routes of one company ask."""
    names = [shard.company(row)["nom"], *shard.names([row])]
    found = [shard.find(f"{row:04}"), shard.rows_by_number(lei(row)), shard.comptes(row)]
    return names, found, shard.actifs_eur([row]), shard.cell_at(row)


@contextmanager
def _written_in_turn(file: Any, change: Change) -> Iterator[None]:
    """Old and new bytes at a place in turn, as fast as a thread writes, until the block ends."""
    ended = threading.Event()
    place = slice(change.place, change.place + len(change.was))

    def write() -> None:
        while not ended.is_set():
            for _ in range(200):
                file[place] = change.becomes
                file[place] = change.was

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _ask_all(base: ShardSet, refused: Counter[bytes], table: bytes) -> None:
    for ask in questions(base):
        try:
            ask()
        except CorruptError:
            refused[table] += 1


def try_changes(folder: Path, count: int, until: float, seed: int) -> Counter[bytes]:
    """Try `count` changes of each table, or fewer if the time is up; returns how many were tried."""
    chance = random.Random(seed)
    paths = [folder / iso2 for iso2 in COUNTRIES]
    made: Counter[bytes] = Counter()
    refused: Counter[bytes] = Counter()
    with ExitStack() as stack:
        files = []
        for path in paths:
            file = stack.enter_context(path.open("r+b"))
            files.append(stack.enter_context(mmap.mmap(file.fileno(), 0)))
        # One change of each table after the other, so that each has its share of the time.
        rounds = zip(*(_several(paths, table, count, chance) for table in TABLES), strict=True)
        for change in (one for changed in rounds for one in changed if one):
            if time.monotonic() > until:
                break
            try:
                _try(paths, files, change, MOMENTS[made[change.table] % 3], refused)
            except Exception as error:
                error.add_note(f"{change}")
                raise
            made[change.table] += 1
    for table in TABLES:
        sys.stdout.write(
            f"{table.decode():<10}{made[table]:>8} changes{refused[table]:>9} refusals\n"
        )
    return made


def _several(
    paths: Sequence[Path], table: bytes, count: int, chance: random.Random
) -> list[Change | None]:
    found: list[Change | None] = [*changes(paths, table, count, chance)]
    return found or [None] * count


def _try(
    paths: Sequence[Path],
    files: Sequence[Any],
    change: Change,
    moment: str,
    refused: Counter[bytes],
) -> None:
    file, place = files[change.file], slice(change.place, change.place + len(change.was))
    with ExitStack() as stack:
        base = ShardSet()
        for iso2, path in zip(COUNTRIES, paths, strict=True):
            base[iso2] = stack.enter_context(Shard(path))
        stack.callback(base.forget)
        if moment == "meanwhile":
            base.own_session()
            with _written_in_turn(file, change):
                _ask_all(base, refused, change.table)
            return
        if moment == "before":
            base.own_session()
        try:
            file[place] = change.becomes
            _ask_all(base, refused, change.table)
        finally:
            file[place] = change.was


def write_countries(folder: Path) -> None:
    """The shards that are changed: two countries, so that rows are merged."""
    for iso2 in COUNTRIES:
        found = [
            {**one, "iso2": iso2, "lei": lei(row), "noms_anterieurs": [f"Cd {row}"] if row % 9 == 0 else None}
            for row, one in enumerate(FOUND)
        ]  # fmt: skip
        lines = {one["id"]: ACCOUNTS for one in found if one["a_comptes"]}
        write_shard(folder / iso2, iso2, found, lines)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--changes", type=int, default=500, help="of each table, for small and large sets"
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="at most, in all")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    start = time.monotonic()
    sys.setswitchinterval(1e-5)  # a thread that writes gives way at once
    np.seterr(all="ignore")  # figures that are damaged are figures
    made: Counter[bytes] = Counter()
    for number, thresholds in enumerate(THRESHOLDS):
        with tempfile.TemporaryDirectory() as folder, tuned(thresholds, {}):
            write_countries(Path(folder))
            until = start + given.seconds * (number + 1) / len(THRESHOLDS)
            made += try_changes(Path(folder), given.changes, until, given.seed + number)
    least = min(made[table] for table in TABLES)  # small sets leave some tables empty
    sys.stdout.write(f"{made.total()} changes, {least} of a table at least\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
