"""Verification of shards against the invariants of FORMAT.md §9 that a single shard can show.

A digest shows that a file is unchanged since it was built. This module checks that it was built correctly: the writer
computes all indexes again from the records, and each value is compared with the value in the file. `python -m shards
verify`, the nightly run and tests use it. Several shards can be checked in parallel; shards/README.md has the time.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from math import isclose, isnan
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shards import format
from shards.codec import cells, record, sort_keys, strings
from shards.codec.folding import fold, fold_id
from shards.codec.strings import END
from shards.errors import (
    AmountError,
    CorruptError,
    GenerationError,
    OutOfOrderError,
    translate_errors,
)
from shards.generations import groups
from shards.generations.generation_files import Generation, Inode, inode_of
from shards.query import ORDERS
from shards.ratios import accounts
from shards.ratios.accounts import LastYearRatios
from shards.ratios.ratio_table import ratios, stored_codes
from shards.reader import lookups, shard_file
from shards.reader.shard import Shard
from shards.verify import contents
from shards.verify.contents import Contents
from shards.writing import writer
from shards.writing.lmdb_writer import Value
from shards.writing.writer import Columns


def verify(
    generation: Generation,
    checked: set[Inode] | None = None,
    *,
    jobs: int = 1,
    done: Callable[[], object] = lambda: None,
) -> None:
    """Check every shard of `generation`, the counts of `reference.json`, and the order of its groups.

    Args:
        checked: files that were already checked as part of another generation; the files checked now are added.
        jobs: the number of processes, each of which checks one shard at a time.
        done: called after each of `generation.shards`.

    Raises:
        CorruptError: names the file and the broken invariant.
        GenerationError: a process died.
    """
    checked = set() if checked is None else checked
    unchecked = {inode_of(shard.path): shard for shard in generation.shards.values()}
    unchecked = {inode: shard for inode, shard in unchecked.items() if inode not in checked}
    for _ in range(len(generation.shards) - len(unchecked)):
        done()
    _check_all(list(unchecked.values()), jobs, done)
    checked.update(unchecked)
    groups.check_order(groups.read(generation.folder / groups.GROUPS))
    for iso2, shard in generation.shards.items():
        reference_counts = {
            (cell.secteur, cell.sous_secteur): cell.n for cell in generation.reference.counts[iso2]
        }
        cells = shard.layout.cells
        stored_counts = {
            (cell.secteur, cell.sous_secteur): cell.stop - cell.start for cell in cells
        }
        if reference_counts != stored_counts:
            raise CorruptError(
                f"{shard.path}: the counts of its cells differ from reference.json; build or fetch the generation again"
            )


def _check_all(shards: Sequence[Shard], jobs: int, done: Callable[[], object]) -> None:
    """Check shards in this process if `jobs` is 1, else in `jobs` other processes, the largest shard first.

    `done` is called after each shard.

    Raises:
        CorruptError: names the first broken invariant.
        GenerationError: a process was killed.
    """
    if jobs == 1:
        for shard in shards:
            check(shard)
            done()
        return
    largest_first = sorted(shards, key=lambda shard: -shard.rows)
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        try:
            for _ in pool.map(_check_file, [shard.path for shard in largest_first]):
                done()
        except BrokenProcessPool as error:
            raise GenerationError(
                "a process that checked a shard was killed, maybe for lack of memory; "
                "verify with fewer --jobs"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _check_file(path: Path) -> None:
    """Check the shard at `path`, in a process of the pool."""
    with Shard(path) as shard:
        check(shard)


def check(shard: Shard) -> None:
    """Check one shard by itself.

    Raises:
        CorruptError: names the first broken invariant.
    """
    try:
        with translate_errors(str(shard.path)):
            for fault in _faults(shard):
                raise CorruptError(f"{shard.path}: {fault}; build or fetch the generation again")
    except (AmountError, OutOfOrderError) as error:
        raise CorruptError(
            f"{shard.path}: its records cannot be written again: {error}; build or fetch the generation again"
        ) from error


def _faults(shard: Shard) -> Iterator[str]:
    """Messages about the broken invariants of a shard; the first checks are those that later checks rely on.

    Most tables are checked by writing them again from the decoded records: `_ComparedTables` raises CorruptError at the
    first difference.
    """
    for name in shard.file.misplaced_values():
        yield f"{name} is not at its place in the file"
    yield from _chunk_faults(shard)
    yield from _length_faults(shard)
    decoded = contents.read(shard)
    yield from _amount_faults(decoded)
    yield from _ratio_faults(shard)
    # The writer writes all other tables again, from the decoded records, and `tables` compares each entry.
    tables, last_year = _ComparedTables(shard), LastYearRatios(_ratio_arrays(shard))
    indexed = writer.append_indexes(tables, shard.iso2, decoded.columns)
    writer.append_columns(tables, decoded.columns, indexed, shard.statement_rows, last_year)
    yield from tables.excess_faults()
    yield from _name_faults(shard, decoded.columns)
    yield from _suffix_faults(shard)
    yield from _order_faults(shard, decoded.columns)


class _ComparedTables:
    """A writer's target that compares each entry of a shard that is written again with the entry in the file."""

    def __init__(self, shard: Shard) -> None:
        """Read the values of `meta`, which are not in the map; `_entries` counts compared entries by table."""
        self._shard = shard
        self._meta = shard_file.read_meta(shard.path)
        self._entries = Counter[bytes]()

    def append(self, table: bytes, key: bytes, value: Value) -> None:
        """Compare an entry.

        Raises:
            CorruptError: the shard has another value.
        """
        file = self._shard.file
        stored = self._meta[key] if table == format.META else file.value(table, key)
        self._entries[table] += 1
        byte = _first_difference(stored, value)
        if byte is not None:
            where = f"byte {byte}"
            if table in (format.COLUMN, format.RANK) and value:
                where = f"row {byte * self._shard.rows // len(value)}"
            raise CorruptError(
                f"{self._shard.path}: {table.decode()} {key.decode()} differs from the records, from {where} on; "
                "build or fetch the generation again"
            )

    def excess_faults(self) -> Iterator[str]:
        """Messages about tables with more entries than were compared."""
        for table, count in self._entries.items():
            stored = self._shard.file.entries(table)
            if table != format.META and stored != count:
                yield f"{table.decode()} has {stored} entries instead of {count}"


