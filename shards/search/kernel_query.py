"""A query as the kernel reads it: folded, split into parts, bounds turned into keys, then written for each search.

`compile_query` does once what does not depend on the shard; `QueryMemory` writes the numbers and texts into memory of
one thread; `shards/kernel` does the rest for each shard.
"""

from array import array
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf
from operator import attrgetter
from typing import Final, NamedTuple

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
from shards.search.columns import COLUMNS, Bounds
from shards.search.generation_arrays import GenerationArrays
from shards.search.result_page import Place, RecordJoiner

# These run for every search, and between two of them the processor forgets what it had at hand. So values are named
# tuples, and what a search does not ask is not looked at (decision 215).

_NOTHING: Final[tuple[Mapping[str, Bounds], "Texts", int]] = ({}, (), 0)
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
# The columns with bounds: their keys, and the bit of their column of codes.
_RANGED: Final = {
    name: (one.keys, 1 << one.number if one.number >= 0 else 0)
    for name, one in COLUMNS.items()
    if one.keys
}
# The flags that want a value of such a column to be known.
_KNOWN: Final = tuple((one.flag, name) for name, one in COLUMNS.items() if one.keys and one.flag)
_asked: Final = attrgetter(
    "ranges", *[filter_ for filter_, _ in _CODED], *[flag for flag, _ in _KNOWN]
)

Texts = tuple[tuple[int, bytes], ...]


class NameTerm(NamedTuple):
    """The text of `q`, folded (contract B15).

    Attributes:
        parts: the words of the folded text. They must be neighbours in a name; the first part ends a word of the
            name, the last part begins one.
        identifier: the beginning of an identifier; empty if `q` has no letter or digit.
    """

    parts: tuple[bytes, ...]
    identifier: bytes


class CompiledQuery(NamedTuple):
    """A query that can have matches; a filter that is absent is None.

    Attributes:
        ranges: by column, the least and the greatest key: of `ca_desc` (both infinite if any known turnover passes), of
            `effectif_desc`, of `recent`; of total assets the amounts in euros.
        states: a bit for each of `shards.query.STATES`.
        texts: numbers of columns of codes, each with a text; a whole one ends with 0A.
        ids: countries and identifiers.
        coded: a bit for each column of codes that is looked at.
    """

    tri: str
    secteurs: tuple[str, ...]
    sous_secteurs: tuple[str, ...] | None
    q: NameTerm | None
    ranges: Mapping[str, Bounds]
    site_web: bool
    states: int | None
    texts: Texts
    ids: tuple[tuple[str, str], ...] | None
    coded: int


def compile_query(query: Query) -> CompiledQuery | None:
    """Compile `query`; None if nothing can match (contract B9, B16, crossed bounds)."""
    if query.ids == () or query.sous_secteurs == ():
        return None
    q = None if query.q is None else _name_term(query.q)
    if q is not None and not q.parts:
        return None
    found = _conditions(query) if any(_asked(query)) else _NOTHING
    if found is None:
        return None
    ranges, texts, coded = found
    return CompiledQuery(
        tri=query.tri,
        secteurs=tuple(sorted(set(query.secteurs))) if query.secteurs else (),
        sous_secteurs=query.sous_secteurs,
        q=q,
        ranges=ranges,
        site_web=query.site_web,
        states=sum(1 << STATES.index(etat) for etat in set(query.etats)) if query.etats else None,
        texts=texts,
        ids=query.ids,
        coded=coded,
    )


def _conditions(query: Query) -> tuple[Mapping[str, Bounds], Texts, int] | None:
    """The ranges, texts and columns of codes of a query; None if nothing can match them."""
    ranges, coded = {}, 0
    for one in query.ranges:
        if one.least is not None or one.most is not None:
            keys, bit = _RANGED[one.column]
            low, high = ranges[one.column] = keys(one)
            if low > high:
                return None
            coded |= bit
    for flag, name in _KNOWN:
        if getattr(query, flag) and name not in ranges:
            keys, bit = _RANGED[name]
            ranges[name] = keys(Range(name))
            coded |= bit
    for filter_, bit in _CODED:
        if getattr(query, filter_):
            coded |= bit
    texts = _texts(query)
    return None if texts is None else (ranges, texts, coded)


def _name_term(q: str) -> NameTerm:
    parts = tuple(part.encode() for part in fold(q).split())
    return NameTerm(parts, fold_id(q).encode())


def _texts(query: Query) -> Texts | None:
    """The texts of forms, towns, postcodes and activities; None if a filter has none that a company may have."""
    activities = query.nace
    if query.activites:  # whole classes, so that none begins another
        activities = tuple(one for one in query.activites if one.startswith(query.nace or ""))
        if not activities:
            return None
    found: list[tuple[int, bytes]] = []
    for number, filter_, end, compared in _TEXTS:
        values = activities if number == types.NACE else getattr(query, filter_)
        if not values:
            continue
        texts = sorted({compared(value) for value in values} - {""})
        if not texts:
            return None
        found += [(number, text.encode() + end) for text in texts]
    return tuple(found)


# -- in the memory of the kernel ---------------------------------------------------------------


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
