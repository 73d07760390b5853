"""A query as the kernel reads it: folded and split into parts, bounds turned into keys, written for each search.

`QueryMemory.write` does all that does not depend on the shard; `shards/kernel` does the rest for each shard.
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

# The filters that a column of codes answers, bounds apart, each with the bit of the column.
_CODED: Final = tuple(
    (filter_, 1 << one.number)
    for one in COLUMNS.values()
    if one.number >= 0 and not one.keys
    for filter_ in (one.among, one.beginning, one.flag)
    if filter_
)
# The columns in which the kernel looks the texts of a filter up, with what ends a whole text.
_TEXTS: Final = tuple(
    (one.number, one.beginning or one.among, b"" if one.beginning else END, one.compared)
    for name, one in COLUMNS.items()
    if name in COMPARED
)
# The flags that want a value of a column with bounds to be known.
_KNOWN: Final = tuple((one.flag, name) for name, one in COLUMNS.items() if one.keys and one.flag)

# Nanoseconds, measured on 2.8 million rows; only their ratios matter.
SPAN: float = 25.0  # a range of rows
ALONG: float = 0.3  # a row tested beside its neighbours
CODED: float = 0.05  # a byte of a code beside its neighbours
LISTED: float = 4.0  # a row tested by its number
START: float = 300.0  # a walk, or rows to rank
# Where codes leave less than this share of the rows, these are listed while they are counted.
SPARSE: float = 0.004
# Rows that are listed while they are counted; more are listed only if a page needs it.
ROOM: int = 1 << 16
# What a shard is asked for at first: this many rows, and this many times its share of the page.
SPARE: int = 4
SHARES: int = 2

# The fields of `types.KernelQuery` that differ from search to search, all of them numbers.
_CHANGING: Final = list(types.KernelQuery.__annotations__).index("head_rows")
_WORDS: Final = 1_024
_NUMBERS: Final = {tri: number for number, tri in enumerate(ORDERS)}


class QueryMemory:
    """The memory of a `types.KernelQuery`, and of the lists that it refers to.

    Attributes:
        record: the query that was written last.
        address: that of the record for compiled functions; it may change at the next `write`.
    """

    def __init__(self, arrays: GenerationArrays, joiner: RecordJoiner) -> None:
        self._arrays, self._joiner = arrays, joiner
        self._memory = Memory()
        self._values = _WORDS
        self._make()

    def _make(self) -> None:
        made = self.record = types.KernelQuery()
        for name in list(types.KernelQuery.__annotations__)[:_CHANGING]:
            setattr(made, name, 0)
        made.head_rows, made.top_rows = format.HEAD_ROWS, format.TOP_ROWS
        made.room, made.spare, made.shares = ROOM, SPARE, SHARES
        made.span_cost, made.along_cost = SPAN, ALONG
        made.code_cost, made.sparse = CODED, SPARSE
        made.listed_cost, made.start_cost = LISTED, START
        self._chosen = made.shards = zero_i64s(len(self._arrays.shards))
        self._codes = made.scope_codes = zero_i64s(
            len(self._arrays.cells) + len(self._arrays.sectors)
        )
        self._starts = made.word_starts = zero_i64s(_WORDS)
        self._junctions = made.junctions = zero_i64s(_WORDS).cast("B").cast("Q")
        shards = len(self._arrays.shards)
        self._lows, self._highs = np.zeros(shards, np.int64), np.zeros(shards, np.int64)
        self._value_columns = made.value_columns = zero_i64s(self._values)
        self._value_starts = made.value_starts = zero_i64s(self._values + 1)
        self._given_starts = np.zeros(shards + 1, np.int64)
        self._given_rows = np.zeros(self._values, np.int64)
        made.assets_low, made.assets_high = view(self._lows), view(self._highs)
        self._least_keys = made.least_keys = zero_i64s(types.COLUMNS)
        self._greatest_keys = made.greatest_keys = zero_i64s(types.COLUMNS)
        made.given_starts, made.given_rows = view(self._given_starts), view(self._given_rows)
        made.text = made.endings = made.prefix = made.values = memoryview(b"")
        self._placed = self._memory.place_mutable(made, _CHANGING)
        self.address: int = self._placed.address

    def write(
        self, query: Query, offset: int, limit: int, census: int, budget: float
    ) -> tuple[bytes, bytes, bytes, bytes] | None:
        """Write a query; None if nothing can match it (contract B9, B16, crossed bounds).

        Returns:
            `text`, `endings`, `prefix` and `values`, which the kernel is given with each call.
        """
        texts = _texts(query)
        if texts is None or query.ids == () or query.sous_secteurs == ():
            return None
        if max(len(texts), len(query.ids or ())) > self._values:
            self._values = max(len(texts), len(query.ids or ()))
            self._make()
        name = self._write_name(query.q)
        if name is None or not self._write_bounds(query):
            return None
        written = self.record
        written.tri, written.offset, written.limit = _NUMBERS[query.tri], offset, limit
        written.census, written.budget = census, budget
        written.website = query.site_web
        written.states = sum(1 << STATES.index(etat) for etat in set(query.etats))
        for filter_, bit in _CODED:
            if getattr(query, filter_):
                written.columns |= bit
        numbers = self._arrays.numbers
        chosen = sorted({numbers[iso2] for iso2 in query.pays}) if query.pays else numbers.values()
        written.shard_count = len(chosen)
        self._chosen[: len(chosen)] = array("q", chosen)
        self._write_scope(query)
        written.value_count = len(texts)
        for place, (number, text) in enumerate(texts):
            self._value_columns[place] = number
            self._value_starts[place + 1] = self._value_starts[place] + len(text)
        written.given = query.ids is not None
        if query.ids is not None:
            self._write_ids(query.ids)
        self._placed.write()
        return *name, b"".join([text for _, text in texts])

    def _write_name(self, q: str | None) -> tuple[bytes, bytes, bytes] | None:
        """Write `q`, folded (contract B15); returns its texts, or None if it has no word.

        Its words must be neighbours in a name; the first one ends a word of the name, the last one begins a word.
        """
        written = self.record
        written.word_count = 0
        if q is None:
            return b"", b"", b""
        words = fold(q).split()
        if not words:
            return None
        parts = [word.encode() for word in words]
        for number, part in enumerate(parts):
            self._starts[number + 1] = self._starts[number] + len(part) + 1
        for number, (word, other) in enumerate(pairwise(words)):
            self._junctions[number] = pair_key((word[-1] + other[0]).encode())
        text, endings, prefix = b" ".join(parts), parts[0] + END, fold_id(q).encode()
        written.word_count, written.text_size = len(parts), len(text)
        written.single_characters = [len(word) for word in words] == [1, 1]
        written.suffix_low, written.suffix_high = bounds(text[: format.SUFFIX_BYTES])
        written.ending_low, written.ending_high = bounds(endings[: format.SUFFIX_BYTES])
        written.prefix_size = len(prefix)
        written.prefix_low, written.prefix_high = bounds(prefix)
        return text, endings, prefix

    def _write_bounds(self, query: Query) -> bool:
        """Write bounds as keys, and the bits of their columns; false if some are crossed."""
        written = self.record
        written.has_turnover = written.has_headcount = written.columns = 0
        ranges = [
            wanted for wanted in query.ranges if wanted.least is not None or wanted.most is not None
        ]
        for flag, name in _KNOWN:
            if getattr(query, flag) and all(wanted.column != name for wanted in ranges):
                ranges.append(Range(name))
        for wanted in ranges:
            column = COLUMNS[wanted.column]
            assert column.keys is not None
            low, high = column.keys(wanted)
            if low > high:
                return False
            if wanted.column == "ca_eur":
                written.has_turnover = 1
                written.any_turnover = low == -inf and high == inf
                written.turnover_low, written.turnover_high = low, high
            elif wanted.column == "effectif":
                written.has_headcount = 1
                written.headcount_low, written.headcount_high = int(low), int(high)
            elif column.number == types.ACTIF:
                for shard, amounts in enumerate(self._arrays.amounts):
                    self._lows[shard] = amount_bound(amounts, low, after=False)
                    self._highs[shard] = amount_bound(amounts, high, after=True)
            else:
                self._least_keys[column.number] = int(low)
                self._greatest_keys[column.number] = int(high)
            if column.number >= 0:
                written.columns |= 1 << column.number
        return True

    def _write_scope(self, query: Query) -> None:
        """Write the sectors or cells by their numbers, ascending."""
        arrays, written = self._arrays, self.record
        if query.sous_secteurs is not None:
            groups = (arrays.groups.get(group, ()) for group in query.sous_secteurs)
            cells = (cell for group in groups for cell in group)
            wanted = {
                arrays.cells[cell]
                for cell in cells
                if cell[0] in query.secteurs or not query.secteurs
            }
            written.scope = types.CELLS
        else:
            wanted = {arrays.sectors[code] for code in query.secteurs if code in arrays.sectors}
            written.scope = types.SECTORS if query.secteurs else types.EVERYWHERE
        written.scope_count = len(wanted)
        self._codes[: len(wanted)] = array("q", sorted(wanted))

    def _write_ids(self, ids: Sequence[tuple[str, str]]) -> None:
        """Write the rows of these companies, by shard; those that do not exist have none."""
        wanted = set(ids)
        alike: set[tuple[str, int]] = set()
        for iso2, identifier in wanted:
            number = self._arrays.numbers.get(iso2, -1)
            if number >= 0:
                rows = rows_equal_to(self._arrays.shards[number].idents, fold_id(identifier))
                alike.update((iso2, row) for row in rows.tolist())
        ordered = sorted(alike)
        companies = record.companies(self._joiner.join(ordered, coordonnees=False))
        given = [
            (self._arrays.numbers[iso2], row)
            for (iso2, row), company in zip(ordered, companies, strict=True)
            if (iso2, company["id"]) in wanted
        ]
        numbers = np.array([number for number, _ in given], np.int64)
        self._given_starts[:] = numbers.searchsorted(np.arange(len(self._given_starts)))
        self._given_rows[: len(given)] = [row for _, row in given]


def _texts(query: Query) -> list[tuple[int, bytes]] | None:
    """The texts of forms, towns, postcodes and activities, each with its column; a whole text ends with 0A.

    None if a filter cannot match any company.
    """
    activities = query.nace
    if query.activites:  # whole classes, so that none begins another
        activities = tuple(one for one in query.activites if one.startswith(query.nace or ""))
        if not activities:
            return None
    texts: list[tuple[int, bytes]] = []
    for number, filter_, end, compared in _TEXTS:
        values = activities if number == types.NACE else getattr(query, filter_)
        if values:
            folded = sorted({compared(value) for value in values} - {""})
            if not folded:
                return None
            texts += [(number, text.encode() + end) for text in folded]
    return texts


def zero_i64s(count: int) -> memoryview:
    """Numbers of 64 bits, all zero, as a record holds them."""
    return memoryview(array("q", bytes(8 * count)))
