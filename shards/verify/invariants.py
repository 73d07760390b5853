"""Verification of shards against the invariants of FORMAT.md §9, but for the last: a file alone cannot show that one.

A digest shows that a file is the one that was built; this shows that it was built correctly. Everything is compared
with the records, or with what follows from them. `python -m shards verify`, the nightly run and tests run it. It
takes nine minutes and 5 GiB for 18.7 million companies in one process; several shards may be checked in parallel.
"""

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
from shards.codec import bands, cells, codes, record, sort_keys
from shards.codec.arrays import Rows
from shards.codec.row_sets import Packing
from shards.codec.sort_keys import KEY_OF, RANKED, Keys
from shards.errors import CorruptError, GenerationError
from shards.generations import groups
from shards.generations.generation_files import Generation, Inode, inode_of
from shards.query import ORDERS
from shards.ratios import accounts
from shards.ratios.accounts import LastYearRatios
from shards.ratios.ratio_table import ratios, stored_codes
from shards.reader.shard import Shard
from shards.verify import contents, names
from shards.verify.contents import Contents
from shards.writing import orders_and_codes

# The orders whose keys follow from records, with the field of `Contents` and its null. Share capital is converted to
# euros by the build, so no record has that key.
_FROM_RECORDS: Final = {
    "ca_desc": ("ca_eur", None),
    "effectif_desc": ("effectif", format.EFFECTIF_NULL),
    "recent": ("dates", format.DATE_NULL),
    "score": ("score", None),
}


def verify(
    generation: Generation,
    checked: set[Inode] | None = None,
    *,
    jobs: int = 1,
    done: Callable[[], object] = lambda: None,
) -> None:
    """Check every shard of `generation`, the counts of `reference.json`, and the order of its groups.

    Args:
        checked: files that were checked already as part of another generation; the files checked now are added.
        jobs: the number of processes, each of which checks one shard at a time.
        done: called after each of `generation.shards`.

    Raises:
        CorruptError: names the file and the broken invariant.
        GenerationError: a process died.
    """
    checked = set() if checked is None else checked
    left = {inode_of(shard.path): shard for shard in generation.shards.values()}
    left = {inode: shard for inode, shard in left.items() if inode not in checked}
    for _ in range(len(generation.shards) - len(left)):
        done()
    _check_all(list(left.values()), jobs, done)
    checked.update(left)
    groups.check(groups.read(generation.folder / groups.GROUPS))
    for iso2, shard in generation.shards.items():
        counted = {
            (cell.secteur, cell.sous_secteur): cell.n for cell in generation.reference.counts[iso2]
        }
        cells = shard.layout.cells
        stored = {(cell.secteur, cell.sous_secteur): cell.stop - cell.start for cell in cells}
        if counted != stored:
            raise CorruptError(
                f"{shard.path}: its cells are not those that reference.json counts; "
                "build or fetch the generation again"
            )


