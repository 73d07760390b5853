"""A query as every shard is asked it: folded, split and turned into keys once for all."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shards.codec.folding import fold, fold_id
from shards.codec.sparse_index import Probe, probe
from shards.format import SUFFIX_BYTES
from shards.query import Query

# Headcounts are stored in 32 bits, negated; the greatest number there is stands for null.
_LEAST: Final = -(2**31) + 2
_GREATEST: Final = 2**31


@dataclass(frozen=True, slots=True)
class NameTerm:
    """What `q` asks (contract B15).

    `parts` are the words of the folded text: a name holds them side by side, the first ending a
    word, the last beginning one. `only` is the one part there is, cut to what suffixes are sorted
    by. `prefix` begins an identifier; None where `q` has no letter or digit for one.
    """

    parts: tuple[bytes, ...]
    only: Probe | None
    prefix: Probe | None


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query that something may match.

    Attributes:
        turnover: least and greatest key of `ca_desc`; both infinite where any turnover will do.
        headcount: least and greatest key of `effectif_desc`.
    """

    tri: str
    secteurs: tuple[str, ...]
    sous_secteurs: tuple[str, ...] | None
    named: NameTerm | None
    turnover: tuple[float, float] | None
    headcount: tuple[np.int32, np.int32] | None
    site_web: bool

    @property
    def has_scope(self) -> bool:
        """Whether sectors or sub-sectors are asked."""
        return bool(self.secteurs) or self.sous_secteurs is not None

    @property
    def has_bounds(self) -> bool:
        """Whether anything is asked of turnover, headcount or website."""
        return self.turnover is not None or self.headcount is not None or self.site_web

    @property
    def is_open(self) -> bool:
        """Whether every company matches."""
        return self.named is None and not self.has_scope and not self.has_bounds


def compile_query(query: Query) -> CompiledQuery | None:
    """The question of `query`; None where nothing can match (B9, B16, crossed bounds)."""
    named = None if query.q is None else _named(query.q)
    turnover = _turnover(query)
    headcount = _headcount(query)
    if (
        query.sous_secteurs == ()
        or (named is not None and not named.parts)
        or (turnover is not None and turnover[0] > turnover[1])
        or (headcount is not None and headcount[0] > headcount[1])
    ):
        return None
    return CompiledQuery(
        tri=query.tri,
        secteurs=tuple(sorted(set(query.secteurs))),
        sous_secteurs=query.sous_secteurs,
        named=named,
        turnover=turnover,
        headcount=None if headcount is None else (np.int32(headcount[0]), np.int32(headcount[1])),
        site_web=query.site_web,
    )


def _named(q: str) -> NameTerm:
    parts = tuple(part.encode() for part in fold(q).split())
    prefix = fold_id(q).encode()
    return NameTerm(
        parts,
        probe(parts[0][:SUFFIX_BYTES]) if len(parts) == 1 else None,
        probe(prefix) if prefix else None,
    )


def _turnover(query: Query) -> tuple[float, float] | None:
    if query.ca_min is None and query.ca_max is None and not query.avec_ca:
        return None
    return (
        -np.inf if query.ca_max is None else -float(query.ca_max),
        np.inf if query.ca_min is None else -float(query.ca_min),
    )


def _headcount(query: Query) -> tuple[int, int] | None:
    least, most = query.effectif_min, query.effectif_max
    if least is None and most is None:
        return None
    low = _LEAST if least is None else max(_LEAST, least)
    high = _GREATEST if most is None else min(_GREATEST, most)
    return (-high, -low) if low <= _GREATEST and high >= _LEAST else (1, 0)
