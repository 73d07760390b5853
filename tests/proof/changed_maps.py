"""Changes in shards that a program has open: each search gives an answer or a CorruptError.

    python -m tests.proof.changed_maps --changes 500 --seconds 3600

Each change is a bit, a byte or a number of one value of one table, written into the mapped file. The program then runs
all kinds of queries and restores the bytes. A search reads its arrays before the change (so they were right when they
were checked), after it, or while a thread alternates between the old and the new bytes. A crash ends the program. An
error other than a CorruptError ends it with status 1 and a note that names the change. So does a table that no change
was tried in, without a note.
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
from tests.shards.kernel.test_damage import COMPANIES, QUERIES, THRESHOLDS
from tests.shards.search.test_search import tuning
from tests.shards.shard_edits import value_places
from tests.world import lei, write_shard

TABLES: Final = format.TABLES[1:]  # `meta` is copied when a shard is opened
COUNTRIES: Final = ("EE", "NO")
# When a search reads its arrays, relative to the change; "meanwhile": while a thread alternates the bytes.
MOMENTS: Final = ("before", "after", "meanwhile")
# Lines to match: names with and without an error, an identifier, a VAT number.
LINES: Final = (
    Line(nom="ab cd 3 fitlab 17"), Line(nom="fitlb abcd"), Line(id="0005"), Line(tva="EE100"),
)  # fmt: skip
ACCOUNTS: Final = [
    {"etat": "annexe", "code": code, "libelle": code, "valeur": value, "devise": "EUR",
     "exercice": 2024, "ordre": order}
    for order, (code, value) in enumerate((("Equity", 5.0), ("TotalAssets", 40.0), ("TurnoverRevenue", 80.0)))
]  # fmt: skip

MATCHING_TABLES: Final = (name_tables(), match_weights(), number_notation())

Question = Callable[[], object]


class Change(NamedTuple):
    """A change of some bytes of a value in a shard.

    Attributes:
        file: the number of the shard.
        place: the position of the bytes in the file.
    """

    file: int
    table: bytes
    key: bytes
    place: int
    old: bytes
    new: bytes


def changes(
    paths: Sequence[Path], table: bytes, count: int, chance: random.Random
) -> Iterator[Change]:
    """Yield `count` changes of a table: 1, 4 or 8 bytes of a value become other bytes.

    Each value of the table is equally likely, whatever its length. A table without values has no changes.
    """
    values = [
        (file_number, key, value_start, value_size)
        for file_number, path in enumerate(paths)
        for (name, key), (value_start, value_size) in value_places(path).items()
        if name == table and value_size
    ]
    files = [path.read_bytes() for path in paths]
    for _ in range(count if values else 0):
        file_number, key, value_start, value_size = chance.choice(values)
        width = min(value_size, chance.choice((1, 1, 4, 8)))
        place = value_start + chance.randrange(value_size // width) * width
        old = files[file_number][place : place + width]
        match chance.choice(("bit", "bit", "top", "zero", "random")):
            case "bit":
                new = bytearray(old)
                new[chance.randrange(width)] ^= 1 << chance.randrange(8)
            case "top":  # all bits set
                new = bytearray(b"\xff" * width)
            case "zero":
                new = bytearray(width)
            case _:
                new = bytearray(chance.randbytes(width))
        yield Change(file_number, table, key, place, old, bytes(new))


def questions(base: ShardSet) -> list[Question]:
    """Functions that each read a generation in another way: searches, counts, suggestions, records, matches."""
    first = min(base)
    queries: list[Question] = []
    for query in (
        *QUERIES,
        Query(nace=("62.0",), secteurs=("62",)),
        Query(nace=("62.01",), q="fit"),
    ):
        queries.append(partial(_page_records, base, query))
    for query in QUERIES[:: len(QUERIES) // 6]:
        queries += [
            partial(distribution.count_facets, base, query, limit=20),
            partial(_distributions, base, query),
            partial(_market, base, query),
        ]
    for q in ("a", "fit", "ab c", "4 f", "t"):
        queries += [
            partial(suggestions.companies, base, q, (), 5),
            partial(suggestions.words, base, q, (), 5),
            partial(suggestions.towns, base, q, (), 5),
        ]
    queries += [
        partial(proposals.nearest_texts, base, Query(q=q))
        for q in ("fitlba 5", "cb", "5", "fiitlab")
    ]
    queries += [partial(comparables.comparables, base, first, row, 5) for row in (0, 40, 89)]
    for shard in base.values():
        queries += [partial(_company_values, shard, row) for row in (0, 7, 89)]
    queries += [partial(_matches, base, line) for line in LINES]
    return queries


def _page_records(base: ShardSet, query: Query) -> object:
    """A page and its records, with and without contacts."""
    page = search.search(base, query, offset=0, limit=60)
    return [search.records(base, page.rows, coordonnees=has_right) for has_right in (True, False)]


def _distributions(base: ShardSet, query: Query) -> object:
    """The most frequent values of every dimension."""
    total_and_counts = distribution.distributions(base, query, distribution.DIMENSIONS, UNLIMITED)
    assert total_and_counts
    return [counts.top_values(9) for counts in total_and_counts[1].values()]


def _market(base: ShardSet, query: Query) -> object:
    """The market of a query."""
    return market.figures_of(base, query, newest=2024)


def _matches(base: ShardSet, line: Line) -> object:
    """The candidates of a line."""
    return Matcher(base, *MATCHING_TABLES, activities=activities.classes, coordonnees=True).match(
        line, 5
    )


def _company_values(shard: Shard, row: int) -> object:
    """The values that the routes of a company read: names, rows of its identifiers, accounts, assets and cell."""
    names = [shard.company(row)["nom"], *shard.names([row])]
    answers = [shard.find(f"{row:04}"), shard.rows_by_number(lei(row)), shard.comptes(row)]
    return names, answers, shard.actifs_eur([row]), shard.cell_at(row)


@contextmanager
def _alternating_writes(file: Any, change: Change) -> Iterator[None]:
    """Alternate between the old and the new bytes, as fast as a thread can write, until the block ends."""
    ended = threading.Event()
    place = slice(change.place, change.place + len(change.old))

    def write() -> None:
        """Write the new and the old bytes by turns until the block has ended."""
        while not ended.is_set():
            for _ in range(200):
                file[place] = change.new
                file[place] = change.old

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _ask_questions(base: ShardSet, refused: Counter[bytes], table: bytes) -> None:
    """Ask all questions; count a CorruptError as a refusal of the changed table."""
    for ask in questions(base):
        try:
            ask()
        except CorruptError:
            refused[table] += 1


def try_changes(folder: Path, count: int, until: float, seed: int) -> Counter[bytes]:
    """Try `count` changes of each table, or fewer if the time is up; return the number tried in each table."""
    chance = random.Random(seed)
    paths = [folder / iso2 for iso2 in COUNTRIES]
    tried: Counter[bytes] = Counter()
    refused: Counter[bytes] = Counter()
    with ExitStack() as stack:
        files = []
        for path in paths:
            file = stack.enter_context(path.open("r+b"))
            files.append(stack.enter_context(mmap.mmap(file.fileno(), 0)))
        # The tables take turns, so that each has its share of the time.
        rounds = zip(
            *(_changes_or_none(paths, table, count, chance) for table in TABLES), strict=True
        )
        for change in (item for group in rounds for item in group if item):
            if time.monotonic() > until:
                break
            try:
                _try_change(paths, files, change, MOMENTS[tried[change.table] % 3], refused)
            except Exception as error:
                error.add_note(f"{change}")
                raise
            tried[change.table] += 1
    for table in TABLES:
        sys.stdout.write(
            f"{table.decode():<10}{tried[table]:>8} changes{refused[table]:>9} refusals\n"
        )
    return tried


def _changes_or_none(
    paths: Sequence[Path], table: bytes, count: int, chance: random.Random
) -> list[Change | None]:
    """The changes of a table; `count` times None for a table without values, so that each table has as many."""
    result: list[Change | None] = [*changes(paths, table, count, chance)]
    return result or [None] * count


def _try_change(
    paths: Sequence[Path],
    files: Sequence[Any],
    change: Change,
    moment: str,
    refused: Counter[bytes],
) -> None:
    """Open the shards, ask all questions with the changed bytes, and restore the old bytes.

    `moment` says when the bytes change: "before" (the arrays of the shards are read first), "meanwhile" (old and new
    bytes alternate during the questions), or "after" (the arrays are read from the changed bytes). `refused` counts the
    questions that the shards refuse.
    """
    file, place = files[change.file], slice(change.place, change.place + len(change.old))
    with ExitStack() as stack:
        base = ShardSet()
        for iso2, path in zip(COUNTRIES, paths, strict=True):
            base[iso2] = stack.enter_context(Shard(path))
        stack.callback(base.forget)
        if moment == "meanwhile":
            base.own_session()
            with _alternating_writes(file, change):
                _ask_questions(base, refused, change.table)
            return
        if moment == "before":
            base.own_session()  # reads the arrays of the shards
        try:
            file[place] = change.new
            _ask_questions(base, refused, change.table)
        finally:
            file[place] = change.old


def write_countries(folder: Path) -> None:
    """Write the shards that are changed: two countries, so that searches merge rows."""
    for iso2 in COUNTRIES:
        companies = [
            {**company, "iso2": iso2, "lei": lei(row), "noms_anterieurs": [f"Cd {row}"] if row % 9 == 0 else None}
            for row, company in enumerate(COMPANIES)
        ]  # fmt: skip
        lines = {company["id"]: ACCOUNTS for company in companies if company["a_comptes"]}
        write_shard(folder / iso2, iso2, companies, lines)


def main(arguments: Sequence[str]) -> int:
    """Try changes with the thresholds of small and of large row sets; print the counts.

    Returns 0, or 1 if a table had no change.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--changes",
        type=int,
        default=500,
        help="changes of each table, for small and for large row sets",
    )
    parser.add_argument(
        "--seconds", type=float, default=600.0, help="the longest time for all changes"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    start = time.monotonic()
    sys.setswitchinterval(1e-5)  # so that the writing thread yields soon
    np.seterr(all="ignore")  # damaged numbers may overflow
    tried: Counter[bytes] = Counter()
    for number, thresholds in enumerate(THRESHOLDS):
        with tempfile.TemporaryDirectory() as folder, tuning(thresholds, {}):
            write_countries(Path(folder))
            until = start + options.seconds * (number + 1) / len(THRESHOLDS)
            tried += try_changes(Path(folder), options.changes, until, options.seed + number)
    least = min(tried[table] for table in TABLES)  # a table may be empty with one kind of row sets
    sys.stdout.write(f"{tried.total()} changes, {least} of a table at least\n")
    return 0 if least else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