def _check_all(shards: Sequence[Shard], jobs: int, done: Callable[[], object]) -> None:
    if jobs == 1:
        for shard in shards:
            check(shard)
            done()
        return
    largest_first = sorted(shards, key=lambda shard: -shard.rows)
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        results = pool.map(_check_file, [shard.path for shard in largest_first])
        try:
            for _ in results:
                done()
        except BrokenProcessPool as error:
            raise GenerationError(
                "a process that checked a shard was killed, maybe for lack of memory; "
                "verify with fewer --jobs"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _check_file(path: Path) -> None:
    with Shard(path) as shard:
        check(shard)


def check(shard: Shard) -> None:
    """Check one shard by itself.

    Raises:
        CorruptError: names the first broken invariant.
    """
    for fault in _faults(shard):
        raise CorruptError(f"{shard.path}: {fault}; build or fetch the generation again")


def _faults(shard: Shard) -> Iterator[str]:
    for name in shard.file.misplaced_values():
        yield f"{name} does not lie at its place in the file"
    yield from _table_faults(shard)
    decoded = contents.read(shard)
    yield from decoded.faults
    yield from _cell_faults(shard, decoded)
    yield from _value_faults(shard, decoded)
    wholes = []
    for tri in ORDERS:
        whole = _whole_order(shard, tri, decoded)
        if whole is None:
            yield f"rank {tri} does not hold each place once"
            return
        yield from _order_faults(shard, tri, whole, decoded)
        wholes.append(whole)
    lists = sum(min(format.TOP_ROWS, p.stop - p.start) for p in cells.listed_parts(shard.layout))
    if len(shard.top_rows) != len(ORDERS) * lists:
        yield f"the lists of first rows have {len(shard.top_rows)} rows for {len(ORDERS) * lists}"
    yield from _bound_faults(shard)
    yield from code_column_faults(shard, decoded)
    yield from ratio_faults(shard)
    expected = codes.alias_table(decoded.numbers)
    if any(not np.array_equal(expected[name], found) for name, found in shard.aliases.items()):
        yield "`alias` does not hold the LEI and VAT numbers of the records"
    yield from names.faults(shard, decoded, Packing(shard.rows, wholes))


def _table_faults(shard: Shard) -> Iterator[str]:
    """Check that every array by row has one value per row, and no entry is of another row."""
    by_row: dict[str, NDArray[Any]] = {"facts": shard.facts}
    by_row |= {name: shard.codes(name) for name in ("etat", "actif", "tranche", *codes.COMPARED)}
    by_row |= {f"rank {tri}": shard.rank(tri) for tri in sorted(RANKED)}
    by_row |= {"name": shard.words.token_starts[1:], "identifiers": shard.idents.rows}
    for name, values in by_row.items():
        if len(values) != shard.rows:
            yield f"{name} has {len(values)} values for {shard.rows} rows"
    yield from _chunk_faults(shard)


def _chunk_faults(shard: Shard) -> Iterator[str]:
    """Check that records and statements follow each other in their chunks, and are of rows that exist."""
    for name, frames, count in (
        ("records", shard.frames, shard.rows),
        ("statements", shard.statements, len(shard.statement_rows)),
    ):
        if len(frames) != count:
            yield f"there are {len(frames)} {name} for {count} rows"
        elif (chunk := frames.out_of_order()) is not None:
            yield f"the {name} of chunk {chunk} do not follow each other"
    rows = shard.statement_rows
    if len(rows) and (int(rows[-1]) >= shard.rows or not (rows[1:] > rows[:-1]).all()):
        yield "there are statements of a row that does not exist, or in another order"


def _cell_faults(shard: Shard, decoded: Contents) -> Iterator[str]:
    """Check that cells are consecutive and cover all rows, and that rows are in layout order in each cell."""
    end, places = 0, []
    key = sort_keys.descending_keys(decoded.ca_eur, format.KEYS["ca_desc"])
    for cell in shard.layout.cells:
        places.append(tuple((c is None, c or "") for c in (cell.secteur, cell.sous_secteur)))
        part = slice(cell.start, cell.stop)
        if not end == cell.start <= cell.with_ca <= cell.stop or cell.start == cell.stop:
            yield f"cell {cell.place} covers rows {cell.start} to {cell.stop}, {end} was next"
        if not _follow(key[part], decoded.ids[part]).all():
            yield f"turnovers of cell {cell.place} do not descend"
        if np.count_nonzero(~np.isnan(key[part])) != cell.with_ca - cell.start:
            yield f"cell {cell.place} has other turnovers than up to row {cell.with_ca}"
        if np.count_nonzero(decoded.site_web[part]) != cell.with_site:
            yield f"cell {cell.place} has not {cell.with_site} websites"
        end = cell.stop
    if end != shard.rows:
        yield f"the cells end at row {end} of {shard.rows}"
    if places != sorted(set(places)):
        yield "the cells are not in order, each once"


def _value_faults(shard: Shard, decoded: Contents) -> Iterator[str]:
    """Check that keys, steps and facts agree with the records."""
    every = np.arange(shard.rows, dtype=np.uint32)
    for tri in format.KEYS:
        steps = shard.steps(tri)
        if len(steps.places) != len(steps.keys) + 1 or not _ascend(steps.keys, steps.places):
            yield f"the steps of {tri} do not ascend"
        elif tri in _FROM_RECORDS:
            field, null = _FROM_RECORDS[tri]
            expected = sort_keys.descending_keys(getattr(decoded, field), format.KEYS[tri], null)
            if not _are_same(shard.keys(tri, every), expected):
                yield f"the steps of {tri} have other values than the records"
    if shard.longest != int(np.diff(shard.steps("ca_desc").places).max(initial=0)):
        yield f"no step of ca_desc has {shard.longest} rows as the longest"
    headcounts = -shard.steps("effectif_desc").keys[::-1]
    bit = format.website_bit(shard.facts.dtype.str)
    codes = (shard.facts & (bit - 1)).astype(np.int64)
    known = np.concatenate(([format.EFFECTIF_NULL], headcounts)).astype(np.int32)
    if (codes >= len(known)).any() or not np.array_equal(known[codes], decoded.effectif):
        yield "facts have other headcounts than the records"
    if not np.array_equal(shard.facts >= bit, decoded.site_web):
        yield "facts have other websites than the records"


def _order_faults(shard: Shard, tri: str, whole: Rows, decoded: Contents) -> Iterator[str]:
    """Check that an order ascends in its key, ties by identifier, and that `order` and `top` agree with it."""
    if tri in KEY_OF and not _follow(shard.keys(tri, whole), decoded.ids[whole]).all():
        yield f"rank {tri} does not follow its key and the identifiers"
    stored, _ = KEY_OF.get(tri, (None, 1))
    kept = shard.steps(stored).known_rows + format.TOP_ROWS if stored else shard.rows
    if not np.array_equal(shard.order(tri), whole[:kept]):
        yield f"order {tri} is not what rank says"
    rank = sort_keys.ranks(whole)
    for part in cells.listed_parts(shard.layout):
        head = whole[np.sort(rank[part.start : part.stop])[: format.TOP_ROWS]]
        if not np.array_equal(shard.first_rows(part, tri), head):
            yield f"the list of {part.place} in order {tri} is not the head of that order"


def _whole_order(shard: Shard, tri: str, decoded: Contents) -> Rows | None:
    """All rows in an order, from its rank; None if the rank is no permutation. `ca_asc` has no rank and is sorted."""
    if tri in RANKED:
        rank, every = shard.rank(tri), np.arange(shard.rows, dtype=np.uint32)
        if not np.array_equal(np.sort(rank), every):
            return None
        return sort_keys.ranks(rank)
    by_id = np.argsort(decoded.ids, kind="stable").astype(np.uint32)
    return sort_keys.sort_by_key(shard.keys(tri, np.arange(shard.rows, dtype=np.uint32)), by_id)


def _bound_faults(shard: Shard) -> Iterator[str]:
    """Check that `sorted` and `website` agree with the facts of the rows."""
    by_ca, by_effectif = (_known_rows(shard, tri) for tri in ("ca_desc", "effectif_desc"))
    if not np.array_equal(shard.turnover_facts, shard.facts[by_ca]):
        yield "the facts along ca_desc are not those of the rows"
    bit = format.website_bit(shard.facts.dtype.str)
    for name, places, rows in (
        ("ca_desc", shard.website_turnover, by_ca),
        ("effectif_desc", shard.website_headcount, by_effectif),
    ):
        if not np.array_equal(places, np.flatnonzero(shard.facts[rows] >= bit)):
            yield f"the websites along {name} are not those of the rows"


def _known_rows(shard: Shard, tri: str) -> Rows:
    """The rows whose key is not null, in the order `tri`."""
    return shard.order(tri)[: shard.steps(tri).known_rows]


def _ascend(keys: Keys, places: Rows) -> bool:
    return bool((keys[1:] > keys[:-1]).all() and (places[1:] > places[:-1]).all())


def _follow(keys: Keys, ids: NDArray[np.bytes_]) -> NDArray[np.bool_]:
    """A mask of the pairs of neighbours that ascend: by key with NaN last, then by identifier."""
    if keys.dtype.kind == "f":
        keys = np.where(np.isnan(keys), np.inf, keys)
    later: NDArray[np.bool_] = keys[1:] > keys[:-1]
    tied = np.flatnonzero(keys[1:] == keys[:-1])
    later[tied] = ids[tied + 1] > ids[tied]
    return later


def _are_same(keys: Keys, other: Keys) -> bool:
    return np.array_equal(keys, other, equal_nan=keys.dtype.kind == "f")


# -- columns of codes, and ratios --------------------------------------------------------------


# Half a cent, and what floats lose on it.
_ROUNDED: Final = 0.00501


def code_column_faults(shard: Shard, decoded: Contents) -> Iterator[str]:
    """Messages about columns that are not those of the records (FORMAT.md §9, invariants 2 and 5)."""
    listed = shard.code_array("actif.amounts", "<f8")
    stored = shard.codes("actif")
    euros = codes.amounts(stored, listed)
    if not np.array_equal(codes.amount_codes(euros, codes.listed_amounts(euros)), stored):
        yield "codes of total assets are no amounts"
        return
    yield from _amount_faults(decoded, euros)
    expected = orders_and_codes.code_tables(
        decoded.etat,
        shard.statement_rows,
        decoded.texts,
        euros,
        bands.headcount_codes(decoded.effectif, decoded.tranche),
        {tri: shard.steps(tri) for tri in bands.BANDED},
        shard.layout.cells,
    )
    for table, arrays in ((format.COLUMN, expected.column), (format.CODE, expected.code)):
        found = dict(shard.file.items(table))
        for name, array in arrays.items():
            if bytes(array) != found.get(name.encode()):
                yield f"{table.decode()} {name} is not that of the records"


def _amount_faults(decoded: Contents, euros: NDArray[np.float64]) -> Iterator[str]:
    """Check that total assets in euros are the published ones at one rate, by currency, unit and year."""
    known = ~np.isnan(euros)
    for group, about in enumerate(decoded.rates.values):
        rows = np.flatnonzero(decoded.rates.numbers == group)
        published = decoded.actif[rows]
        there = known[rows]
        if (there & np.isnan(published)).any():
            yield f"total assets of a company with {about} that publishes none"
        there &= ~np.isnan(published)
        if not there.any():
            continue
        if (~there & ~np.isnan(published)).any():
            yield f"total assets with {about} have an amount in euros at some companies only"
        published, found = published[there], euros[rows][there]
        greatest = int(np.argmax(np.abs(published)))
        rate = found[greatest] / published[greatest] if published[greatest] else 0.0
        error = _ROUNDED * (1 + np.abs(published) / max(1.0, abs(published[greatest])))
        if (np.abs(found - rate * published) > error + 1e-9 * np.abs(found)).any():
            yield f"total assets with {about} are not converted at one rate"


_TOLERANCE: Final = 1e-9


def ratio_faults(shard: Shard) -> Iterator[str]:
    """Messages about ratios that are not those of the statements of their row (FORMAT.md §9, invariant 5).

    Amounts in euros are not compared: the table of rates may have been revised since the build.
    """
    rows = shard.statement_rows.tolist()
    columns = {code: shard.ratio(code) for code in stored_codes()}
    years = shard.ratio_years
    counts = {code: len(values) for code, values in columns.items()}
    for name, count in (counts | {format.YEARS.decode(): len(years)}).items():
        if count != len(rows):
            yield f"ratio {name} has {count} values for {len(rows)} rows with statements"
            return
    for name, order in LastYearRatios(columns).orders().items():
        if not np.array_equal(shard.file.array(format.RATIO, name, format.U4), order):
            yield f"the {name} of ratios are not those of their values"
    compared = [code for code in columns if ratios()[code].unite != "EUR"]
    for place, row in enumerate(rows):
        year, expected = accounts.last_year(record.lines(shard.comptes(row)))
        if year != years[place]:
            yield f"row {row} has ratios of {years[place]}, its last year is {year}"
        for code in compared:
            if not _are_alike(float(columns[code][place]), expected[code]):
                yield f"ratio {code} of row {row} is not that of its statements"


def _are_alike(value: float, other: float) -> bool:
    return (isnan(value) and isnan(other)) or isclose(
        value, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE
    )
