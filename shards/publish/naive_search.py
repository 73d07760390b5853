"""A search without indexes: contract B, company by company, over decoded records.

`smoke_test` compares the answers of the real search with it, on small scopes. It reads the records, the cell of each
row, and the key of the share capital in euros, which no record has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shards.codec.folding import fold, fold_id
from shards.query import Query
from shards.search.reader import Shard


@dataclass(frozen=True, slots=True)
class KnownCompany:
    """A company as it is searched.

    Attributes:
        company: the fields of §2.1.
        secteur, sous_secteur: NACE division and group.
        capital: the share capital in euros.
        nom, identifiant: the folded name and identifier.
    """

    row: int
    company: dict[str, Any]
    secteur: str | None
    sous_secteur: str | None
    capital: float | None
    nom: str
    identifiant: str


def read(shard: Shard, rows: Sequence[int]) -> list[KnownCompany]:
    """The companies at these rows of a shard."""
    keys = shard.keys("capital_desc", np.array(rows, dtype=np.uint32)).tolist()
    found = []
    for row, key in zip(rows, keys, strict=True):
        company = shard.company(row)
        cell = shard.cell_at(row)
        capital = None if key != key else -key
        nom, identifiant = fold(company["nom"]), fold_id(company["id"])
        found.append(
            KnownCompany(row, company, cell.secteur, cell.sous_secteur, capital, nom, identifiant)
        )
    return found


def search(companies: Sequence[KnownCompany], query: Query) -> list[int]:
    """The rows that match, in order; all companies must be of one country."""
    matching = [company for company in companies if matches(company, query)]
    return [company.row for company in sorted(matching, key=lambda c: place(c, query.tri))]


def matches(known: KnownCompany, query: Query) -> bool:
    """Whether a company passes every filter of `query`."""
    company = known.company
    groups = query.sous_secteurs
    return (
        (not query.pays or company["iso2"] in query.pays)
        and (not query.secteurs or known.secteur in query.secteurs)
        and (groups is None or known.sous_secteur in groups)
        and (query.q is None or _named(known, query.q))
        and _within(company["ca_eur"], query.ca_min, query.ca_max)
        and _within(company["effectif"], query.effectif_min, query.effectif_max)
        and (not query.site_web or company["site_web"] is not None)
        and (not query.avec_ca or company["ca_eur"] is not None)
    )


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


def _named(known: KnownCompany, q: str) -> bool:
    """Whether the folded name contains the folded `q`, or the identifier begins with it (contract B15, B16)."""
    folded, prefix = fold(q), fold_id(q)
    if not folded:
        return False
    return folded in known.nom or (bool(prefix) and known.identifiant.startswith(prefix))


def _within(value: float | None, least: float | None, most: float | None) -> bool:
    """Whether a value is within inclusive bounds; a null passes none (contract B22)."""
    if least is None and most is None:
        return True
    if value is None:
        return False
    return (least is None or value >= least) and (most is None or value <= most)
