"""Holds an open shard to every invariant of FORMAT.md §9, the slow and sure way.

A digest says that a file is the one that was built; this says that it was built right. Run by
`python -m shards verify` and by tests, never on the way of a request.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shards import format, orders
from shards.errors import CorruptError
from shards.generations import Generation
from shards.orders import COLUMN_OF, Rows
from shards.query import ORDERS
from shards.reader import Shard
from shards.record import FIELDS
from shards.text import fold, fold_id


def verify(generation: Generation) -> None:
    """Check every shard of `generation`, and the counts of `reference.json` against them.

    Raises:
        CorruptError: naming the file and what is wrong with it.
    """
    for iso2, shard in generation.shards.items():
        check(shard)
        counted = {
            (cell.secteur, cell.sous_secteur): cell.n for cell in generation.reference.counts[iso2]
        }
        held = {(cell.secteur, cell.sous_secteur): cell.stop - cell.start for cell in shard.cells}
        if counted != held:
            raise CorruptError(
                f"{shard.path}: its cells are not those that reference.json counts; "
                "build or fetch the generation again"
            )


def check(shard: Shard) -> None:
    """Check one shard by itself.

    Raises:
        CorruptError: naming the first thing that is wrong with it.
    """
    for fault in _faults(shard):
        raise CorruptError(f"{shard.path}: {fault}; build or fetch the generation again")


def _faults(shard: Shard) -> Iterator[str]:
    yield from _table_faults(shard)
    yield from _cell_faults(shard)
    for tri in ORDERS:
        yield from _order_faults(shard, tri)
    yield from _row_faults(shard)
    yield from _word_faults(shard)


def _table_faults(shard: Shard) -> Iterator[str]:
    for name in format.COLUMNS:
        if len(shard.column(name)) != shard.rows:
            yield f"column {name} has {len(shard.column(name))} values for {shard.rows} rows"
    if shard.entries(format.RECORD) != shard.rows:
        yield f"{shard.entries(format.RECORD)} records for {shard.rows} rows"
    if any(int.from_bytes(key, "big") >= shard.rows for key, _ in shard.items(format.COMPTES)):
        yield "there are statements of a row that does not exist"
    if len(shard.names) != shard.rows or len(shard.idents.rows) != shard.rows:
        yield f"{len(shard.names)} names, {len(shard.idents.rows)} identifiers, {shard.rows} rows"


def _cell_faults(shard: Shard) -> Iterator[str]:
    """Cells follow each other from row 0 to the last, turnover descending in each."""
    end, cell_of, ca_eur = 0, shard.column("cell"), shard.column("ca_eur")
    for index, cell in enumerate(shard.cells):
        if not end == cell.start <= cell.with_ca <= cell.stop or cell.start == cell.stop:
            yield f"cell {cell.place} covers rows {cell.start} to {cell.stop}, {end} was next"
        if (cell_of[cell.start : cell.stop] != index).any():
            yield f"a row of cell {cell.place} says that it is in another one"
        key = orders.keys("ca_desc", ca_eur[cell.start : cell.stop])
        if (np.diff(key[: cell.with_ca - cell.start]) < 0).any():
            yield f"turnovers of cell {cell.place} do not descend"
        if np.isfinite(key[cell.with_ca - cell.start :]).any():
            yield f"cell {cell.place} has a turnover after row {cell.with_ca}"
        end = cell.stop
    if end != shard.rows:
        yield f"the cells end at row {end} of {shard.rows}"


def _order_faults(shard: Shard, tri: str) -> Iterator[str]:
    """An order is a permutation, ascending in its key; rank is its inverse; lists are its heads."""
    order, rank = shard.order(tri), shard.rank(tri)
    if not np.array_equal(np.sort(order), np.arange(shard.rows)):
        yield f"order {tri} does not hold each row once"
        return
    if not np.array_equal(orders.ranks(order), rank):
        yield f"rank {tri} is not the inverse of its order"
    if tri in COLUMN_OF:
        key = shard.keys(tri, order)
        before, after = key[:-1], key[1:]
        if (before > after).any():
            yield f"order {tri} does not follow its column"
    for place, rows in _places(shard, order):
        if not np.array_equal(shard.top(place, tri), rows[: format.TOP_ROWS]):
            yield f"the list of {place} in order {tri} is not the head of that order"


def _places(shard: Shard, order: Rows) -> Iterator[tuple[str, Rows]]:
    cell_of = shard.column("cell")[order]
    sector_of = np.array([cell.secteur or "-" for cell in shard.cells])
    for index, cell in enumerate(shard.cells):
        yield cell.place, order[cell_of == index]
    for sector in sorted(set(sector_of.tolist())):
        yield sector, order[(sector_of == sector)[cell_of]]


def _row_faults(shard: Shard) -> Iterator[str]:
    """A record says what the columns and indexes say of it; all orders break ties by identifier."""
    keys: list[tuple[bytes, tuple[str, str]]] = []
    names = ("effectif", "date_creation", "score", "site_web")
    # The key of an order, not the column: NaN is not equal to itself.
    compared = (orders.keys("ca_desc", shard.column("ca_eur")), *map(shard.column, names))
    for row in range(shard.rows):
        company = shard.company(row)
        keys.append((company["id"].encode(), (fold(company["nom"]), company["nom"])))
        if company["iso2"] != shard.iso2:
            yield f"row {row} is of {company['iso2']}"
        if shard.names[row] != fold(company["nom"]).encode():
            yield f"the folded name of row {row} is not that of {company['nom']!r}"
        if tuple(company) != FIELDS:
            yield f"row {row} does not have the fields of the specification in their order"
        if _columns(company) != tuple(values[row] for values in compared):
            yield f"row {row} has other values in its columns than in its record"
    folded = [shard.idents.folded[place] for place in range(shard.rows)]
    if folded != sorted(fold_id(key.decode()).encode() for key, _ in keys):
        yield "the identifiers are not those of the records, sorted"
    yield from _tie_faults(shard, [key for key, _ in keys])
    by_name = sorted(range(shard.rows), key=lambda row: (keys[row][1], keys[row][0]))
    if by_name != shard.order("nom").tolist():
        yield "order nom does not follow the names of the records"


def _tie_faults(shard: Shard, ids: list[bytes]) -> Iterator[str]:
    for tri in COLUMN_OF:
        order = shard.order(tri)
        key = shard.keys(tri, order)
        for place in np.flatnonzero(key[:-1] == key[1:]).tolist():
            if ids[int(order[place])] >= ids[int(order[place + 1])]:
                yield f"order {tri} breaks a tie at place {place} against the identifiers"


def _word_faults(shard: Shard) -> Iterator[str]:
    """Words ascend, and the postings are exactly the words of each name."""
    words = shard.words
    vocabulary = [words.words[index] for index in range(len(words.words))]
    if vocabulary != sorted(set(vocabulary)):
        yield "the words are not sorted, each once"
    held: list[set[bytes]] = [set() for _ in range(shard.rows)]
    for word, first, end in zip(vocabulary, words.starts[:-1], words.starts[1:], strict=True):
        postings: NDArray[np.uint32] = words.postings[int(first) : int(end)]
        if (np.diff(postings.astype(np.int64)) <= 0).any():
            yield f"the rows of word {word.decode()!r} do not ascend"
        for row in postings.tolist():
            held[row].add(word)
    for row in range(shard.rows):
        if held[row] != set(shard.names[row].split()):
            yield f"the words of row {row} are not those of its name"


def _columns(company: Mapping[str, Any]) -> tuple[float, ...]:
    """What the columns of _COMPARED must hold for a record."""
    ca_eur, effectif = company["ca_eur"], company["effectif"]
    return (
        np.inf if ca_eur is None else -ca_eur,
        format.EFFECTIF_NULL if effectif is None else effectif,
        orders.date_key(company["date_creation"]),
        company["score"],
        company["site_web"] is not None,
    )
