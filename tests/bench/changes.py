"""`python -m tests.bench.changes DATA`: what happened to the companies that a search finds, over two steps (X8).

Companies of the data are changed twice, so that the second step meets the first one at most of them. Times are of the
processor, in milliseconds: of the first question about these steps, of the first about another search, and of a page.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from shards.changes.change_block import StoredChange
from shards.changes.change_file import CHANGED, ChangeFile, ChangeWriter
from shards.changes.net_changes import KINDS, CompanyMemo, NetChanges, find
from shards.generations import generation_files, pointer
from shards.query import Query, Range
from shards.search import filters
from shards.search.filters import Filter
from shards.search.reader.shard import Shard

T = TypeVar("T")

_SEARCHES: Final = {
    "active companies": Query(etats=("active",)),
    "turnover of a million and more": Query(ranges=(Range("ca_eur", 1e6),)),
    "`q=ser`": Query(q="ser"),
}
_PAGE: Final = 1_000


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.changes")
    parser.add_argument("data", metavar="DATA", type=Path)
    parser.add_argument("--changes", metavar="N", type=int, default=50_000, help="in each step")
    options = parser.parse_args(arguments)
    generation = generation_files.load(options.data, pointer.require(options.data).generation)
    shard = max(generation.shards.values(), key=lambda one: one.rows)
    with tempfile.TemporaryDirectory() as folder:
        files = _write(Path(folder), shard, min(options.changes, shard.rows))
        memo = CompanyMemo()
        print("| what | processor ms |\n| --- | --: |")
        _, took = _timed(lambda: memo.companies_of(files))
        print(f"| the companies of both steps, once | {took:.1f} |")
        for name, query in _SEARCHES.items():
            wanted = filters.filters(query)
            found, took = _timed(partial(_find, memo, files, wanted))
            counts = {kind: len(found.kinds[kind]) for kind in KINDS}
            print(f"| {name}: {counts} | {took:.1f} |")
            _, took = _timed(partial(_page, found))
            print(f"| a page of {_PAGE} of these | {took:.1f} |", flush=True)
        for file in files:
            file.close()
    generation.close()


def _find(memo: CompanyMemo, files: Sequence[ChangeFile], wanted: Sequence[Filter]) -> NetChanges:
    return find(files, memo.companies_of(files), wanted)


def _page(found: NetChanges) -> object:
    return found.read(max(KINDS, key=lambda kind: len(found.kinds[kind])), 0, _PAGE)


def _write(folder: Path, shard: Shard, count: int) -> list[ChangeFile]:
    """Two files of changes of the first companies by identifier; some of the second take the first back."""
    companies = [shard.company(row) for row in range(count)]
    found = sorted(zip(companies, range(count), strict=True), key=lambda one: str(one[0]["id"]))
    writers = [ChangeWriter(folder / f"{step}.changes", shard.iso2) for step in range(2)]
    for number, (company, row) in enumerate(found):
        states: list[dict[str, Any]] = [company]
        for step in range(2):
            euros = (states[-1]["ca_eur"] or 0.0) + 1e5 * (1 - 2 * (step and number % 9 == 0))
            states.append({**states[-1], "ca_eur": euros, "score": number % 100 + step})
        for writer, was, becomes in zip(writers, states, states[1:], strict=False):
            details = {name: (was[name], becomes[name]) for name in ("ca_eur", "score")}
            before, after = (filters.values(shard, row, one) for one in (was, becomes))
            writer.add(CHANGED, company["id"], StoredChange(before, after, details))
    for writer in writers:
        writer.close()
    return [ChangeFile(folder / f"{step}.changes") for step in range(2)]


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()
    made = call()
    return made, 1e3 * (time.process_time() - start)


if __name__ == "__main__":
    main(sys.argv[1:])
