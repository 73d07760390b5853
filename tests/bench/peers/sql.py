"""The conditions and orders of a query in SQL, as far as the SQL engines agree on them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from shards.codec.folding import fold, fold_id
from shards.query import Query
from shards.search.columns import COLUMNS
from tests.bench.peers.companies import SORTED_BY

_LAST: Final = chr(0x10FFFF)  # in no identifier, so it ends a range of prefixes


@dataclass(frozen=True, slots=True)
class Condition:
    """A fragment of SQL with one value per question mark."""

    sql: str
    values: tuple[Any, ...] = ()

    def __and__(self, other: "Condition") -> "Condition":
        if TRUE in (self, other):  # so a query without conditions is TRUE, which peers compare with
            return other if self == TRUE else self
        return Condition(f"{self.sql} AND {other.sql}", (*self.values, *other.values))


TRUE: Final = Condition("TRUE")
NOBODY: Final = Condition("FALSE")


# What the peers call a column, where it has another name there.
_NAMES: Final = {
    "secteur": "division", "sous_secteur": "groupe", "ville": "town", "code_postal": "postcode",
    "nace": "nace_code", "avec_comptes": "with_statements",
}  # fmt: skip
_EVERYTHING: Final = Query()


def filters(query: Query) -> Condition:
    """All conditions of `query` except its `q`, its `ids` and those of extensions X2."""
    # A sub-sector belongs to one sector, and those of the query to the sectors of the query.
    query = query if query.sous_secteurs is None else replace(query, secteurs=())
    return _conditions(query, [n for n, one in COLUMNS.items() if one.number < 0 and n != "id"])


def coded(query: Query) -> Condition:
    """The conditions of extensions X2, on columns that only DuckDB has."""
    return _conditions(query, [name for name, one in COLUMNS.items() if one.number >= 0])


def _conditions(query: Query, columns: Sequence[str]) -> Condition:
    """The conditions on columns, as `shards.search.columns` declares them."""
    found = TRUE
    for column in columns:
        name, one = _NAMES.get(column, column), COLUMNS[column]
        if one.flag and getattr(query, one.flag):
            found &= Condition(f"{name} IS NOT NULL" if one.keys else name)
        for filter_, condition in ((one.among, _among), (one.beginning, _beginning)):
            if filter_ and (wanted := getattr(query, filter_)) != getattr(_EVERYTHING, filter_):
                found &= condition(name, sorted({*map(one.compared, wanted)} - {""}))
        _, least, most = query.range_of(column)
        if least is not None:
            found &= Condition(f"{name} >= ?", (least,))
        if most is not None:
            found &= Condition(f"{name} <= ?", (most,))
    return found


def _beginning(column: str, texts: Sequence[str]) -> Condition:
    either = " OR ".join([f"starts_with({column}, ?)"] * len(texts))
    return Condition(f"({either})", tuple(texts))


def named(q: str, contains: str) -> Condition:
    """The condition of `q`: in the name, or at the start of the identifier.

    `contains` is the SQL for the name.
    """
    folded = fold(q)
    if not folded:
        return NOBODY
    by_id = prefixed(q)
    return Condition(f"({contains} OR {by_id.sql})", (folded, *by_id.values))


def prefixed(q: str) -> Condition:
    """Identifiers that begin with `q`, as a range for an index."""
    prefix = fold_id(q)
    return Condition("(ident >= ? AND ident < ?)", (prefix, prefix + _LAST))


def order(tri: str) -> str:
    """The sort columns; the last one is unique."""
    if tri == "nom":
        return "place_nom"
    column, descending = SORTED_BY[tri]
    return f"{column} {'DESC' if descending else 'ASC'} NULLS LAST, n"


def _among(column: str, values: Sequence[str]) -> Condition:
    if not values:
        return NOBODY
    if len(values) == 1:
        return Condition(f"{column} = ?", tuple(values))
    return Condition(f"{column} IN ({', '.join('?' * len(values))})", tuple(values))
