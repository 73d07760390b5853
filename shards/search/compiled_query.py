"""A query in the form that every shard takes: folded, split into parts, bounds turned into keys.

`compile_query` does once what does not depend on the shard; `shards/kernel` does the rest for each shard.
"""

from collections.abc import Callable, Mapping
from math import inf
from typing import Final, NamedTuple

from shards.codec.codes import COMPARED
from shards.codec.folding import fold, fold_id
from shards.codec.strings import END
from shards.query import STATES, Query, Range

# These run for every search, and between two of them the processor forgets what it had at hand. So values are named
# tuples, and what a search does not ask is not looked at (decision 215).

# Headcounts are stored in 32 bits, negated; the greatest 32-bit number is the key of null.
_LEAST_HEADCOUNT: Final = -(2**31) + 2
_GREATEST_HEADCOUNT: Final = 2**31
_LATEST: Final = 99_991_231

Bounds = tuple[float, float]


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
        texts: columns of `codes.COMPARED`, each with a text; a whole one ends with 0A.
        ids: countries and identifiers.
        coded: whether a column of codes is looked at.
    """

    tri: str
    secteurs: tuple[str, ...]
    sous_secteurs: tuple[str, ...] | None
    q: NameTerm | None
    ranges: Mapping[str, Bounds]
    site_web: bool
    states: int | None
    texts: tuple[tuple[str, bytes], ...]
    statements: bool
    ids: tuple[tuple[str, str], ...] | None
    coded: bool


def compile_query(query: Query) -> CompiledQuery | None:
    """Compile `query`; None if nothing can match (contract B9, B16, crossed bounds)."""
    if query.ids == () or query.sous_secteurs == ():
        return None
    q = None if query.q is None else _name_term(query.q)
    if q is not None and not q.parts:
        return None
    ranges = _ranges(query) if query.ranges or query.avec_ca else _NONE
    if ranges is None:
        return None
    texts: tuple[tuple[str, bytes], ...] | None = ()
    if any((query.formes, query.villes, query.codes_postaux, query.nace, query.activites)):
        texts = _texts(query)
    if texts is None:
        return None
    dated = "creation" in ranges or "actif_eur" in ranges
    return CompiledQuery(
        tri=query.tri,
        secteurs=tuple(sorted(set(query.secteurs))) if query.secteurs else (),
        sous_secteurs=query.sous_secteurs,
        q=q,
        ranges=ranges,
        site_web=query.site_web,
        states=sum(1 << STATES.index(etat) for etat in set(query.etats)) if query.etats else None,
        texts=texts,
        statements=query.avec_comptes,
        ids=query.ids,
        coded=bool(texts or query.etats or query.avec_comptes or dated),
    )


def _ranges(query: Query) -> Mapping[str, Bounds] | None:
    """The keys of all bounds; None if some are crossed."""
    found = {}
    for one in query.ranges:
        if one.least is not None or one.most is not None:
            low, high = found[one.column] = _KEYS[one.column](one)
            if low > high:
                return None
    if query.avec_ca:
        found.setdefault("ca_eur", (-inf, inf))
    return found


def _name_term(q: str) -> NameTerm:
    parts = tuple(part.encode() for part in fold(q).split())
    return NameTerm(parts, fold_id(q).encode())


def _texts(query: Query) -> tuple[tuple[str, bytes], ...] | None:
    """The texts of forms, towns, postcodes and activities; None if a filter has none that a company may have."""
    activities = query.nace
    if query.activites:  # whole classes, so that none begins another
        activities = tuple(one for one in query.activites if one.startswith(query.nace or ""))
        if not activities:
            return None
    found: list[tuple[str, bytes]] = []
    for name, values, end in (
        ("forme", query.formes, END),
        ("ville", query.villes, END),
        ("code_postal", query.codes_postaux, b""),
        ("nace", activities, b""),
    ):
        if not values:
            continue
        texts = sorted({COMPARED[name](value) for value in values} - {""})
        if not texts:
            return None
        found += [(name, text.encode() + end) for text in texts]
    return tuple(found)


def _descending(wanted: Range) -> Bounds:
    """Keys of an order that descends: the negated bounds."""
    low, high = _ascending(wanted)
    return -high, -low


def _ascending(wanted: Range) -> Bounds:
    least, most = wanted.least, wanted.most
    return -inf if least is None else float(least), inf if most is None else float(most)


def _headcount(wanted: Range) -> Bounds:
    """The bounds as keys; crossed if no 32-bit headcount is within them."""
    low = _LEAST_HEADCOUNT if wanted.least is None else max(_LEAST_HEADCOUNT, wanted.least)
    high = _GREATEST_HEADCOUNT if wanted.most is None else min(_GREATEST_HEADCOUNT, wanted.most)
    return (-high, -low) if low <= _GREATEST_HEADCOUNT and high >= _LEAST_HEADCOUNT else (1, 0)


def _creation_keys(wanted: Range) -> Bounds:
    """The bounds as keys of `recent`, where an unknown month or day is 00 and counts as the first one."""
    low = 0 if wanted.least is None else int(wanted.least)
    high = _LATEST if wanted.most is None else int(wanted.most)
    if low % 10_000 <= 101:  # from the first of January on
        low -= low % 10_000
    elif low % 100 <= 1:
        low -= low % 100
    if high % 100 == 0:  # before the first day of a month
        high -= 1
    if high % 10_000 <= 100:
        high -= high % 10_000 + 1
    return -min(high, _LATEST), -min(low, _LATEST)


# The columns that a search may bound, each with the keys of its bounds: turnover in euros, headcount, the date of
# creation as yyyymmdd (a date of the data that is less precise counts as its first day), total assets in euros at the
# rate of their year.
_KEYS: Final[Mapping[str, Callable[[Range], Bounds]]] = {
    "ca_eur": _descending,
    "effectif": _headcount,
    "creation": _creation_keys,
    "actif_eur": _ascending,
}
RANGED: Final = tuple(_KEYS)
_NONE: Final[Mapping[str, Bounds]] = {}
