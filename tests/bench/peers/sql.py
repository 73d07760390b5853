"""The conditions and orders of a query in SQL, as far as the SQL engines agree on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from shards.codec import codes
from shards.codec.folding import fold, fold_id
from shards.query import Query
from shards.search.compiled_query import RANGED
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


def filters(query: Query) -> Condition:
    """All conditions of `query` except its `q`."""
    found = TRUE
    if query.pays:
        found &= _among("iso2", query.pays)
    # A sub-sector belongs to one sector, and those of the query to the sectors of the query.
    if query.sous_secteurs is not None:
        found &= _among("groupe", query.sous_secteurs)
    elif query.secteurs:
        found &= _among("division", query.secteurs)
    found &= _bounded(query, ("ca_eur", "effectif"))
    if query.avec_ca:
        found &= Condition("ca_eur IS NOT NULL")
    if query.site_web:
        found &= Condition("site_web")
    return found


def coded(query: Query) -> Condition:
    """The conditions of extensions X2, on columns that only DuckDB and ClickHouse have."""
    found = TRUE
    if query.etats:
        found &= _among("etat", query.etats)
    if query.villes:
        found &= _among("town", sorted({fold(ville) for ville in query.villes} - {""}))
    if query.codes_postaux:
        found &= _beginning("postcode", [codes.area(code) for code in query.codes_postaux])
    if query.formes:
        found &= _among("forme", query.formes)
    if query.nace:
        found &= _beginning("nace_code", query.nace)
    found &= _bounded(query, [column for column in RANGED if column not in ("ca_eur", "effectif")])
    if query.avec_comptes:
        found &= Condition("with_statements")
    return found


def _bounded(query: Query, columns: Sequence[str]) -> Condition:
    found = TRUE
    for column in columns:
        _, least, most = query.within(column)
        if least is not None:
            found &= Condition(f"{column} >= ?", (least,))
        if most is not None:
            found &= Condition(f"{column} <= ?", (most,))
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
