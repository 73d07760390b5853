"""A search without indexes: contract B, company by company, over decoded records.

`smoke_test` compares the answers of the real search with it, on small scopes. It reads the records, the cell of each
row, and the keys of the amounts in euros that no record has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shards.codec.folding import fold, fold_id
from shards.query import Query
from shards.search import filters
from shards.search.filters import Values
from shards.search.reader.shard import Shard


@dataclass(frozen=True, slots=True)
class KnownCompany:
    """A company as it is searched.

    Attributes:
        company: the fields of §2.1.
        values: what filters compare.
        capital: the share capital in euros.
        nom, identifiant: the folded name and identifier.
    """

    row: int
    company: dict[str, Any]
    values: Values
    capital: float | None
    nom: str
    identifiant: str


def read(shard: Shard, rows: Sequence[int]) -> list[KnownCompany]:
    """The companies at these rows of a shard."""
    keys = shard.keys("capital_desc", np.array(rows, dtype=np.uint32)).tolist()
    companies = [shard.company(row) for row in rows]
    return [
        KnownCompany(
            row,
            company,
            filters.values(shard, row, company),
            capital=None if key != key else -key,
            nom=fold(company["nom"]),
            identifiant=fold_id(company["id"]),
        )
        for row, company, key in zip(rows, companies, keys, strict=True)
    ]


def search(companies: Sequence[KnownCompany], query: Query) -> list[int]:
    """The rows that match, in order; all companies must be of one country."""
    wanted = filters.filters(query)
    matching = [company for company in companies if filters.matches(company.values, wanted)]
    return [company.row for company in sorted(matching, key=lambda c: place(c, query.tri))]


def matches(known: KnownCompany, query: Query) -> bool:
    """Whether a company passes every filter of `query`."""
    return filters.matches(known.values, filters.filters(query))


def place(known: KnownCompany, tri: str) -> tuple[Any, ...]:
    """The sort key of a company in the order `tri` (contract B27 to B32), within one country."""
    company, identifier = known.company, known.company["id"].encode()
    if tri == "nom":
        return (known.nom, company["nom"], identifier)
    if tri == "recent":
        date = company["date_creation"]
        # Descending: later dates first, and a year without month and day after all its days.
        return (date is None, [-ord(char) for char in (date or "").ljust(10, "\0")], identifier)
    value, sign = {
        "ca_desc": (company["ca_eur"], -1),
        "ca_asc": (company["ca_eur"], 1),
        "effectif_desc": (company["effectif"], -1),
        "capital_desc": (known.capital, -1),
        "score": (company["score"], -1),
    }[tri]
    return (value is None, 0 if value is None else sign * value, identifier)
