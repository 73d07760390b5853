"""A sample of searches that a new generation must answer correctly before it is published.

There are two kinds of searches. First, the counts of every country, sector and order must be those of
`reference.json`. Second, some companies of each country are picked, with queries that match them: by parts of the name,
by identifier, by bounds and flags, in every order. In a scope of at most LARGEST companies (a whole country, or a
sub-sector of a large country) the answer must equal the answer of a search without indexes, row by row. In a whole
country every row of the page must match and be in order.

`verify` is the thorough check. The smoke test stops a generation that can be opened but answers wrongly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np

from shards.codec.codes import fold_postcode
from shards.codec.folding import fold, fold_id
from shards.errors import CorruptError, GenerationError
from shards.generations.reference import Reference
from shards.query import ORDERS, Query, Range
from shards.reader.shard import Shard
from shards.search import columns
from shards.search.columns import RANGED, ColumnValues
from shards.search.search import ShardSet, search

# -- a search without indexes: contract B, company by company, over decoded records -------------


@dataclass(frozen=True, slots=True)
class SearchableCompany:
    """A company, with its values for filters and orders.

    Attributes:
        company: the fields of §2.1.
        values: the values that filters compare.
        capital: the share capital in euros.
        nom, identifiant: the folded name and identifier.
    """

    row: int
    company: dict[str, Any]
    values: ColumnValues
    capital: float | None
    nom: str
    identifiant: str


class SearchableCompanies:
    """The companies of a shard, each read once."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._by_row: dict[int, SearchableCompany] = {}

    def read(self, rows: Sequence[int]) -> list[SearchableCompany]:
        """The companies of these rows."""
        if missing := [row for row in rows if row not in self._by_row]:
            self._by_row.update(zip(missing, _decode_companies(self._shard, missing), strict=True))
        return [self._by_row[row] for row in rows]


def _decode_companies(shard: Shard, rows: Sequence[int]) -> Iterator[SearchableCompany]:
    """Decode the companies of these rows, with their values for filters and orders, for the search without indexes."""
    keys = shard.keys("capital_desc", np.array(rows, dtype=np.uint32)).tolist()
    companies = shard.companies(rows)
    values = columns.values_of_rows(shard, rows, companies)
    for row, company, compared, key in zip(rows, companies, values, keys, strict=True):
        yield SearchableCompany(
            row,
            company,
            compared,
            # The keys of a descending order are negated amounts; NaN (which is not equal to itself) means no capital.
            capital=None if key != key else -key,
            nom=fold(company["nom"]),
            identifiant=fold_id(company["id"]),
        )


def matching_companies(
    companies: Sequence[SearchableCompany], query: Query
) -> list[SearchableCompany]:
    """The companies that pass every filter of `query`."""
    filters = columns.filters(query)
    return [company for company in companies if columns.matches(company.values, filters)]


def sorted_companies(companies: Sequence[SearchableCompany], tri: str) -> list[SearchableCompany]:
    """Companies of one country in the order `tri`."""
    return sorted(companies, key=lambda company: sort_key(company, tri))


def sort_key(searchable: SearchableCompany, tri: str) -> tuple[Any, ...]:
    """The sort key of a company in the order `tri` (contract B27 to B32), within one country; null values come last."""
    company, identifier = searchable.company, searchable.company["id"].encode()
    if tri == "nom":
        return (searchable.nom, company["nom"], identifier)
    if tri == "recent":
        date = company["date_creation"]
        # Descending: later dates first, and a year without month and day after all its days.
        return (date is None, [-ord(char) for char in (date or "").ljust(10, "\0")], identifier)
    value, direction = {
        "ca_desc": (company["ca_eur"], -1),
        "ca_asc": (company["ca_eur"], 1),
        "effectif_desc": (company["effectif"], -1),
        "capital_desc": (searchable.capital, -1),
        "score": (company["score"], -1),
    }[tri]
    return (value is None, 0 if value is None else direction * value, identifier)


# -- the sample of searches ------------------------------------------------------------------


