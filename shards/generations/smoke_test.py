"""A sample of searches that a new generation must answer correctly before it is published.

There are two kinds. First, the counts of every country, sector and order must be those of `reference.json`. Second,
some companies of each country are picked, and queries are made that match them: by parts of the name, by identifier,
by bounds and flags, in every order. On a scope of at most LARGEST companies (a whole country, or a sub-sector of a
large one) the answer must equal that of a search without indexes, row by row; on a whole country every row of the page
must match and be in order.

`verify` is the thorough check. This one stops a generation that can be opened but answers wrongly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np

from shards.codec.codes import area
from shards.codec.folding import fold, fold_id
from shards.errors import CorruptError, GenerationError
from shards.generations.reference import Reference
from shards.query import ORDERS, Query, Range
from shards.reader.shard import Shard
from shards.search import columns
from shards.search.columns import RANGED, Values
from shards.search.search import ShardSet, search

# -- a search without indexes: contract B, company by company, over decoded records -------------


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
    values = columns.values_of_rows(shard, rows, companies)
    for row, company, compared, key in zip(rows, companies, values, keys, strict=True):
        yield KnownCompany(
            row,
            company,
            compared,
            capital=None if key != key else -key,
            nom=fold(company["nom"]),
            identifiant=fold_id(company["id"]),
        )


def matching_companies(companies: Sequence[KnownCompany], query: Query) -> list[KnownCompany]:
    """The companies that pass every filter of `query`."""
    wanted = columns.filters(query)
    return [company for company in companies if columns.matches(company.values, wanted)]


def sorted_companies(companies: Sequence[KnownCompany], tri: str) -> list[KnownCompany]:
    """Companies of one country in the order `tri`."""
    return sorted(companies, key=lambda company: sort_key(company, tri))


def sort_key(known: KnownCompany, tri: str) -> tuple[Any, ...]:
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


# -- the sample --------------------------------------------------------------------------------


LARGEST: Final = 500
_PAGE: Final = 50
_SCOPES: Final = 2  # sub-sectors that are checked in a large country
_REPORTED: Final = 5


def check(shards: ShardSet, reference: Reference) -> None:
    """Run the sample.

    Raises:
        GenerationError: names the first searches with a wrong answer.
    """
    try:
        faults = list(islice(_faults(shards, reference), _REPORTED))
    except CorruptError as error:
        faults = [str(error)]
    if faults:
        raise GenerationError(
            f"the new generation answers wrongly: {'; '.join(faults)}. It is not published; "
            "build it again, and report the build that made it"
        )


def _faults(shards: ShardSet, reference: Reference) -> Iterator[str]:
    yield from _count_faults(shards, reference)
    for iso2, shard in shards.items():
        if not shard.rows:
            continue
        yield from _identifier_faults(shard)
        known = KnownCompanies(shard)
        for scope, rows in _scopes(shard):
            companies = known.read(rows)
            ordered = {tri: sorted_companies(companies, tri) for tri in ORDERS}
            for query in _queries(scope, companies):
                matching = {company.row for company in matching_companies(companies, query)}
                for tri in ORDERS:
                    expected = [one.row for one in ordered[tri] if one.row in matching]
                    yield from _page_faults(shards, replace(query, tri=tri), expected, iso2)
        picked = known.read(_pick_places(shard.rows))
        for query in _queries(Query(pays=(iso2,)), picked):
            yield from _row_faults(shards, query, known)


def _count_faults(shards: ShardSet, reference: Reference) -> Iterator[str]:
    for tri in ORDERS:
        page = search(shards, Query(tri=tri), offset=0, limit=_PAGE)
        if page.total != reference.total or len(page.rows) != min(_PAGE, page.total):
            yield f"tri={tri} finds {page.total} of {reference.total} companies"
    for pays in reference.pays:
        total = search(shards, Query(pays=(pays.iso2,)), offset=0, limit=1).total
        if total != reference.societes(pays.iso2):
            yield f"pays={pays.iso2} finds {total} of {reference.societes(pays.iso2)} companies"
    for secteur in reference.secteurs:
        total = search(shards, Query(secteurs=(secteur.code,)), offset=0, limit=1).total
        counted = sum(c.n for cells in reference.counts.values() for c in cells
                      if c.secteur == secteur.code)  # fmt: skip
        if total != counted:
            yield f"secteur={secteur.slug} finds {total} of {counted} companies"


def _identifier_faults(shard: Shard) -> Iterator[str]:
    for row in _pick_places(shard.rows):
        identifier = shard.company(row)["id"]
        if shard.find(identifier) != row:
            yield f"{shard.iso2} {identifier!r} is not found by its identifier"


def _page_faults(shards: ShardSet, query: Query, expected: list[int], iso2: str) -> Iterator[str]:
    """Check that the total and the first page are the expected ones."""
    page = search(shards, query, offset=0, limit=_PAGE)
    if page.total != len(expected):
        yield f"{_text(query)} finds {page.total} of {len(expected)} companies"
    elif page.rows != tuple((iso2, row) for row in expected[:_PAGE]):
        yield f"{_text(query)} shows other companies than it should, or in another order"


def _row_faults(shards: ShardSet, query: Query, known: KnownCompanies) -> Iterator[str]:
    """Check in each order that the first page has rows, and that they match and are in order."""
    for tri in ORDERS:
        page = search(shards, replace(query, tri=tri), offset=0, limit=_PAGE)
        shown = known.read([row for _, row in page.rows])
        text = _text(replace(query, tri=tri))
        if not shown:
            yield f"{text} finds nothing"
        if len(matching_companies(shown, query)) < len(shown):
            yield f"{text} shows a company that does not match"
        if sorted_companies(shown, tri) != shown:
            yield f"{text} is not in order"


def _scopes(shard: Shard) -> Iterator[tuple[Query, range]]:
    """The parts of a country for the naive search: the whole country, or its largest sub-sectors within LARGEST."""
    pays = (shard.iso2,)
    if shard.rows <= LARGEST:
        yield Query(pays=pays), range(shard.rows)
        return
    small = [c for c in shard.layout.cells
             if c.secteur and c.sous_secteur and c.stop - c.start <= LARGEST]  # fmt: skip
    for cell in sorted(small, key=lambda c: (c.start - c.stop, c.start))[:_SCOPES]:
        assert cell.secteur and cell.sous_secteur
        query = Query(pays=pays, secteurs=(cell.secteur,), sous_secteurs=(cell.sous_secteur,))
        yield query, range(cell.start, cell.stop)


def _queries(scope: Query, companies: list[KnownCompany]) -> Iterator[Query]:
    """Queries within a scope that some of its companies match."""
    for place in _pick_places(len(companies)):
        yield from _queries_about(scope, companies[place])


def _queries_about(scope: Query, known: KnownCompany) -> Iterator[Query]:
    company = known.company
    yield scope
    if known.nom:
        middle = len(known.nom) // 2
        yield replace(scope, q=company["nom"][:120])
        yield replace(scope, q=known.nom[middle : middle + 3].strip() or known.nom[0])
    for former in filter(fold, company["noms_anterieurs"] or ()):
        yield replace(scope, q=former[:120])
    if known.identifiant:
        yield replace(scope, q=known.identifiant[: max(1, len(known.identifiant) // 2)])
    yield from _about_bounds(scope, known)
    yield from _about_codes(scope, known)
    if company["site_web"] is not None:
        yield replace(scope, site_web=True, ranges=(Range("effectif", company["effectif"]),))


def _about_bounds(scope: Query, known: KnownCompany) -> Iterator[Query]:
    """Queries by a column that has bounds, alone and with the others."""
    sells = known.values["ca_eur"] is not None
    bounds = [Range(one, known.values[one]) for one in RANGED if known.values[one] is not None]
    for column, value, _ in bounds:
        yield replace(scope, ranges=(Range(column, value),))
        # A letter of several names: their rows are listed, and ranked.
        yield replace(scope, ranges=(Range(column, value),), q=known.nom[-1:] or None)
        below = (Range(column, None, value),)
        yield replace(scope, ranges=below, avec_ca=sells, q=known.nom[:2].strip() or None)
    yield replace(scope, ranges=tuple(bounds))


def _about_codes(scope: Query, known: KnownCompany) -> Iterator[Query]:
    """Queries by the filters of extensions X2."""
    company = known.company
    state = Query(etats=(company["etat"] or "inconnu",), avec_comptes=known.values["avec_comptes"])
    yield replace(scope, ids=((company["iso2"], company["id"]), (company["iso2"], "-")))
    yield replace(scope, etats=state.etats, avec_comptes=state.avec_comptes)
    if company["ville"] and fold(company["ville"]):
        yield replace(scope, villes=(company["ville"], "Paris"), etats=state.etats)
    if company["code_postal"] and area(company["code_postal"]):
        yield replace(scope, codes_postaux=(company["code_postal"][:2],), etats=state.etats)
    if company["forme"]:
        yield replace(scope, formes=(company["forme"],), q=known.nom[:1] or None)
    if company["nace_code"]:
        yield replace(scope, nace=(company["nace_code"], "56"), q=known.nom[:1] or None)
        yield replace(scope, nace=(company["nace_code"][:2],))
    if company["date_creation"]:
        year = int(company["date_creation"][:4]) * 10_000
        founded = Range("creation", year + 101, year + 1231)
        yield replace(scope, ranges=(founded,), etats=state.etats)


def _pick_places(count: int) -> list[int]:
    """Some of `count` places: the first, the last, and two in between."""
    return sorted({0, count // 3, 2 * count // 3, count - 1})


def _text(query: Query) -> str:
    """The filters of a query as text, so that a person can repeat it."""
    filters = {name: getattr(query, name) for name in Query.__slots__}
    return " ".join(f"{name}={value!r}" for name, value in filters.items() if value)
