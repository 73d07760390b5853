"""A query in the form that the kernel reads: `q` folded and split into words, bounds as keys.

`QueryMemory.write` does the work that is the same for all shards, once for each search. `shards/kernel` does the rest.
"""

from array import array
from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Final

import numpy as np

from shards import format
from shards.codec import record
from shards.codec.codes import COMPARED, amount_bound
from shards.codec.folding import fold, fold_id
from shards.codec.strings import END, bounds, pair_key
from shards.kernel import types
from shards.kernel.memory import Memory, view
from shards.query import ORDERS, STATES, Query, Range
from shards.reader.lookups import rows_equal_to
from shards.search.columns import COLUMNS
from shards.search.generation_arrays import GenerationArrays
from shards.search.result_page import RecordJoiner

# The filters on columns of codes, without bounds, each with the bit of its column.
_FILTER_BITS: Final = tuple(
    (filter_, 1 << column.number)
    for column in COLUMNS.values()
    if column.number >= 0 and not column.keys
    for filter_ in (column.among, column.beginning, column.flag)
    if filter_
)
# The text columns: number, filter, the end of a complete text (empty if the filter lists prefixes), and the function
# that folds a text for comparison.
_TEXT_COLUMNS: Final = tuple(
    (
        column.number,
        column.beginning or column.among,
        b"" if column.beginning else END,
        column.compared,
    )
    for name, column in COLUMNS.items()
    if name in COMPARED
)
# The flags that require a value in a column with bounds, each with its column.
_REQUIRED_VALUES: Final = tuple(
    (column.flag, name) for name, column in COLUMNS.items() if column.keys and column.flag
)

# Estimated nanoseconds, measured on 2.8 million rows. Their ratios choose the fastest way to search; their sum decides
# whether a search exceeds its budget.
SPAN_COST: float = 25.0  # to start a sequential scan of one range of rows
ADJACENT_COST: float = 0.3  # to test one row in a sequential scan, except its codes
CODE_COST: float = 0.05  # to compare one byte of a code in a sequential scan
LISTED_COST: float = 4.0  # to test one row at a random place in memory
START_COST: float = 300.0  # to start to read an order row by row, or to rank rows
# If the conditions on codes leave less than this share of the rows, the matches are listed while they are counted,
# which costs little for so few rows and saves a second scan for the page.
SPARSE: float = 0.004
# The most matches of a shard that are listed while they are counted; more matches are listed only if a page needs them.
ROOM: int = 1 << 16
# The first head of a shard has SPARE rows, and SHARES times the number of rows that the page is expected to contain of
# the shard. So few shards need a second, longer head.
SPARE: int = 4
SHARES: int = 2

# The number of leading fields of `types.KernelQuery` that change by search; all of these fields are numbers.
_CHANGING_FIELDS: Final = list(types.KernelQuery.__annotations__).index("head_rows")
_LIST_LENGTH: Final = 1_024  # the length of the lists of words and, at first, of other texts
# The number in the kernel of each order of `tri`.
_ORDER_NUMBERS: Final = {tri: number for number, tri in enumerate(ORDERS)}


