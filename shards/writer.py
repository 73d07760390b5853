"""Writes the shard of one country. It appears under its name only when it is whole.

The rows come in layout order; all else (orders, lists, indexes) is computed here, because the
reader depends on each of them being right. The same input gives the same bytes: keys are appended
in order, everything is sorted with a full key, and nothing asks for the time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import lmdb
import numpy as np
import zstandard
from numpy.typing import NDArray

from shards import cells, format, idents, orders, texts, words
from shards.cells import Cell
from shards.errors import OutOfOrderError
from shards.orders import Rows
from shards.query import ORDERS
from shards.text import fold

# Address space, not disk: a sparse file grows to what is written. The largest country needs 4 GiB.
_MAP_BYTES: Final = 1 << 36
# A dictionary of zstd is trained on some rows; on fewer than this it would be longer than its gain.
_SAMPLES: Final = 4_000
FEWEST_SAMPLES: Final = 500
_DICTIONARY_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Columns:
    """What is searched and sorted of one country: one entry a row, in layout order.

    Layout order is `secteurs` (NACE divisions) ascending, `sous_secteurs` (groups) ascending,
    `ca_eur` descending, `ids` ascending by UTF-8 bytes; nulls last. Amounts are euros with NaN for
    null, headcounts persons with `format.EFFECTIF_NULL`, dates ISO text (contract C8).
    """

    ids: Sequence[str]
    noms: Sequence[str]
    secteurs: Sequence[str | None]
    sous_secteurs: Sequence[str | None]
    ca_eur: NDArray[np.float64]
    effectif: NDArray[np.int32]
    dates: Sequence[str | None]
    capital_eur: NDArray[np.float64]
    score: NDArray[np.int16]
    site_web: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Table:
    """One LMDB table that is being filled, keys in ascending order."""

    name: bytes
    handle: Any
    txn: lmdb.Transaction

    def append(self, key: bytes, value: bytes | memoryview) -> None:
        if not self.txn.put(key, value, db=self.handle, append=True):
            raise OutOfOrderError(
                f"table {self.name.decode()}: key {key.hex()} does not come after the one before"
            )


def write(
    path: Path,
    iso2: str,
    columns: Columns,
    records: Callable[[range], Iterator[bytes]],
    comptes: Iterable[tuple[int, bytes]],
) -> None:
    """Write the shard of `iso2` to `path`.

    Args:
        records: gives the stored bytes (`record.encode`) of a range of rows. It is called twice:
            for a sample to train the compression on, then for all rows.
        comptes: row and JSON of its statement lines (contract E5), rows ascending; only those that
            have some.

    Raises:
        OutOfOrderError: if the rows are not in layout order, or an identifier comes twice; `path`
            is then untouched.
    """
    layout = _cells(columns)
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        with lmdb.open(
            str(partial), subdir=False, lock=False, map_size=_MAP_BYTES, max_dbs=len(format.TABLES)
        ) as env:
            with env.begin(write=True) as txn:
                tables = {
                    name: _Table(name, env.open_db(name, txn=txn), txn) for name in format.TABLES
                }
                folded = [fold(nom) for nom in columns.noms]
                _write_columns(tables, columns, layout, folded)
                _write_names(tables, folded, columns.ids)
                _write_rows(tables, iso2, len(columns.ids), layout, records, comptes)
            env.sync(True)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _cells(columns: Columns) -> list[Cell]:
    """The cells of the layout, once the rows are known to be in it."""
    found: list[Cell] = []
    before: tuple[object, ...] = ()
    ca_eur = columns.ca_eur.tolist()
    for row, place in enumerate(zip(columns.secteurs, columns.sous_secteurs, strict=True)):
        ca = ca_eur[row]
        key = (*((code is None, code or "") for code in place), *_descending(ca))
        key = (*key, columns.ids[row].encode())
        if key <= before:
            raise OutOfOrderError(
                f"row {row} ({columns.ids[row]!r}) does not come after the row before it in layout "
                "order; sort by sector, sub-sector, turnover descending, identifier, each once"
            )
        before = key
        if not found or found[-1][:2] != place:
            found.append(Cell(*place, row, row, row))
        last = found[-1]
        found[-1] = last._replace(stop=row + 1, with_ca=row + 1 if ca == ca else last.with_ca)
    return found


def _descending(ca: float) -> tuple[bool, float]:
    return (False, -ca) if ca == ca else (True, 0.0)


def _write_columns(
    tables: dict[bytes, _Table], columns: Columns, layout: Sequence[Cell], folded: Sequence[str]
) -> None:
    """Columns, orders, ranks and the heads of the orders."""
    stored: dict[str, NDArray[np.generic]] = {
        "ca_eur": columns.ca_eur,
        "capital_eur": columns.capital_eur,
        "effectif": columns.effectif,
        "date_creation": np.array([orders.date_key(date) for date in columns.dates], dtype="<i4"),
        "score": columns.score,
        "site_web": columns.site_web,
        "cell": np.repeat(np.arange(len(layout)), [cell.stop - cell.start for cell in layout]),
    }
    for name in sorted(stored):
        tables[format.COLUMN].append(name.encode(), _packed(stored[name], format.COLUMNS[name]))
    heads: dict[bytes, Rows] = {}
    for tri, order in sorted(_orders(columns, stored, folded).items()):
        tables[format.ORDER].append(tri.encode(), _packed(order, format.U4))
        tables[format.RANK].append(tri.encode(), _packed(orders.ranks(order), format.U4))
        for place, rows in _heads(order, layout, stored["cell"]):
            heads[format.top_key(place, tri)] = rows
    for key in sorted(heads):
        tables[format.TOP].append(key, _packed(heads[key], format.U4))


def _orders(
    columns: Columns, stored: dict[str, NDArray[np.generic]], folded: Sequence[str]
) -> dict[str, Rows]:
    by_id = orders.by_identifier(columns.ids)
    found: dict[str, Rows] = {}
    for tri in ORDERS:
        if tri == "nom":
            found[tri] = orders.by_name(folded, columns.noms, by_id)
        else:
            column, _ = orders.COLUMN_OF[tri]
            found[tri] = orders.by_number(orders.keys(tri, stored[column]), by_id)
    return found


def _heads(
    order: Rows, layout: Sequence[Cell], cell_of: NDArray[np.generic]
) -> Iterator[tuple[str, Rows]]:
    """The first rows of `order` in each cell and in each sector, with the key of the place."""
    sectors = sorted({cell.secteur or "-" for cell in layout})
    sector_of_cell = np.array(
        [sectors.index(cell.secteur or "-") for cell in layout], dtype=np.int64
    )
    cell = cell_of[order].astype(np.int64)
    yield from zip((c.place for c in layout), _first(order, cell, len(layout)), strict=True)
    yield from zip(sectors, _first(order, sector_of_cell[cell], len(sectors)), strict=True)


def _first(order: Rows, group: NDArray[np.int64], groups: int) -> Iterator[Rows]:
    """The first TOP_ROWS rows of each group, in `order`."""
    together = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[together], np.arange(groups + 1))
    for first, end in pairwise(bounds.tolist()):
        yield order[together[first : min(end, first + format.TOP_ROWS)]]


def _write_names(tables: dict[bytes, _Table], folded: Sequence[str], ids: Sequence[str]) -> None:
    """Folded names, the index of their words, and identifiers."""
    index = words.build(folded)
    for table, parts in (
        (format.NAME, _texts(texts.pack(folded))),
        (
            format.WORD,
            {
                "postings": index.postings,
                "posting_starts": index.starts,
                "suffixes": index.suffixes,
                **_texts(index.words),
            },
        ),
    ):
        for name in sorted(parts):
            tables[table].append(name.encode(), _raw(parts[name]))
    united = {
        format.interval_key(*interval): rows for interval, rows in words.heavy(index, len(folded))
    }
    for key in sorted(united):
        united[key].run_optimize()
        tables[format.HEAVY].append(key, united[key].serialize())
    ident = idents.build(ids)
    for name, part in sorted({"rows": ident.rows, **_texts(ident.folded)}.items()):
        tables[format.IDENT].append(name.encode(), _raw(part))


def _texts(packed: texts.Texts) -> dict[str, bytes | memoryview | NDArray[np.generic]]:
    return {"data": packed.data, "starts": packed.starts}


def _raw(part: bytes | memoryview | NDArray[np.generic]) -> bytes | memoryview:
    return _packed(part, format.U4) if isinstance(part, np.ndarray) else part


def _packed(values: NDArray[np.generic], dtype: str) -> bytes:
    return np.ascontiguousarray(values, dtype=dtype).tobytes()


def _write_rows(
    tables: dict[bytes, _Table],
    iso2: str,
    count: int,
    layout: Sequence[Cell],
    records: Callable[[range], Iterator[bytes]],
    comptes: Iterable[tuple[int, bytes]],
) -> None:
    """The companies and their statements, and last what the shard says of itself."""
    dictionary = _train(list(records(range(0, count, max(1, count // _SAMPLES)))))
    compress = zstandard.ZstdCompressor(
        level=format.ZSTD_LEVEL,
        dict_data=zstandard.ZstdCompressionDict(dictionary) if dictionary else None,
        write_dict_id=False,
    ).compress
    written = 0
    for written, stored in enumerate(records(range(count)), start=1):
        tables[format.RECORD].append(format.row_key(written - 1), compress(stored))
    if written != count:
        raise OutOfOrderError(f"{written} records were given for {count} rows")
    plain = zstandard.ZstdCompressor(level=format.ZSTD_LEVEL)
    for row, lines in comptes:
        if row >= count:
            raise OutOfOrderError(f"statements were given for row {row} of {count} rows")
        tables[format.COMPTES].append(format.row_key(row), plain.compress(lines))
    meta = {
        format.HEADER: format.pack_header(format.Header(iso2, count)),
        format.CELLS: cells.dump(layout),
        format.DICTIONARY: dictionary,
    }
    for key in sorted(meta):
        tables[format.META].append(key, meta[key])


def _train(samples: Sequence[bytes]) -> bytes:
    """A dictionary of zstd for rows that are like `samples`; empty where it would not pay."""
    if len(samples) < FEWEST_SAMPLES:
        return b""
    try:
        # k and d are given: without them zstd tries many, and takes a minute to choose.
        trained = zstandard.train_dictionary(_DICTIONARY_BYTES, list(samples), k=256, d=8)
    except zstandard.ZstdError:  # rows that are all alike leave nothing to learn
        return b""
    return bytes(trained.as_bytes())
