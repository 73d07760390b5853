"""A search without indexes: contract B, company by company, over decoded records.

`smoke_test` compares the answers of the real search with it, on small scopes. It reads the records, the cell of each
row, and the keys of the amounts in euros that no record has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shards.codec.folding import fold, fold_id
from shards.query import Query
from shards.reader.shard import Shard
from shards.search import filters
from shards.search.filters import Values


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


class KnownCompanies:
    """The companies of a shard, each read once."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._known: dict[int, KnownCompany] = {}

    def read(self, rows: Sequence[int]) -> list[KnownCompany]:
        """The companies at these rows."""
        if missing := [row for row in rows if row not in self._known]:
            self._known.update(zip(missing, _read(self._shard, missing), strict=True))
        return [self._known[row] for row in rows]


def _read(shard: Shard, rows: Sequence[int]) -> Iterator[KnownCompany]:
    keys = shard.keys("capital_desc", np.array(rows, dtype=np.uint32)).tolist()
    companies = shard.companies(rows)
    values = filters.values_of_rows(shard, rows, companies)
    for row, company, compared, key in zip(rows, companies, values, keys, strict=True):
        yield KnownCompany(
            row,
            company,
            compared,
            capital=None if key != key else -key,
            nom=fold(company["nom"]),
            identifiant=fold_id(company["id"]),
        )


def matching(companies: Sequence[KnownCompany], query: Query) -> list[KnownCompany]:
    """The companies that pass every filter of `query`."""
    wanted = filters.filters(query)
    return [company for company in companies if filters.matches(company.values, wanted)]


def sort(companies: Sequence[KnownCompany], tri: str) -> list[KnownCompany]:
    """Companies of one country in the order `tri`."""
    return sorted(companies, key=lambda company: place(company, tri))


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
