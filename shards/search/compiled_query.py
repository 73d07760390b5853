"""A query in the form that every shard takes: folded, split into parts, bounds turned into keys.

`compile_query` does once what does not depend on the shard; `shards/kernel` does the rest for each shard.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shards.codec.codes import COMPARED
from shards.codec.folding import fold, fold_id
from shards.codec.strings import END
from shards.query import STATES, Query

# Headcounts are stored in 32 bits, negated; the greatest 32-bit number is the key of null.
_LEAST_HEADCOUNT: Final = -(2**31) + 2
_GREATEST_HEADCOUNT: Final = 2**31
_LATEST: Final = 99_991_231


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


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    """A query that can have matches; a filter that is absent is None.

    Attributes:
        turnover: least and greatest key of `ca_desc`; both infinite if any known turnover passes.
        headcount: least and greatest key of `effectif_desc`.
        states: a bit for each of `shards.query.STATES`.
        texts: columns of `codes.COMPARED`, each with a text; a whole one ends with 0A.
        dates: least and greatest key of `recent`.
        assets: least and greatest total assets in euros.
        ids: countries and identifiers.
    """

    tri: str
    secteurs: tuple[str, ...]
    sous_secteurs: tuple[str, ...] | None
    q: NameTerm | None
    turnover: tuple[float, float] | None
    headcount: tuple[int, int] | None
    site_web: bool
    states: int | None
    texts: tuple[tuple[str, bytes], ...]
    dates: tuple[int, int] | None
    assets: tuple[float, float] | None
    statements: bool
    ids: tuple[tuple[str, str], ...] | None


def compile_query(query: Query) -> CompiledQuery | None:
    """Compile `query`; None if nothing can match (contract B9, B16, crossed bounds)."""
    q = None if query.q is None else _name_term(query.q)
    turnover = _turnover(query)
    headcount = _headcount(query)
    dates = _dates(query)
    assets = _assets(query)
    texts = _texts(query)
    if (
        query.ids == ()
        or texts is None
        or (dates is not None and dates[0] > dates[1])
        or (assets is not None and assets[0] > assets[1])
    ):
        return None
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
        headcount=headcount,
        site_web=query.site_web,
        states=sum(1 << STATES.index(etat) for etat in set(query.etats)) if query.etats else None,
        texts=texts,
        dates=dates,
        assets=assets,
        statements=query.avec_comptes,
        ids=query.ids,
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


def _texts(query: Query) -> tuple[tuple[str, bytes], ...] | None:
    """The texts of forms, towns, postcodes and activities; None if a filter has none that a company may have."""
    found: list[tuple[str, bytes]] = []
    for name, values, end in (
        ("forme", query.formes, END),
        ("ville", query.villes, END),
        ("code_postal", query.codes_postaux, b""),
        ("nace", query.nace, b""),
    ):
        texts = sorted({COMPARED[name](value) for value in values} - {""})
        if values and not texts:
            return None
        found += [(name, text.encode() + end) for text in texts]
    return tuple(found)


def _dates(query: Query) -> tuple[int, int] | None:
    """The bounds as keys of `recent`, where an unknown month or day is 00 and counts as the first one."""
    least, most = query.cree_min, query.cree_max
    if least is None and most is None:
        return None
    low, high = 0 if least is None else least, _LATEST if most is None else most
    if low % 10_000 <= 101:  # from the first of January on
        low -= low % 10_000
    elif low % 100 <= 1:
        low -= low % 100
    if high % 100 == 0:  # before the first day of a month
        high -= 1
    if high % 10_000 <= 100:
        high -= high % 10_000 + 1
    return -min(high, _LATEST), -min(low, _LATEST)


def _assets(query: Query) -> tuple[float, float] | None:
    least, most = query.actif_min, query.actif_max
    if least is None and most is None:
        return None
    return -np.inf if least is None else float(least), np.inf if most is None else float(most)
