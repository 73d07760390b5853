"""A query as the kernel reads it: numbers and texts in memory of one thread, written anew for each search."""

from array import array
from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Final

import numpy as np

from shards import format
from shards.codec import record
from shards.codec.codes import amount_bound
from shards.codec.folding import fold_id
from shards.codec.sparse_index import bounds
from shards.codec.strings import pair_key
from shards.kernel import types
from shards.kernel.memory import Memory, view
from shards.query import ORDERS, Query
from shards.reader.id_lookup import rows_equal_to
from shards.search.columns import COLUMNS
from shards.search.compiled_query import CompiledQuery, NameTerm
from shards.search.generation_arrays import GenerationArrays
from shards.search.record_joiner import RecordJoiner
from shards.search.result_page import Place

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
_NO_TEXTS: Final = (b"", b"", b"")
_NO_HEADS: Final = (0,) * 7
_NUMBERS: Final = {tri: number for number, tri in enumerate(ORDERS)}


class QueryMemory:
    """The memory of a `types.KernelQuery`, and of the lists that it refers to.

    Attributes:
        address: that of the query; it may change at the next `write`.
    """

    def __init__(self, arrays: GenerationArrays, joiner: RecordJoiner) -> None:
        self._arrays, self._joiner = arrays, joiner
        self._memory = Memory()
        self._values = _WORDS
        self._make()

    def _make(self) -> None:
        made = types.KernelQuery()
        for name in list(types.KernelQuery.__annotations__)[:_CHANGING]:
            setattr(made, name, 0)
        made.head_rows, made.top_rows = format.HEAD_ROWS, format.TOP_ROWS
        made.room, made.spare, made.shares = ROOM, SPARE, SHARES
        made.span_cost, made.along_cost = SPAN, ALONG
        made.code_cost, made.sparse = CODED, SPARSE
        made.listed_cost, made.start_cost = LISTED, START
        self._countries: tuple[str, ...] | None = None
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
        self._query = self._memory.place_mutable(made, _CHANGING)
        self.address: int = self._query.address

    def write(
        self,
        asked: CompiledQuery,
        query: Query,
        offset: int,
        limit: int,
        census: int,
        budget: float,
    ) -> tuple[bytes, bytes, bytes, bytes]:
        """Write the query; returns the four texts that it does not hold."""
        most_values = max(len(asked.texts), len(asked.ids or ()))
        if most_values > self._values:
            self._values = most_values
            self._make()
        if query.pays != self._countries:
            self._write_countries(query.pays)
        scope, codes = self._scope(asked)
        if codes:
            self._codes[: len(codes)] = array("q", codes)
        text, endings, prefix = _NO_TEXTS
        words, heads = 0, _NO_HEADS
        if asked.q is not None:
            text, endings, prefix = self._write_name(asked.q)
            words = len(asked.q.parts)
            heads = (
                *bounds(text[: format.SUFFIX_BYTES]), *bounds(endings[: format.SUFFIX_BYTES]),
                len(prefix), *bounds(prefix),
            )  # fmt: skip
        ranges = asked.ranges
        turnover, headcount = ranges.get("ca_eur"), ranges.get("effectif")
        low, high = turnover or (0.0, 0.0)
        least, most = headcount or (0, 0)
        values = self._write_codes(asked) if asked.coded else b""
        if asked.ids is not None:
            self._write_ids(asked.ids)
        self._query.write(
            _NUMBERS[asked.tri], offset, limit, self._country_count, scope, len(codes),
            asked.site_web, turnover is not None, low == -inf and high == inf, low, high,
            headcount is not None, int(least), int(most),
            words, len(text), words == 2 and len(text.decode()) == 3, *heads,
            asked.coded, asked.states or 0, len(asked.texts), asked.ids is not None, census, budget,
        )  # fmt: skip
        return text, endings, prefix, values

    def _write_countries(self, pays: tuple[str, ...]) -> None:
        """Write the chosen shards; most searches choose those of the search before."""
        numbers = self._arrays.numbers
        chosen = sorted({numbers[iso2] for iso2 in pays}) if pays else list(numbers.values())
        self._chosen[: len(chosen)] = array("q", chosen)
        self._countries, self._country_count = pays, len(chosen)

    def _write_codes(self, asked: CompiledQuery) -> bytes:
        """Write the conditions on codes; returns their texts."""
        for place, (number, text) in enumerate(asked.texts):
            self._value_columns[place] = number
            self._value_starts[place + 1] = self._value_starts[place] + len(text)
        for name, (least, most) in asked.ranges.items():
            number = COLUMNS[name].number
            if number == types.ACTIF:
                for shard, listed in enumerate(self._arrays.amounts):
                    self._lows[shard] = amount_bound(listed, least, after=False)
                    self._highs[shard] = amount_bound(listed, most, after=True)
            elif number >= 0:
                self._least_keys[number], self._greatest_keys[number] = int(least), int(most)
        return b"".join([text for _, text in asked.texts])

    def _write_ids(self, ids: Sequence[tuple[str, str]]) -> None:
        """Write the rows of these companies, by shard; those that do not exist have none."""
        alike: set[Place] = set()
        for iso2, identifier in sorted(set(ids)):
            number = self._arrays.numbers.get(iso2, -1)
            if number >= 0:
                rows = rows_equal_to(self._arrays.shards[number].idents, fold_id(identifier))
                alike.update((number, row) for row in rows.tolist())
        found = sorted(alike)
        packed = self._joiner.join(np.array(found, np.int64).reshape(-1, 2), coordonnees=False)
        wanted = set(ids)
        companies = record.companies(packed)
        places = [
            place for place, company in zip(found, companies, strict=True)
            if (company["iso2"], company["id"]) in wanted
        ]  # fmt: skip
        numbers = np.array([number for number, _ in places], np.int64)
        self._given_starts[:] = numbers.searchsorted(np.arange(len(self._given_starts)))
        self._given_rows[: len(places)] = [row for _, row in places]

    def _scope(self, asked: CompiledQuery) -> tuple[int, list[int]]:
        """The kind of scope, and the numbers of its sectors or cells, ascending."""
        arrays = self._arrays
        if asked.sous_secteurs is not None:
            groups = (arrays.groups.get(group, ()) for group in set(asked.sous_secteurs))
            cells = [cell for group in groups for cell in group]
            if asked.secteurs:
                cells = [cell for cell in cells if cell[0] in asked.secteurs]
            return types.CELLS, sorted(arrays.cells[cell] for cell in cells)
        if asked.secteurs:
            known = arrays.sectors
            return types.SECTORS, [known[code] for code in asked.secteurs if code in known]
        return types.EVERYWHERE, []

    def _write_name(self, named: NameTerm) -> tuple[bytes, bytes, bytes]:
        parts = named.parts
        for number, part in enumerate(parts):
            self._starts[number + 1] = self._starts[number] + len(part) + 1
        if len(parts) > 1:
            words = [part.decode() for part in parts]
            for number, (one, other) in enumerate(pairwise(words)):
                self._junctions[number] = pair_key((one[-1] + other[0]).encode())
        return b" ".join(parts), parts[0] + b"\n", named.identifier


def zero_i64s(count: int) -> memoryview:
    """Numbers of 64 bits, all zero, as a record holds them."""
    return memoryview(array("q", bytes(8 * count)))