# The most companies of a scope: a search without indexes reads every record of the scope.
LARGEST: Final = 500
_PAGE: Final = 50  # rows of a page
_SCOPES: Final = 2  # sub-sectors that are checked in a large country
_REPORTED: Final = 5  # the most wrong answers that the message names
_LONGEST_Q: Final = 120  # characters of `q` (§8.2 rule 7)


def check(shards: ShardSet, reference: Reference) -> None:
    """Run the sample of searches on a new generation, before it is published.

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
    """Messages about all wrong answers of the sample.

    In small scopes, totals and first pages are compared with a search without indexes, which reads every record. In a
    complete country, only the companies of the first page are tested.
    """
    yield from _count_faults(shards, reference)
    for iso2, shard in shards.items():
        if not shard.rows:
            continue
        yield from _identifier_faults(shard)
        companies_by_row = SearchableCompanies(shard)
        for scope, rows in _scopes(shard):
            companies = companies_by_row.read(rows)
            ordered = {tri: sorted_companies(companies, tri) for tri in ORDERS}
            for query in _queries(scope, companies):
                matching = {company.row for company in matching_companies(companies, query)}
                for tri in ORDERS:
                    expected = [company.row for company in ordered[tri] if company.row in matching]
                    yield from _page_faults(shards, replace(query, tri=tri), expected, iso2)
        picked = companies_by_row.read(_pick_places(shard.rows))
        for query in _queries(Query(pays=(iso2,)), picked):
            yield from _row_faults(shards, query, companies_by_row)


def _count_faults(shards: ShardSet, reference: Reference) -> Iterator[str]:
    """Check that searches by order, country and sector find as many companies as `reference.json` counts."""
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
        expected = sum(
            cell.n
            for cells in reference.counts.values()
            for cell in cells
            if cell.secteur == secteur.code
        )
        if total != expected:
            yield f"secteur={secteur.slug} finds {total} of {expected} companies"


def _identifier_faults(shard: Shard) -> Iterator[str]:
    """Check that some companies are found by their identifiers."""
    for row in _pick_places(shard.rows):
        identifier = shard.company(row)["id"]
        if shard.find(identifier) != row:
            yield f"{shard.iso2} {identifier!r} is not found by its identifier"


def _page_faults(shards: ShardSet, query: Query, expected: list[int], iso2: str) -> Iterator[str]:
    """Check that a search has the expected total, and on its first page the expected rows in their order."""
    page = search(shards, query, offset=0, limit=_PAGE)
    if page.total != len(expected):
        yield f"{_query_text(query)} finds {page.total} of {len(expected)} companies"
    elif page.rows != tuple((iso2, row) for row in expected[:_PAGE]):
        yield f"{_query_text(query)} shows the wrong companies, or the wrong order"


def _row_faults(shards: ShardSet, query: Query, companies: SearchableCompanies) -> Iterator[str]:
    """Check in each order that the first page has rows, that they match, and that they are in order."""
    for tri in ORDERS:
        page = search(shards, replace(query, tri=tri), offset=0, limit=_PAGE)
        page_companies = companies.read([row for _, row in page.rows])
        text = _query_text(replace(query, tri=tri))
        if not page_companies:
            yield f"{text} finds nothing"
        if len(matching_companies(page_companies, query)) < len(page_companies):
            yield f"{text} shows a company that does not match"
        if sorted_companies(page_companies, tri) != page_companies:
            yield f"{text} is not in order"


def _scopes(shard: Shard) -> Iterator[tuple[Query, range]]:
    """The parts of a country for the search without indexes: all of it, or its largest sub-sectors within LARGEST."""
    pays = (shard.iso2,)
    if shard.rows <= LARGEST:
        yield Query(pays=pays), range(shard.rows)
        return
    small = [cell for cell in shard.layout.cells
             if cell.secteur and cell.sous_secteur and cell.stop - cell.start <= LARGEST]  # fmt: skip
    # The largest sub-sectors come first, since `start - stop` is the negated number of their rows.
    for cell in sorted(small, key=lambda cell: (cell.start - cell.stop, cell.start))[:_SCOPES]:
        assert cell.secteur and cell.sous_secteur
        query = Query(pays=pays, secteurs=(cell.secteur,), sous_secteurs=(cell.sous_secteur,))
        yield query, range(cell.start, cell.stop)


def _queries(scope: Query, companies: list[SearchableCompany]) -> Iterator[Query]:
    """Queries within a scope that some of its companies match."""
    for place in _pick_places(len(companies)):
        yield from _queries_about(scope, companies[place])


def _queries_about(scope: Query, searchable: SearchableCompany) -> Iterator[Query]:
    """Queries that this company matches, within a scope: by parts of its name and identifier, bounds and codes."""
    company = searchable.company
    yield scope
    if searchable.nom:
        middle = len(searchable.nom) // 2
        yield replace(scope, q=company["nom"][:_LONGEST_Q])
        yield replace(scope, q=searchable.nom[middle : middle + 3].strip() or searchable.nom[0])
    for former in filter(fold, company["noms_anterieurs"] or ()):
        yield replace(scope, q=former[:_LONGEST_Q])
    if searchable.identifiant:
        yield replace(scope, q=searchable.identifiant[: max(1, len(searchable.identifiant) // 2)])
    yield from _bound_queries(scope, searchable)
    yield from _code_queries(scope, searchable)
    if company["site_web"] is not None:
        yield replace(scope, site_web=True, ranges=(Range("effectif", company["effectif"]),))


def _bound_queries(scope: Query, searchable: SearchableCompany) -> Iterator[Query]:
    """Queries that this company matches by bounds: its own value as lower or upper bound of each column, then all."""
    has_turnover = searchable.values["ca_eur"] is not None
    bounds = [
        Range(name, searchable.values[name])
        for name in RANGED
        if searchable.values[name] is not None
    ]
    for column, value, _ in bounds:
        yield replace(scope, ranges=(Range(column, value),))
        # The last letter is in several names: their rows are listed and ranked.
        yield replace(scope, ranges=(Range(column, value),), q=searchable.nom[-1:] or None)
        upper_bound = (Range(column, None, value),)
        yield replace(
            scope, ranges=upper_bound, avec_ca=has_turnover, q=searchable.nom[:2].strip() or None
        )
    yield replace(scope, ranges=tuple(bounds))


def _code_queries(scope: Query, searchable: SearchableCompany) -> Iterator[Query]:
    """Queries that this company matches by the filters of extensions X2, such as identifiers, states and towns."""
    company = searchable.company
    state_filters = Query(
        etats=(company["etat"] or "inconnu",), avec_comptes=searchable.values["avec_comptes"]
    )
    # In filters with a second value, the company matches the first one: one matching value must suffice.
    yield replace(scope, ids=((company["iso2"], company["id"]), (company["iso2"], "-")))
    yield replace(scope, etats=state_filters.etats, avec_comptes=state_filters.avec_comptes)
    if company["ville"] and fold(company["ville"]):
        yield replace(scope, villes=(company["ville"], "Paris"), etats=state_filters.etats)
    if company["code_postal"] and fold_postcode(company["code_postal"]):
        yield replace(scope, codes_postaux=(company["code_postal"][:2],), etats=state_filters.etats)
    if company["forme"]:
        yield replace(scope, formes=(company["forme"],), q=searchable.nom[:1] or None)
    if company["nace_code"]:
        yield replace(scope, nace=(company["nace_code"], "56"), q=searchable.nom[:1] or None)
        yield replace(scope, nace=(company["nace_code"][:2],))
    if company["date_creation"]:
        year_start = int(company["date_creation"][:4]) * 10_000  # days are numbers yyyymmdd
        founded = Range("creation", year_start + 101, year_start + 1231)
        yield replace(scope, ranges=(founded,), etats=state_filters.etats)


def _pick_places(count: int) -> list[int]:
    """Places below `count`: the first, the last, and two in between."""
    return sorted({0, count // 3, 2 * count // 3, count - 1})


def _query_text(query: Query) -> str:
    """The filters of a query as text, so that a person can repeat the search."""
    filters = {name: getattr(query, name) for name in Query.__slots__}
    return " ".join(f"{name}={value!r}" for name, value in filters.items() if value)
