"""A query in the form that every shard takes: folded, split into parts, bounds turned into keys.

`compile_query` does once what does not depend on the shard; `shards/kernel` does the rest for each shard.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import Final, NamedTuple

from shards.codec.codes import COMPARED
from shards.codec.folding import fold, fold_id
from shards.codec.strings import END
from shards.kernel import types
from shards.query import STATES, Query, Range
from shards.search.columns import COLUMNS, Bounds

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
