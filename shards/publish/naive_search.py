"""A search without indexes: contract B, company by company, over decoded records.

`smoke_test` compares the answers of the real search with it, on small scopes. It reads the records, the cell of each
row, and share capital and total assets in euros, which no record has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shards.codec import codes
from shards.codec.folding import fold, fold_id
from shards.query import Query
from shards.search.reader import Shard


@dataclass(frozen=True, slots=True)
class KnownCompany:
    """A company as it is searched.

    Attributes:
        company: the fields of §2.1.
        secteur, sous_secteur: NACE division and group.
        capital, actif: share capital and total assets in euros.
        nom, identifiant: the folded name and identifier.
        former: the folded former names.
    """

    row: int
    company: dict[str, Any]
    secteur: str | None
    sous_secteur: str | None
    capital: float | None
    actif: float | None
    with_statements: bool
    nom: str
    identifiant: str
    former: tuple[str, ...]


def read(shard: Shard, rows: Sequence[int]) -> list[KnownCompany]:
    """The companies at these rows of a shard."""
    chosen = np.array(rows, dtype=np.uint32)
    keys = shard.keys("capital_desc", chosen).tolist()
    listed = shard.code_array("actif.amounts", "<f8")
    assets = codes.amounts(shard.codes("actif")[chosen], listed).tolist()
    found = []
    for row, key, euros in zip(rows, keys, assets, strict=True):
        company = shard.company(row)
        cell = shard.cell_at(row)
        capital, actif = (None if key != key else -key), (None if euros != euros else euros)
        nom, identifiant = fold(company["nom"]), fold_id(company["id"])
        found.append(
            KnownCompany(
                row,
                company,
                cell.secteur,
                cell.sous_secteur,
                capital,
                actif,
                shard.comptes(row) is not None,
                nom,
                identifiant,
                tuple(map(fold, company["noms_anterieurs"] or ())),
            )
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
        and (query.ids is None or (company["iso2"], company["id"]) in query.ids)
        and (not query.etats or (company["etat"] or "inconnu") in query.etats)
        and _is_among(known, query)
        and _within(_first_day(company["date_creation"]), query.cree_min, query.cree_max)
        and _within(known.actif, query.actif_min, query.actif_max)
        and (not query.avec_comptes or known.with_statements)
    )


def _is_among(known: KnownCompany, query: Query) -> bool:
    """Whether town, postcode, form and activity are among those that are asked for (extension X2)."""
    company = known.company
    town, postcode = fold(company["ville"] or ""), codes.area(company["code_postal"] or "")
    areas = tuple(filter(None, map(codes.area, query.codes_postaux)))
    return (
        (not query.villes or (town != "" and town in map(fold, query.villes)))
        and (not query.codes_postaux or postcode.startswith(areas))
        and (not query.formes or company["forme"] in query.formes)
        and (not query.nace or (company["nace_code"] or "-").startswith(query.nace))
    )


def _first_day(date: str | None) -> int | None:
    """A date as yyyymmdd; one that is less precise than a day is its first day."""
    return None if date is None else int(f"{date}-01-01"[:10].replace("-", ""))


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
    """Whether a name of the company, folded, contains the folded `q`, or the identifier begins with it (B15, B16)."""
    folded, prefix = fold(q), fold_id(q)
    if not folded:
        return False
    if any(folded in name for name in (known.nom, *known.former)):
        return True
    return bool(prefix) and known.identifiant.startswith(prefix)


def _within(value: float | None, least: float | None, most: float | None) -> bool:
    """Whether a value is within inclusive bounds; a null passes none (contract B22)."""
    if least is None and most is None:
        return True
    if value is None:
        return False
    return (least is None or value >= least) and (most is None or value <= most)
