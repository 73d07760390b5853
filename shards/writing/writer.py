"""The writer of the shard of one country; the file gets its final name when it is complete.

The caller passes the rows in layout order. Orders, lists and indexes are computed here, because the reader depends on
them. The same input gives the same bytes: keys are appended in order, every sort has a total order, and nothing reads
the clock. Names and records become Python objects in batches; only the distinct words of names are objects all at once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import zstandard
from numpy.typing import NDArray

from shards import format
from shards.codec import bands, cells, codes, sort_keys, strings
from shards.codec.arrays import Rows
from shards.codec.cells import Cell
from shards.codec.codes import DistinctValues
from shards.codec.row_sets import Packing
from shards.codec.sort_keys import KeyRuns, SortKeys
from shards.codec.strings import END, Texts
from shards.errors import AmountError, OutOfOrderError
from shards.query import ORDERS
from shards.ratios.accounts import NO_RATIOS, LastYearRatios
from shards.writing import name_index, orders_and_codes
from shards.writing.lmdb_writer import (
    ChunkWriter,
    LmdbWriter,
    ShardTables,
    append_arrays,
    open_writer,
)
from shards.writing.name_index import FoldedNames, FormerNames
from shards.writing.orders_and_codes import FactColumns


class SetTables:
    """The stored row sets (FORMAT.md §8), collected index by index, and written as one array at `close`.

    Sets with equal bytes are stored once, because a text and a longer text often occur in the same names.
    """

    def __init__(self, tables: ShardTables) -> None:
        """Begin without sets; `_places` has the place of each distinct set, `_end` the next free place."""
        self._tables = tables
        # No set begins at place 0, so a reader can use 0 for "no set".
        self._places = {bytes(format.SET_ALIGNMENT): 0}
        self._end = 1

    def write(self, table: bytes, sets: Iterable[tuple[int, bytes]]) -> None:
        """Write the index of sets with numbers as keys; the keys must ascend."""
        keys, places = self._collect(sets)
        append_arrays(self._tables, table, {"keys": np.array(keys, format.U8), "places": places})

    def write_texts(self, table: bytes, sets: Iterable[tuple[bytes, bytes]]) -> None:
        """Write the index of sets with texts as keys; the keys must ascend."""
        keys, places = self._collect(sets)
        texts = strings.pack(key.decode() for key in keys)
        arrays = {"data": texts.data, "starts": texts.starts, "places": places}
        append_arrays(self._tables, table, arrays)

    def close(self) -> None:
        """Write all sets as one value."""
        self._tables.append(format.SET, format.ROWS, b"".join(self._places))
        self._places.clear()

    def _collect(self, sets: Iterable[tuple[Any, bytes]]) -> tuple[list[Any], Any]:
        """The keys of sets, and the places of the sets, in units of SET_ALIGNMENT bytes; new sets get a place."""
        keys, places = [], []
        for key, packed in sets:
            size = -(-len(packed) // format.SET_ALIGNMENT)
            place = self._places.setdefault(
                packed.ljust(size * format.SET_ALIGNMENT, b"\0"), self._end
            )
            if place == self._end:
                self._end += size
            keys.append(key)
            places.append(place)
        return keys, np.array(places, format.U4)


# A zstd dictionary is trained on about _SAMPLES rows; for fewer than FEWEST_SAMPLES it costs more than it saves.
_SAMPLES: Final = 4_000
FEWEST_SAMPLES: Final = 500
_DICTIONARY_BYTES: Final = 112 << 10  # the most bytes of a dictionary
# Rows that are compressed between two reports of progress.
_BATCH: Final = 4_096
# Euros. Sums of squares of amounts up to this are finite. The pipeline omits amounts over 10¹⁵ of their own currency.
LARGEST_AMOUNT: Final = 1e18


@dataclass(frozen=True, slots=True)
class Columns:
    """The fields of the companies of one country for search and sorting: one entry per row, in layout order.

    Layout order is NACE division ascending, group ascending, `ca_eur` descending, `ids` ascending by UTF-8 bytes; nulls
    last.

    Attributes:
        former: the former names, as published (extension X4).
        cells: division, group and number of rows of each cell, in layout order.
        ca_eur, capital_eur: euros; null is NaN.
        effectif: persons; null is `format.EFFECTIF_NULL`.
        dates: numbers yyyymmdd (`sort_keys.date_key`); null is `format.DATE_NULL`.
        score: 0 to 100, never null.
        etat: the index in `query.STATES`.
        texts: `forme`, `nace`, `ville` and `code_postal`.
        actif_eur: total assets, euros and cents; null is NaN.
        tranche: the bands of headcount, as published.
        numbers: the LEI and VAT numbers, each with its row (`codes.ALIASES`).
    """

    ids: Texts
    noms: Texts
    former: FormerNames
    cells: Sequence[tuple[str | None, str | None, int]]
    ca_eur: NDArray[np.float64]
    effectif: NDArray[np.int32]
    dates: NDArray[np.int32]
    capital_eur: NDArray[np.float64]
    score: NDArray[np.int16]
    site_web: NDArray[np.bool_]
    etat: NDArray[np.uint8]
    texts: Mapping[str, DistinctValues]
    actif_eur: NDArray[np.float64]
    tranche: DistinctValues
    numbers: Sequence[tuple[int, str]] = ()


def write(
    path: Path,
    iso2: str,
    columns: Columns,
    records: Callable[[range], Iterator[bytes]],
    comptes: Iterable[tuple[int, bytes]],
    progress: Callable[[int], object] = lambda _: None,
    ratios: LastYearRatios = NO_RATIOS,
) -> None:
    """Write the shard of `iso2` to `path`.

    Args:
        records: returns the stored bytes (`record.encode`) of a range of rows. It is called twice: for a sample to
            train the compression on, then for all rows.
        comptes: rows with statements, ascending, each with the JSON of its statement lines (contract E5).
        progress: called repeatedly with the number of rows written since the last call.
        ratios: one value for each row of `comptes`.

    Raises:
        OutOfOrderError: the rows are not in layout order, or an identifier occurs twice; `path` is unchanged.
        AmountError: an amount is over LARGEST_AMOUNT; `path` is unchanged.
    """
    with open_writer(path) as tables:
        indexed = append_indexes(tables, iso2, columns)
        rows = len(columns.ca_eur)
        _write_rows(tables, rows, records, _train_dictionary(records, rows), progress)
        with_statements = _write_comptes(tables, rows, comptes)
        append_columns(tables, columns, indexed, with_statements, ratios)


class IndexedRows(NamedTuple):
    """The cells of a shard, the keys of its orders by `tri`, and its facts."""

    layout: Sequence[Cell]
    runs: Mapping[str, KeyRuns]
    facts: FactColumns


def append_indexes(tables: ShardTables, iso2: str, columns: Columns) -> IndexedRows:
    """Append the header, the cells, the orders, and the indexes of names, identifiers and numbers.

    Returns the cells, the keys of the orders, and the facts, which `append_columns` needs next.

    Raises:
        OutOfOrderError: the rows are not in layout order, or an identifier occurs twice.
        AmountError: an amount is over LARGEST_AMOUNT.
    """
    _check_texts("ids", columns.ids, len(columns.ca_eur))
    _check_texts("noms", columns.noms, len(columns.ca_eur))
    _check_texts("former", columns.former.noms, len(columns.former.rows))
    for name in ("ca_eur", "capital_eur", "actif_eur"):
        _check_amounts(name, columns)
    by_id = _sort_by_id(columns)
    layout = _make_layout(columns, by_id)
    names = name_index.fold_names(columns.noms, columns.former)
    by_name = name_index.sort_names(names, columns.noms, by_id)
    facts = orders_and_codes.facts(columns.effectif, columns.site_web)
    packing, runs = _write_orders(tables, columns, facts, layout, by_name, by_id)
    sets = _write_names(tables, names, packing)
    _write_identifiers(tables, columns.ids, by_id, packing, sets)
    append_arrays(tables, format.ALIAS, codes.alias_table(columns.numbers))
    for key, value in (
        (format.CELLS, cells.dump(layout)),
        (format.HEADER, format.pack_header(format.Header(iso2, len(by_id)))),
        (format.LONGEST, orders_and_codes.longest_step(runs["ca_desc"])),
    ):
        tables.append(format.META, key, value)
    return IndexedRows(layout, runs, facts)


def append_columns(
    tables: ShardTables,
    columns: Columns,
    indexed: IndexedRows,
    with_statements: Rows,
    ratios: LastYearRatios,
) -> None:
    """Append the ratios, and the columns of facts and codes.

    Args:
        indexed: the result of `append_indexes`.
        with_statements: the rows that have statements, ascending.
        ratios: one value for each of these rows.

    Raises:
        OutOfOrderError: the ratios are of another number of rows, or a text has a line break inside.
    """
    if any(len(values) != len(with_statements) for values in ratios.arrays.values()):
        raise OutOfOrderError(
            f"the ratios do not have {len(with_statements)} values, one for each row with statements; give one for each"
        )
    append_arrays(tables, format.RATIO, {**ratios.arrays, **ratios.orders()})
    coded = orders_and_codes.code_tables(
        columns.etat,
        with_statements,
        columns.texts,
        columns.actif_eur,
        bands.headcount_codes(columns.effectif, columns.tranche),
        indexed.runs,
        indexed.layout,
    )
    append_arrays(tables, format.COLUMN, coded.column | {"facts": indexed.facts.values})
    append_arrays(tables, format.CODE, coded.code)


def _check_texts(name: str, texts: Texts, rows: int) -> None:
    """Check that a column has one text per row, without line breaks inside."""
    ends = np.frombuffer(texts.data, dtype=np.uint8) == END[0]
    if len(texts) != rows or int(np.count_nonzero(ends)) != rows:
        raise OutOfOrderError(
            f"{name}: {len(texts)} texts with {int(np.count_nonzero(ends))} ends of line for "
            f"{rows} rows; give one text per row, without a line break inside"
        )


def _check_amounts(name: str, columns: Columns) -> None:
    """Raise AmountError if a column has an amount over LARGEST_AMOUNT."""
    amounts: NDArray[np.float64] = getattr(columns, name)
    too_large = np.flatnonzero(np.abs(amounts) > LARGEST_AMOUNT)
    if len(too_large):
        row = int(too_large[0])
        raise AmountError(
            f"company {columns.ids[row].decode()!r}: {name} is {amounts[row]:g}, over {LARGEST_AMOUNT:g} euros; "
            "correct the amount or leave it out"
        )


def _sort_by_id(columns: Columns) -> Rows:
    """The rows by identifier.

    Raises:
        OutOfOrderError: an identifier occurs twice.
    """
    ordered = strings.sort_texts(columns.ids)
    repeated = np.flatnonzero(ordered.group[1:] == ordered.group[:-1])
    if len(repeated):
        identifier = columns.ids[int(ordered.rows[repeated[0]])].decode()
        raise OutOfOrderError(f"identifier {identifier!r} comes twice; give each company once")
    return ordered.rows


def _make_layout(columns: Columns, by_id: Rows) -> list[Cell]:
    """The cells of the layout: rows, rows with a turnover and rows with a website of each sector and sub-sector.

    Raises:
        OutOfOrderError: the rows are not in layout order.
    """
    layout: list[Cell] = []
    start = 0
    for secteur, sous_secteur, rows in columns.cells:
        stop = start + rows
        part = slice(start, stop)
        with_ca = start + int(np.count_nonzero(~np.isnan(columns.ca_eur[part])))
        with_site = int(np.count_nonzero(columns.site_web[part]))
        layout.append(Cell(secteur, sous_secteur, start, with_ca, stop, with_site))
        start = stop
    if start != len(by_id) or any(
        _cell_sort_key(after) <= _cell_sort_key(before) for before, after in pairwise(layout)
    ):
        raise OutOfOrderError(
            f"the cells have {start} rows of {len(by_id)}, or are not in order; give each sector "
            "and sub-sector once, ascending, null last"
        )
    _check_order(columns, by_id, [cell.start for cell in layout])
    return layout


def _cell_sort_key(cell: Cell) -> tuple[bool, str, bool, str]:
    """The sort key of a cell in layout order; null sectors and sub-sectors come last."""
    secteur, sous_secteur = cell.secteur, cell.sous_secteur
    return secteur is None, secteur or "", sous_secteur is None, sous_secteur or ""


def _check_order(columns: Columns, by_id: Rows, starts: Sequence[int]) -> None:
    """Check that rows are in order within each cell: turnover descending, null last, then identifier.

    `starts` are the first rows of the cells.

    Raises:
        OutOfOrderError: a row does not come after the row before it.
    """
    key = np.where(np.isnan(columns.ca_eur), np.inf, -columns.ca_eur)
    id_ranks = sort_keys.ranks(by_id)
    is_later = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & (id_ranks[1:] > id_ranks[:-1]))
    # The first row of a cell can follow any row, since only rows of one cell are compared.
    is_later[[start - 1 for start in starts if start]] = True
    if not is_later.all():
        row = int(np.argmin(is_later)) + 1
        raise OutOfOrderError(
            f"row {row} ({columns.ids[row].decode()!r}) does not come after the row before it in "
            "layout order; sort by sector, sub-sector, turnover descending, identifier"
        )


def _write_orders(
    tables: ShardTables,
    columns: Columns,
    facts: FactColumns,
    layout: Sequence[Cell],
    by_name: Rows,
    by_id: Rows,
) -> tuple[Packing, Mapping[str, KeyRuns]]:
    """Write the orders, the ranks (the place of each row in an order) and the lists of first rows of large cells.

    Returns the encoder of row sets, which stores the first rows of a set in each order, and the keys of each order.
    """
    keys = _order_keys(columns)
    orders = orders_and_codes.row_orders(keys, by_name, by_id)
    ranks = {tri: sort_keys.ranks(order) for tri, order in orders.items()}
    runs = orders_and_codes.key_runs(keys, orders)
    for entries in (
        orders_and_codes.orders_and_ranks(keys, orders, ranks, runs),
        orders_and_codes.facts_along_orders(keys, facts, orders),
        orders_and_codes.top_lists(orders, ranks, cells.layout(layout)),
    ):
        for entry in entries:
            tables.append(*entry)
    return Packing(len(by_id), [orders[tri] for tri in ORDERS]), runs


def _order_keys(columns: Columns) -> dict[str, SortKeys]:
    """The key of each row in each order with stored keys."""
    values: Mapping[str, tuple[NDArray[Any], int | None]] = {
        "ca_desc": (columns.ca_eur, None),
        "capital_desc": (columns.capital_eur, None),
        "effectif_desc": (columns.effectif, format.EFFECTIF_NULL),
        "recent": (columns.dates, format.DATE_NULL),
        "score": (columns.score, None),
    }
    return {
        tri: sort_keys.descending_keys(column, format.KEYS[tri], null)
        for tri, (column, null) in values.items()
    }


def _write_names(tables: ShardTables, names: FoldedNames, packing: Packing) -> SetTables:
    """Write the folded names, the index of their words, and the row sets of frequent texts.

    Returns the writer of row sets, to which `_write_identifiers` adds the sets of prefixes before it closes it.
    """
    postings = name_index.make_postings(names)
    suffixes = name_index.suffixes(names.words)
    parts: dict[bytes, dict[str, Any]] = {
        format.NAME: {"tokens": names.tokens, "starts": names.starts},
        format.WORD: {
            "posting_starts": postings.starts,
            "postings": postings.rows,
            "owners": name_index.word_owners(names.words),
            "suffix_keys": name_index.sample_keys(names.words.data, suffixes),
            "suffixes": suffixes,
            **_text_arrays(names.words),
        },
    }
    for table, values in parts.items():
        append_arrays(tables, table, values)
    heavy = name_index.heavy_sets(names.words, suffixes, postings, packing)
    sets = SetTables(tables)
    sets.write(format.HEAVY, sorted(heavy))
    sets.write(format.JUNCTION, name_index.junction_sets(names, packing))
    sets.write_texts(format.PHRASE, name_index.phrase_sets(names, packing))
    return sets


def _write_identifiers(
    tables: ShardTables, ids: Texts, by_id: Rows, packing: Packing, sets: SetTables
) -> None:
    """Write the index of identifiers and the row sets of frequent prefixes, then close `sets`."""
    folded = name_index.fold_ids(ids)
    by_folded = by_id if folded is ids else strings.sort_texts(folded).rows
    ordered = name_index.take_texts(folded, by_folded)
    keys = name_index.sample_keys(ordered.data, ordered.starts[:-1])
    arrays = {"rows": by_folded, "keys": keys, **_text_arrays(ordered)}
    if name_index.common_width(ordered):
        arrays["starts"] = ordered.starts[:2]  # all texts are as long as the first
    append_arrays(tables, format.IDENT, arrays)
    sets.write(format.PREFIX, name_index.prefix_sets(ordered, by_folded, packing))
    sets.close()


def _text_arrays(texts: Texts) -> dict[str, Any]:
    """The entries of a table with this list of texts, by key."""
    return {"data": texts.data, "starts": texts.starts}


def _write_rows(
    tables: LmdbWriter,
    count: int,
    records: Callable[[range], Iterator[bytes]],
    dictionary: bytes,
    progress: Callable[[int], object],
) -> None:
    """Write the records of all companies, compressed, and their compression dictionary.

    `records` gives the records of a range of rows; `progress` gets the number of rows of each batch.

    Raises:
        OutOfOrderError: there are more or fewer than `count` records, or a record is too large for readers.
    """
    compress = _compressor(dictionary)
    stored_records = records(range(count))
    chunks = ChunkWriter(tables, format.RECORD)
    while batch := list(islice(stored_records, _BATCH)):
        for stored in batch:
            _check_size(stored, format.MOST_RECORD, chunks.count, "record")
            chunks.append(compress(stored).removeprefix(format.ZSTD_MAGIC))
        progress(len(batch))
    if chunks.count != count:
        raise OutOfOrderError(
            f"{chunks.count} records were given for {count} rows; give one for each"
        )
    chunks.close(dictionary=dictionary)


def _compressor(dictionary: bytes) -> Callable[[bytes], bytes]:
    """A function that compresses a record with this dictionary, which can be empty."""
    parameters = zstandard.ZstdCompressionParameters.from_level(
        format.RECORD_LEVEL, source_size=1 << 10, dict_size=len(dictionary),
        min_match=format.RECORD_MATCH, window_log=format.RECORD_WINDOW,
        search_log=format.RECORD_SEARCH, write_dict_id=False,
    )  # fmt: skip
    compression = None
    if dictionary:
        compression = zstandard.ZstdCompressionDict(dictionary)
        # Otherwise each row prepares the dictionary again.
        compression.precompute_compress(compression_params=parameters)
    return zstandard.ZstdCompressor(compression_params=parameters, dict_data=compression).compress


def _write_comptes(tables: LmdbWriter, count: int, comptes: Iterable[tuple[int, bytes]]) -> Rows:
    """Write the statements of companies; return the rows that have statements, ascending.

    `count` is the number of all rows; `comptes` gives each row with its statements.

    Raises:
        OutOfOrderError: a row does not exist or is out of order, or its statements are too large for readers.
    """
    compressor = zstandard.ZstdCompressor(level=format.ZSTD_LEVEL)
    rows: list[int] = []
    chunks = ChunkWriter(tables, format.COMPTES)
    for row, lines in comptes:
        if row >= count:
            raise OutOfOrderError(
                f"statements were given for row {row} of {count} rows; give statements for existing rows only"
            )
        rows.append(row)
        _check_size(lines, format.MOST_STATEMENTS, row, "statements")
        chunks.append(compressor.compress(lines))
    if any(after <= row for row, after in pairwise(rows)):
        raise OutOfOrderError("statements were not given in the order of rows; sort them by row")
    with_statements = np.array(rows, np.uint32)
    chunks.close(rows=with_statements)
    return with_statements


def _check_size(stored: bytes, most: int, row: int, name: str) -> None:
    """Check that a record or statements have no more bytes than readers accept."""
    if len(stored) > most:
        # A record begins with eight bytes of lengths, then its text.
        raise OutOfOrderError(
            f"the {name} of row {row} ({stored[8:80].decode(errors='replace')}…) has {len(stored)} bytes, and "
            f"{most} is the maximum of a reader; shorten its texts"
        )


def _train_dictionary(records: Callable[[range], Iterator[bytes]], count: int) -> bytes:
    """A zstd dictionary that is trained on some of these records; empty if it would cost more than it saves."""
    samples = list(records(range(0, count, max(1, count // _SAMPLES))))
    if len(samples) < FEWEST_SAMPLES:
        return b""
    try:
        # Without k and d, zstd tries many values, which takes a minute.
        trained = zstandard.train_dictionary(_DICTIONARY_BYTES, [*samples], k=256, d=8)
    except zstandard.ZstdError:  # the rows are too similar to train on
        return b""
    return bytes(trained.as_bytes())
