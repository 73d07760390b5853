"""GET /api/v1/societes/{iso}/{id}/comparables: the companies that are most like one (extension X11).

What is near is defined by `shards/analyses/comparables.py`; the answer has the gaps of each distance, null with
a reason where a size is not known. Rows are those of a search: as many as the plan shows, with contacts only where it
has the right to them.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from serve.access import rights
from serve.access.call import PreparedCall, Request, Result, etag, private_headers
from serve.access.company_path import locate, path_of, refuse_absent
from serve.contract import reasons
from serve.contract.parameters import VERSION, Parameter
from serve.features.analyses.answers import (
    Comparables,
    Ecarts,
    SocieteEtSecteur,
    SocieteProche,
)
from serve.generation.open_generation import OpenGeneration
from serve.request import reader
from shards.analyses import comparables as nearest
from shards.analyses.comparables import Comparable
from shards.codec import record as codec
from shards.reader.shard import Shard
from shards.search.search import records

N: Final = Parameter("n", 10, "integer", default=10, minimum=1, maximum=50)
PARAMETERS: Final = (N, VERSION)
# A row of the sub-sector, of which a few columns are read.
_MICROSECONDS_A_ROW: Final = 0.02


def comparables(request: Request, generation: OpenGeneration) -> PreparedCall[Comparables]:
    """The companies nearest to a company, at most as many as the plan shows of a search.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    wanted = reader.read(request.pairs, PARAMETERS, generation.names)
    generation = generation.at_version(wanted.version)
    shard, row = locate(request, generation)
    if row is None:
        return PreparedCall(partial(refuse_absent, generation, shard, request.segments[1]))
    caller = request.caller
    plan = caller.plan
    limit = rights.window(plan, wanted.value(N), 0).limit
    record = shard.company(row)
    company = f"{shard.iso2}/{record['id']}"
    given = (caller.souscrit, request.offer, "comparables", company, limit, request.lang)
    tag = etag(generation.id, plan.slug, *given)
    path = f"{path_of(company)}/comparables"
    headers = private_headers(tag, generation.id, path=path, lang=request.lang)
    kept = ("iso2", "id", "nom", "secteur", "sous_secteur")
    shown = SocieteEtSecteur(**{name: record[name] for name in kept})
    motif = _reason(shard, row, record)

    async def run() -> "Result[Comparables]":
        base = generation.shards
        cost = _MICROSECONDS_A_ROW * nearest.rows_beside(base, shard.iso2, row)
        near_companies = await generation.in_thread(
            cost, lambda: nearest.comparables(base, shard.iso2, row, limit)
        )
        rows = records(
            base, [(one.iso2, one.row) for one in near_companies], coordonnees=plan.coordonnees
        )
        content = Comparables(
            societe=shown,
            plan=plan.slug,
            motif=motif and reasons.motif(motif, request.lang),
            comparables=_companies(near_companies, rows, request.lang),
            offre_suivante=request.offer,
            motif_code=motif,
        )
        return Result(200, content, headers)

    return PreparedCall(run, tag, headers)


def _reason(shard: Shard, row: int, record: Mapping[str, Any]) -> str | None:
    """Why there are no comparables, or why no size is compared."""
    if not record["secteur"]:
        return "secteur_absent"
    known = record["ca_eur"] is not None or shard.codes("tranche")[row]
    return None if known else "taille_absente"


def _gap_reason(comparable: Comparable) -> str | None:
    """Why a gap is null, None where both are known."""
    if comparable.ca is None and comparable.effectif is None:
        return "taille_inconnue"
    if comparable.ca is None:
        return "ca_inconnu"
    return "effectif_inconnu" if comparable.effectif is None else None


def _companies(near_companies: Sequence[Comparable], rows: bytes, lang: str) -> list[SocieteProche]:
    """The near companies with their distances; `rows` is their JSON, in the same order."""
    return [
        _company(one, row, _gap_reason(one), lang)
        for one, row in zip(near_companies, codec.companies(rows), strict=True)
    ]


def _company(
    comparable: Comparable, row: Mapping[str, Any], code: str | None, lang: str
) -> SocieteProche:
    return SocieteProche(
        distance=comparable.distance,
        ecarts=Ecarts(ca_eur=comparable.ca, effectif=comparable.effectif, lieu=comparable.lieu),
        societe=row,
        motif=code and reasons.motif(code, lang),
        motif_code=code,
    )
