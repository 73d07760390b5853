"""GET /api/v1/societes/{iso}/{id}/comparables: the companies most similar to a company (extension X11).

`shards/analyses/comparables.py` defines the distance. The answer has the gaps of which a distance is the sum; a gap is
null with a reason if a figure is unknown. As in a search, the plan limits the number of companies, and they have
contacts only if the plan has the right.
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
# The estimated cost of each row of the sub-sector, of which a few columns are read.
_MICROSECONDS_A_ROW: Final = 0.02


def comparables(request: Request, generation: OpenGeneration) -> PreparedCall[Comparables]:
    """Find the companies nearest to a company, at most as many as the plan shows in a search.

    Raises:
        ApiError: 400; 409 for a `version` that is no longer open.
    """
    parameters = reader.read(request.pairs, PARAMETERS, generation.names)
    generation = generation.pinned_to(parameters.version)
    shard, row = locate(request, generation)
    if row is None:
        return PreparedCall(partial(refuse_absent, generation, shard, request.segments[1]))
    caller = request.caller
    plan = caller.plan
    limit = rights.window(plan, parameters.value(N), 0).limit
    record = shard.company(row)
    company = f"{shard.iso2}/{record['id']}"
    tag_inputs = (caller.souscrit, request.offer, "comparables", company, limit, request.lang)
    tag = etag(generation.id, plan.slug, *tag_inputs)
    path = f"{path_of(company)}/comparables"
    headers = private_headers(tag, generation.id, path=path, lang=request.lang)
    fields = ("iso2", "id", "nom", "secteur", "sous_secteur")
    subject = SocieteEtSecteur(**{name: record[name] for name in fields})
    reason_code = _reason(shard, row, record)

    async def run() -> "Result[Comparables]":
        """Find the nearest companies, and read their values."""
        base = generation.shards
        cost = _MICROSECONDS_A_ROW * nearest.count_cell_rows(base, shard.iso2, row)
        near_companies = await generation.run(
            cost, lambda: nearest.comparables(base, shard.iso2, row, limit)
        )
        rows = records(
            base, [(near.iso2, near.row) for near in near_companies], coordonnees=plan.coordonnees
        )
        content = Comparables(
            societe=subject,
            plan=plan.slug,
            motif=reason_code and reasons.motif(reason_code, request.lang),
            comparables=_near_companies(near_companies, rows, request.lang),
            offre_suivante=request.offer,
            motif_code=reason_code,
        )
        return Result(200, content, headers)

    return PreparedCall(run, tag, headers)


def _reason(shard: Shard, row: int, record: Mapping[str, Any]) -> str | None:
    """The reason why there are no comparables, or why sizes are not compared; None if they are."""
    if not record["secteur"]:
        return "secteur_absent"
    has_size = record["ca_eur"] is not None or shard.codes("tranche")[row]
    return None if has_size else "taille_absente"


def _gap_reason(comparable: Comparable) -> str | None:
    """The reason why the gap of turnover, of headcount, or both gaps are null; None if neither is."""
    if comparable.ca is None and comparable.effectif is None:
        return "taille_inconnue"
    if comparable.ca is None:
        return "ca_inconnu"
    return "effectif_inconnu" if comparable.effectif is None else None


def _near_companies(
    near_companies: Sequence[Comparable], rows: bytes, lang: str
) -> list[SocieteProche]:
    """The nearest companies with their distances; `rows` is their JSON, in the same order."""
    return [
        _near_company(near, row, _gap_reason(near), lang)
        for near, row in zip(near_companies, codec.companies(rows), strict=True)
    ]


def _near_company(
    comparable: Comparable, company: Mapping[str, Any], reason_code: str | None, lang: str
) -> SocieteProche:
    """A comparable company as an object of the answer: its gaps, its record `company`, and why a gap is null."""
    return SocieteProche(
        distance=comparable.distance,
        ecarts=Ecarts(ca_eur=comparable.ca, effectif=comparable.effectif, lieu=comparable.lieu),
        societe=company,
        motif=reason_code and reasons.motif(reason_code, lang),
        motif_code=reason_code,
    )