def _first_difference(stored: Value, expected: Value) -> int | None:
    """The first byte that differs; None if all are equal."""
    arrays = [np.asarray(memoryview(value)) for value in (stored, expected)]
    size = min(map(len, arrays))
    differing = np.flatnonzero(arrays[0][:size] != arrays[1][:size])
    if len(differing):
        return int(differing[0])
    return None if len(stored) == len(expected) else size


def _chunk_faults(shard: Shard) -> Iterator[str]:
    """Check that records and statements are consecutive in their chunks, and belong to rows that exist."""
    for name, frames, count in (
        ("records", shard.frames, shard.rows),
        ("statements", shard.statements, len(shard.statement_rows)),
    ):
        if len(frames) != count:
            yield f"there are {len(frames)} {name} for {count} rows"
        elif (chunk := frames.first_misplaced_chunk()) is not None:
            yield f"the {name} of chunk {chunk} are not consecutive"
    rows = shard.statement_rows
    if len(rows) and (int(rows[-1]) >= shard.rows or not (rows[1:] > rows[:-1]).all()):
        yield "there are statements of a row that does not exist, or in another order"


def _length_faults(shard: Shard) -> Iterator[str]:
    """Check that the arrays of the shard that the writer reuses have a value for each row."""
    for name, values, count in (
        ("rank capital_desc", shard.rank("capital_desc"), shard.rows),
        ("column actif", shard.codes("actif"), shard.rows),
        *(
            (f"ratio {name}", values, len(shard.statement_rows))
            for name, values in _ratio_arrays(shard).items()
        ),
    ):
        if len(values) != count:
            yield f"{name} has {len(values)} values for {count} rows"


def _ratio_arrays(shard: Shard) -> dict[str, NDArray[Any]]:
    """The year and the ratios of each row with statements, as the shard stores them."""
    arrays = {code: shard.ratio(code) for code in stored_codes()}
    return {format.YEARS.decode(): shard.ratio_years, **arrays}


# -- checks without the writer, which would repeat its own faults -------------------------


def _name_faults(shard: Shard, columns: Columns) -> Iterator[str]:
    """Check that the order `nom` ascends, and that the words of each row are the words of its names.

    The names are those of the records: the present name, then the former names that have words.
    """
    order, former = shard.order("nom"), columns.former
    previous_key: tuple[bytes, ...] = ()
    for batch in contents.batches(shard.rows):
        rows = order[batch.start : batch.stop]
        firsts, ends = (former.rows.searchsorted(rows, side).tolist() for side in ("left", "right"))
        for row, names, first, end in zip(
            rows.tolist(), lookups.folded_names(shard.words, rows), firsts, ends, strict=True
        ):
            published = columns.noms[row], *(former.noms[number] for number in range(first, end))
            folded = [fold(name.decode()).encode() for name in published]
            if names != [folded[0], *filter(None, folded[1:])]:
                yield f"the words of row {row} are not the words of its names"
            key = (folded[0], published[0], columns.ids[row])
            if key <= previous_key:
                yield f"order nom does not follow the names at row {row}"
            previous_key = key