class QueryMemory:
    """The memory of a `types.KernelQuery`, and of the lists that it refers to.

    Attributes:
        record: the last query written.
        address: the address of the record for compiled functions; it may change at the next `write`.
    """

    def __init__(self, arrays: GenerationArrays, joiner: RecordJoiner) -> None:
        """Allocate the memory; `joiner` reads the records of the companies in `ids`."""
        self._arrays, self._joiner = arrays, joiner
        self._memory = Memory()
        self._text_room = _LIST_LENGTH  # grows with a query of more texts or identifiers
        self._allocate()

    def _allocate(self) -> None:
        """Allocate the record of the query and its arrays, with room for `_text_room` texts or identifiers.

        The constants of the estimates of cost are set here; `write` sets the fields that change with each query. Sets
        `record`, `address`, and the arrays that `write` fills.
        """
        kernel_query = self.record = types.KernelQuery()
        for name in list(types.KernelQuery.__annotations__)[:_CHANGING_FIELDS]:
            setattr(kernel_query, name, 0)
        kernel_query.head_rows, kernel_query.top_rows = format.HEAD_ROWS, format.TOP_ROWS
        kernel_query.room, kernel_query.spare, kernel_query.shares = ROOM, SPARE, SHARES
        kernel_query.span_cost, kernel_query.adjacent_cost = SPAN_COST, ADJACENT_COST
        kernel_query.code_cost, kernel_query.sparse = CODE_COST, SPARSE
        kernel_query.listed_cost, kernel_query.start_cost = LISTED_COST, START_COST
        self._shard_numbers = kernel_query.shards = zero_i64s(len(self._arrays.shards))
        self._scope_codes = kernel_query.scope_codes = zero_i64s(
            len(self._arrays.cells) + len(self._arrays.sectors)
        )
        self._word_starts = kernel_query.word_starts = zero_i64s(_LIST_LENGTH)
        self._junctions = kernel_query.junctions = zero_i64s(_LIST_LENGTH).cast("B").cast("Q")
        shards = len(self._arrays.shards)
        self._assets_low, self._assets_high = np.zeros(shards, np.int64), np.zeros(shards, np.int64)
        self._value_columns = kernel_query.value_columns = zero_i64s(self._text_room)
        self._value_starts = kernel_query.value_starts = zero_i64s(self._text_room + 1)
        self._given_starts = np.zeros(shards + 1, np.int64)
        self._given_rows = np.zeros(self._text_room, np.int64)
        kernel_query.assets_low, kernel_query.assets_high = (
            view(self._assets_low),
            view(self._assets_high),
        )
        self._least_keys = kernel_query.least_keys = zero_i64s(types.COLUMNS)
        self._greatest_keys = kernel_query.greatest_keys = zero_i64s(types.COLUMNS)
        kernel_query.given_starts, kernel_query.given_rows = (
            view(self._given_starts),
            view(self._given_rows),
        )
        kernel_query.text = kernel_query.endings = kernel_query.prefix = kernel_query.values = (
            memoryview(b"")
        )
        self._placed = self._memory.place_mutable(kernel_query, _CHANGING_FIELDS)
        self.address: int = self._placed.address

    def write(
        self, query: Query, offset: int, limit: int, census: int, budget: float
    ) -> tuple[bytes, bytes, bytes, bytes] | None:
        """Write a query; None if no company can match the query (contract B9, B16, crossed bounds).

        Returns:
            `text`, `endings`, `prefix` and `values`, which each call passes to the kernel.
        """
        texts = _value_texts(query)
        if texts is None or query.ids == () or query.sous_secteurs == ():
            return None
        if max(len(texts), len(query.ids or ())) > self._text_room:
            self._text_room = max(len(texts), len(query.ids or ()))
            self._allocate()
        name = self._write_name(query.q)
        if name is None or not self._write_bounds(query):
            return None
        kernel_query = self.record
        kernel_query.tri, kernel_query.offset, kernel_query.limit = (
            _ORDER_NUMBERS[query.tri],
            offset,
            limit,
        )
        kernel_query.census, kernel_query.budget = census, budget
        kernel_query.website = query.site_web
        kernel_query.states = sum(1 << STATES.index(etat) for etat in set(query.etats))
        for filter_, bit in _FILTER_BITS:
            if getattr(query, filter_):
                kernel_query.columns |= bit
        numbers = self._arrays.numbers
        shard_numbers = (
            sorted({numbers[iso2] for iso2 in query.pays}) if query.pays else numbers.values()
        )
        kernel_query.shard_count = len(shard_numbers)
        self._shard_numbers[: len(shard_numbers)] = array("q", shard_numbers)
        self._write_scope(query)
        kernel_query.value_count = len(texts)
        for place, (number, text) in enumerate(texts):
            self._value_columns[place] = number
            self._value_starts[place + 1] = self._value_starts[place] + len(text)
        kernel_query.has_ids = query.ids is not None
        if query.ids is not None:
            self._write_ids(query.ids)
        self._placed.write()
        return *name, b"".join([text for _, text in texts])

    def _write_name(self, q: str | None) -> tuple[bytes, bytes, bytes] | None:
        """Write `q`, folded (contract B15); returns `text`, `endings` and `prefix`, or None if `q` has no word.

        The words of `q` must be adjacent in a name: the first word ends a word of the name, the last word begins one.
        """
        kernel_query = self.record
        kernel_query.word_count = 0
        if q is None:
            return b"", b"", b""
        words = fold(q).split()
        if not words:
            return None
        encoded_words = [word.encode() for word in words]
        for number, encoded_word in enumerate(encoded_words):
            self._word_starts[number + 1] = self._word_starts[number] + len(encoded_word) + 1
        for number, (word, next_word) in enumerate(pairwise(words)):
            self._junctions[number] = pair_key((word[-1] + next_word[0]).encode())
        text, endings, prefix = (
            b" ".join(encoded_words),
            encoded_words[0] + END,
            fold_id(q).encode(),
        )
        kernel_query.word_count, kernel_query.text_size = len(encoded_words), len(text)
        kernel_query.single_characters = [len(word) for word in words] == [1, 1]
        kernel_query.suffix_low, kernel_query.suffix_high = bounds(text[: format.SUFFIX_BYTES])
        kernel_query.ending_low, kernel_query.ending_high = bounds(endings[: format.SUFFIX_BYTES])
        kernel_query.prefix_size = len(prefix)
        kernel_query.prefix_low, kernel_query.prefix_high = bounds(prefix)
        return text, endings, prefix

    def _write_bounds(self, query: Query) -> bool:
        """Write the bounds of the query as keys, and set the bits of their columns in `columns`.

        Returns False if a lower bound exceeds its upper bound, so that no company can match; else True.
        """
        kernel_query = self.record
        kernel_query.has_turnover = kernel_query.has_headcount = kernel_query.columns = 0
        ranges = [
            range_ for range_ in query.ranges if range_.least is not None or range_.most is not None
        ]
        # A flag such as `avec_ca` is a range without bounds, unless the column already has bounds.
        for flag, name in _REQUIRED_VALUES:
            if getattr(query, flag) and all(range_.column != name for range_ in ranges):
                ranges.append(Range(name))
        for range_ in ranges:
            column = COLUMNS[range_.column]
            assert column.keys is not None
            low, high = column.keys(range_)
            if low > high:
                return False
            if range_.column == "ca_eur":
                kernel_query.has_turnover = 1
                kernel_query.any_turnover = low == -inf and high == inf
                kernel_query.turnover_low, kernel_query.turnover_high = low, high
            elif range_.column == "effectif":
                kernel_query.has_headcount = 1
                kernel_query.headcount_low, kernel_query.headcount_high = int(low), int(high)
            elif column.number == types.ACTIF:
                for shard, amounts in enumerate(self._arrays.amounts):
                    self._assets_low[shard] = amount_bound(amounts, low, after=False)
                    self._assets_high[shard] = amount_bound(amounts, high, after=True)
            else:
                self._least_keys[column.number] = int(low)
                self._greatest_keys[column.number] = int(high)
            if column.number >= 0:
                kernel_query.columns |= 1 << column.number
        return True

    def _write_scope(self, query: Query) -> None:
        """Write which sectors or cells the query allows (`scope`), by number, ascending.

        Sectors or sub-sectors that no company has are left out; with sub-sectors, the scope is cells.
        """
        arrays, kernel_query = self._arrays, self.record
        if query.sous_secteurs is not None:
            groups = (arrays.groups.get(group, ()) for group in query.sous_secteurs)
            cells = (cell for group in groups for cell in group)
            numbers = {
                arrays.cells[cell]
                for cell in cells
                if cell[0] in query.secteurs or not query.secteurs
            }
            kernel_query.scope = types.CELLS
        else:
            numbers = {arrays.sectors[code] for code in query.secteurs if code in arrays.sectors}
            kernel_query.scope = types.SECTORS if query.secteurs else types.EVERYWHERE
        kernel_query.scope_count = len(numbers)
        self._scope_codes[: len(numbers)] = array("q", sorted(numbers))

    def _write_ids(self, ids: Sequence[tuple[str, str]]) -> None:
        """Write the rows of the companies in `ids` to `given_rows`, and where the rows of each shard begin.

        These starts are written to `given_starts`. Companies that do not exist are left out.
        """
        pairs = set(ids)
        # The rows whose identifiers have the letters and digits of a wanted identifier; the records decide.
        same_letters: set[tuple[str, int]] = set()
        for iso2, identifier in pairs:
            number = self._arrays.numbers.get(iso2, -1)
            if number >= 0:
                rows = rows_equal_to(self._arrays.shards[number].idents, fold_id(identifier))
                same_letters.update((iso2, row) for row in rows.tolist())
        ordered = sorted(same_letters)
        companies = record.companies(self._joiner.join(ordered, coordonnees=False))
        places = [
            (self._arrays.numbers[iso2], row)
            for (iso2, row), company in zip(ordered, companies, strict=True)
            if (iso2, company["id"]) in pairs
        ]
        numbers = np.array([number for number, _ in places], np.int64)
        self._given_starts[:] = numbers.searchsorted(np.arange(len(self._given_starts)))
        self._given_rows[: len(places)] = [row for _, row in places]


def _value_texts(query: Query) -> list[tuple[int, bytes]] | None:
    """The texts of forms, towns, postcodes and activities, each with its column; a text that is no prefix ends with 0A.

    None if a filter cannot match any company.
    """
    activities = query.nace
    if query.activites:  # complete classes: no class is a prefix of another class
        activities = tuple(code for code in query.activites if code.startswith(query.nace or ""))
        if not activities:
            return None
    texts: list[tuple[int, bytes]] = []
    for number, filter_, end, compared in _TEXT_COLUMNS:
        values = activities if number == types.NACE else getattr(query, filter_)
        if values:
            folded = sorted({compared(value) for value in values} - {""})
            if not folded:
                return None
            texts += [(number, text.encode() + end) for text in folded]
    return texts


def zero_i64s(count: int) -> memoryview:
    """An array of `count` 64-bit zeros, for a field of a record of the kernel."""
    return memoryview(array("q", bytes(8 * count)))
