"""A sample of searches that a new generation must answer rightly before it is published.

They are few and cheap: each country, sector and order once, compared with the counts of
`reference.json` and with the columns. `verify` is the thorough check; this one stops a generation
that opens, and counts, and still answers wrongly.
"""

from collections.abc import Iterator
from typing import Final

from shards.errors import GenerationError
from shards.query import ORDERS, Query
from shards.reference import Reference
from shards.search import Base, search

_PAGE: Final = 50


def check(shards: Base, reference: Reference) -> None:
    """Raise GenerationError, naming each search that answers wrongly, if one does."""
    if faults := list(_faults(shards, reference)):
        raise GenerationError(
            f"the new generation answers wrongly: {'; '.join(faults[:5])}. It is not published; "
            "build it again, and report the build that made it"
        )


def _faults(shards: Base, reference: Reference) -> Iterator[str]:
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
    yield from _name_faults(shards)


def _name_faults(shards: Base) -> Iterator[str]:
    """The first company of each country is found by its own name and by its identifier."""
    for iso2, shard in shards.items():
        if not shard.rows:
            continue
        company = shard.company(0)
        for q in (company["nom"], company["id"]):
            query = Query(pays=(iso2,), q=q)
            page = search(shards, query, offset=0, limit=1)
            if not page.total and any(char.isalnum() for char in q):
                yield f"pays={iso2} q={q!r} finds nothing"
        if shard.find(company["id"]) != 0:
            yield f"{iso2} {company['id']!r} is not found by its identifier"