def _suffix_faults(shard: Shard) -> Iterator[str]:
    """Check that the suffixes of the words ascend by their first bytes, then by place."""
    index, size = shard.words, format.SUFFIX_BYTES
    windows = np.lib.stride_tricks.sliding_window_view(strings.pad(index.words.data, size), size)
    places = index.suffixes.places
    texts = windows[places].view(f"S{size}").ravel()
    tied = (texts[1:] == texts[:-1]) & (places[1:] > places[:-1])
    if not (tied | (texts[1:] > texts[:-1])).all():
        yield "the suffixes of the words do not ascend"


def _order_faults(shard: Shard, columns: Columns) -> Iterator[str]:
    """Check the orders, the lists of their first rows and the index of identifiers; `nom` was checked before.

    The rows are sorted here by other means than in the writer, because the writer would repeat its own faults.
    """
    ids = np.array(bytes(columns.ids.data).split(END)[:-1], dtype=bytes)
    folded = np.array([fold_id(text.decode()).encode() for text in ids.tolist()], dtype=bytes)
    if not np.array_equal(np.argsort(folded, kind="stable"), shard.idents.rows):
        yield "the identifiers are not in order"
    id_ranks = sort_keys.ranks(np.argsort(ids, kind="stable").astype(np.uint32))
    has_value = columns.effectif != format.EFFECTIF_NULL, columns.dates != format.DATE_NULL
    keys = {
        "ca_desc": -columns.ca_eur,
        "ca_asc": columns.ca_eur,
        "capital_desc": -columns.capital_eur,
        "effectif_desc": np.where(has_value[0], -columns.effectif.astype(np.float64), np.nan),
        "recent": np.where(has_value[1], -columns.dates.astype(np.float64), np.nan),
        "score": -columns.score,
    }
    for tri in ORDERS:
        order = shard.order(tri)
        # Only `nom` has no keys here, so its stored order is taken as it is.
        all_ordered = np.lexsort((id_ranks, keys[tri])).astype(np.uint32) if tri in keys else order
        if not np.array_equal(order, all_ordered[: len(order)]):
            yield f"order {tri} does not follow the records"
        places = sort_keys.ranks(all_ordered)
        for part in cells.listed_parts(shard.layout):
            first_rows = all_ordered[np.sort(places[part.start : part.stop])[: format.TOP_ROWS]]
            if not np.array_equal(shard.first_rows(part, tri), first_rows):
                yield f"the list of {part.place} in order {tri} does not have its first rows"


# -- values of the shard that the writer reuses ------------------------------------------------


# The greatest rounding error of an amount in euros: half a cent, and a little for floats.
_ROUNDED: Final = 0.00501
# The greatest rounding error of a computation with floats, relative to its result.
_TOLERANCE: Final = 1e-9


def _amount_faults(decoded: Contents) -> Iterator[str]:
    """Check that total assets in euros are the published amounts at one rate per currency, unit and year.

    The rate of a group of companies is computed from its greatest amount, because rounding changes this amount least.
    """
    euros = decoded.columns.actif_eur
    has_euros = ~np.isnan(euros)
    for group, rate_text in enumerate(decoded.rates.values):
        rows = np.flatnonzero(decoded.rates.numbers == group)
        published = decoded.actif[rows]
        is_converted = has_euros[rows]
        if (is_converted & np.isnan(published)).any():
            yield f"total assets in euros of a company with {rate_text} that publishes no total assets"
        is_converted &= ~np.isnan(published)
        if not is_converted.any():
            continue
        if (~is_converted & ~np.isnan(published)).any():
            yield f"total assets with {rate_text} have an amount in euros for some companies only"
        published, converted = published[is_converted], euros[rows][is_converted]
        greatest = int(np.argmax(np.abs(published)))
        rate = converted[greatest] / published[greatest] if published[greatest] else 0.0
        # The rate is computed from a rounded amount, so the error of other amounts grows with their size.
        most_error = _ROUNDED * (1 + np.abs(published) / max(1.0, abs(published[greatest])))
        if (
            np.abs(converted - rate * published) > most_error + _TOLERANCE * np.abs(converted)
        ).any():
            yield f"total assets with {rate_text} are not converted at one rate"


def _ratio_faults(shard: Shard) -> Iterator[str]:
    """Check that ratios follow from the statements, except amounts in euros, whose rate can have been revised."""
    columns = {code: shard.ratio(code) for code in stored_codes() if ratios()[code].unite != "EUR"}
    for place, row in enumerate(shard.statement_rows.tolist()):
        year, expected = accounts.last_year(record.lines(shard.comptes(row)))
        if year != shard.ratio_years[place]:
            yield f"row {row} has ratios of {shard.ratio_years[place]}, its last year is {year}"
        for code, values in columns.items():
            if not _are_alike(float(values[place]), expected[code]):
                yield f"ratio {code} of row {row} does not follow from its statements"


def _are_alike(stored: float, expected: float) -> bool:
    """Whether two ratios are equal up to rounding errors, or both have no value (NaN)."""
    return (isnan(stored) and isnan(expected)) or isclose(
        stored, expected, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE
    )
