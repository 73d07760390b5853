"""A query in the form that every shard takes: folded, split into parts, bounds turned into keys.

`compile_query` does once what does not depend on the shard; `predicates.bind` does the rest for each shard.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shards.codec.folding import fold, fold_id
from shards.codec.sparse_index import Probe, probe
from shards.format import SUFFIX_BYTES
from shards.query import Query

# Headcounts are stored in 32 bits, negated; the greatest 32-bit number is the key of null.
_LEAST_HEADCOUNT: Final = -(2**31) + 2
_GREATEST_HEADCOUNT: Final = 2**31


@dataclass(frozen=True, slots=True)
class NameTerm:
    """The text of `q`, folded (contract B15).

    Attributes:
        parts: the words of the folded text. They must be neighbours in a name; the first part ends a word of the
            name, the last part begins one.
        identifier: the beginning of an identifier; empty if `q` has no letter or digit.
    """

    parts: tuple[bytes, ...]
    identifier: bytes

    @property
    def only(self) -> Probe | None:
        """The single part, cut to the length by which suffixes are sorted; None if there are several parts."""
        return probe(self.parts[0][:SUFFIX_BYTES]) if len(self.parts) == 1 else None

    @property
    def prefix(self) -> Probe | None:
        """The lookup of `identifier`; None if it is empty."""
        return probe(self.identifier) if self.identifier else None


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query that can have matches; a filter that is absent is None.

    Attributes:
        turnover: least and greatest key of `ca_desc`; both infinite if any known turnover passes.
        headcount: least and greatest key of `effectif_desc`.
    """

    tri: str
    secteurs: tuple[str, ...]
    sous_secteurs: tuple[str, ...] | None
    q: NameTerm | None
    turnover: tuple[float, float] | None
    headcount: tuple[np.int32, np.int32] | None
    site_web: bool

    @property
    def has_scope(self) -> bool:
        """Whether the query filters by sector or sub-sector."""
        return bool(self.secteurs) or self.sous_secteurs is not None

    @property
    def has_bounds(self) -> bool:
        """Whether the query filters by turnover, headcount or website."""
        return self.turnover is not None or self.headcount is not None or self.site_web

    @property
    def is_open(self) -> bool:
        """Whether every company matches."""
        return self.q is None and not self.has_scope and not self.has_bounds


def compile_query(query: Query) -> CompiledQuery | None:
    """Compile `query`; None if nothing can match (contract B9, B16, crossed bounds)."""
    q = None if query.q is None else _name_term(query.q)
    turnover = _turnover(query)
    headcount = _headcount(query)
    if (
        query.sous_secteurs == ()
        or (q is not None and not q.parts)
        or (turnover is not None and turnover[0] > turnover[1])
        or (headcount is not None and headcount[0] > headcount[1])
    ):
        return None
    return CompiledQuery(
        tri=query.tri,
        secteurs=tuple(sorted(set(query.secteurs))),
        sous_secteurs=query.sous_secteurs,
        q=q,
        turnover=turnover,
        headcount=None if headcount is None else (np.int32(headcount[0]), np.int32(headcount[1])),
        site_web=query.site_web,
    )


def _name_term(q: str) -> NameTerm:
    parts = tuple(part.encode() for part in fold(q).split())
    return NameTerm(parts, fold_id(q).encode())


def _turnover(query: Query) -> tuple[float, float] | None:
    if query.ca_min is None and query.ca_max is None and not query.avec_ca:
        return None
    return (
        -np.inf if query.ca_max is None else -float(query.ca_max),
        np.inf if query.ca_min is None else -float(query.ca_min),
    )


def _headcount(query: Query) -> tuple[int, int] | None:
    """The bounds as keys; crossed if no 32-bit headcount is within them."""
    least, most = query.effectif_min, query.effectif_max
    if least is None and most is None:
        return None
    low = _LEAST_HEADCOUNT if least is None else max(_LEAST_HEADCOUNT, least)
    high = _GREATEST_HEADCOUNT if most is None else min(_GREATEST_HEADCOUNT, most)
    return (-high, -low) if low <= _GREATEST_HEADCOUNT and high >= _LEAST_HEADCOUNT else (1, 0)
