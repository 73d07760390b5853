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
        if TRUE in (self, other):  # a query without conditions stays TRUE: peers compare with it
            return other if self == TRUE else self
        return Condition(f"{self.sql} AND {other.sql}", (*self.values, *other.values))


TRUE: Final = Condition("TRUE")  # the condition that all companies meet
NOBODY: Final = Condition("FALSE")  # the condition that no company meets


# The columns that have another name in the tables of the peers than in `shards.search.columns`.
_NAMES: Final = {
    "secteur": "division", "sous_secteur": "groupe", "ville": "town", "code_postal": "postcode",
    "nace": "nace_code", "avec_comptes": "with_statements",
}  # fmt: skip
_EVERYTHING: Final = Query()  # a query with the default of each filter


def filters(query: Query) -> Condition:
    """All conditions of `query` except `q`, `ids` and the filters of extensions X2."""
    # The sectors add nothing: the sub-sectors of a query belong to its sectors.
    query = query if query.sous_secteurs is None else replace(query, secteurs=())
    return _conditions(
        query, [n for n, column in COLUMNS.items() if column.number < 0 and n != "id"]
    )


def coded_filters(query: Query) -> Condition:
    """The conditions of extensions X2, on columns that only DuckDB has."""
    return _conditions(query, [name for name, column in COLUMNS.items() if column.number >= 0])


def _conditions(query: Query, columns: Sequence[str]) -> Condition:
    """The SQL condition of a query on these columns, which `shards.search.columns` declares: flag, values, bounds."""
    all_conditions = TRUE
    for column in columns:
        name, declared = _NAMES.get(column, column), COLUMNS[column]
        if declared.flag and getattr(query, declared.flag):
            all_conditions &= Condition(f"{name} IS NOT NULL" if declared.keys else name)
        for filter_name, make_condition in (
            (declared.among, _equals_any),
            (declared.beginning, _begins_with_any),
        ):
            if filter_name and (values := getattr(query, filter_name)) != getattr(
                _EVERYTHING, filter_name
            ):
                all_conditions &= make_condition(
                    name, sorted({*map(declared.compared, values)} - {""})
                )
        _, least, most = query.range_of(column)
        if least is not None:
            all_conditions &= Condition(f"{name} >= ?", (least,))
        if most is not None:
            all_conditions &= Condition(f"{name} <= ?", (most,))
    return all_conditions


def _begins_with_any(column: str, texts: Sequence[str]) -> Condition:
    """The text of `column` begins with one of `texts`."""
    alternatives = " OR ".join([f"starts_with({column}, ?)"] * len(texts))
    return Condition(f"({alternatives})", tuple(texts))


def q_condition(q: str, contains: str) -> Condition:
    """The condition of `q`: in the name, or at the start of the identifier.

    `contains` is the SQL for the name.
    """
    folded = fold(q)
    if not folded:
        return NOBODY
    by_id = identifier_condition(q)
    return Condition(f"({contains} OR {by_id.sql})", (folded, *by_id.values))


def identifier_condition(q: str) -> Condition:
    """Identifiers that begin with `q`, as a range for an index."""
    prefix = fold_id(q)
    return Condition("(ident >= ? AND ident < ?)", (prefix, prefix + _LAST))


def order(tri: str) -> str:
    """The ORDER BY columns of the order `tri`; the last column is unique, so no two rows are equal."""
    if tri == "nom":
        return "place_nom"
    column, descending = SORTED_BY[tri]
    return f"{column} {'DESC' if descending else 'ASC'} NULLS LAST, n"


def _equals_any(column: str, values: Sequence[str]) -> Condition:
    """The text of `column` is one of `values`; no row if there are none."""
    if not values:
        return NOBODY
    if len(values) == 1:
        return Condition(f"{column} = ?", tuple(values))
    return Condition(f"{column} IN ({', '.join('?' * len(values))})", tuple(values))
