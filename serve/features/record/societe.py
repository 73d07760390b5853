"""GET /api/v1/societes/{iso}/{id}: one company (§4.5)."""

from functools import partial

from serve.access.call import (
    CallResult,
    PreparedCall,
    Request,
    etag,
    private_headers,
)
from serve.access.company_path import locate, path_of, refuse_absent
from serve.access.envelope import Record
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.seed_tables import RECORD_CREDITS
from serve.generation.open_generation import OpenGeneration
from shards.codec import record


def societe(request: Request, generation: OpenGeneration) -> PreparedCall[Record]:
    """The record of a company, as far as the caller's plan goes; without statements it costs no credits (X0).

    The company is looked up before the tag is compared: `If-None-Match: *` must not make an absent
    company exist. Its absence is an answer, which costs a call (D1), so `run` raises the 404.

    Raises:
        ApiError: 400; 409 for a `version` that is not open any more.
    """
    return _prepare_record(request, generation, with_statements=True)


def identite(request: Request, generation: OpenGeneration) -> PreparedCall[Record]:
    """The record without its statements: what a search shows of a company, at no credits."""
    return _prepare_record(request, generation, with_statements=False)


def exercices(request: Request, generation: OpenGeneration) -> list[int]:
    """The fiscal years of the company's statements, the latest first (E5); none if it is absent.

    Raises:
        ApiError: 400, as for the record.
    """
    shard, row = locate(request, generation)
    comptes = None if row is None else shard.comptes(row)
    years = {line["exercice"] for line in record.lines(comptes)}
    return sorted(years, reverse=True)


def _prepare_record(
    request: Request, generation: OpenGeneration, *, with_statements: bool
) -> PreparedCall[Record]:
    generation = generation.at_version_of(request.pairs)
    shard, row = locate(request, generation)
    if row is None:
        return PreparedCall(partial(refuse_absent, generation, shard, request.segments[1]))
    caller, offer = request.caller, request.offer
    plan = caller.plan
    company = f"{shard.iso2}/{shard.company(row)['id']}"
    served = with_statements and plan.etats_financiers
    # Only a record that says why it has no statements has a text of ours.
    message = errors.COMPTES_MESSAGE if with_statements and not served else None
    lang = request.lang if message else ""
    tag = etag(generation.id, plan.slug, caller.souscrit, offer, company, lang)
    headers = private_headers(tag, generation.id, path=path_of(company), lang=lang)

    async def run() -> "CallResult[Record]":
        identity = shard.record(row, coordonnees=plan.coordonnees)
        statements = (shard.comptes(row) or b"[]") if served else None
        said = message.in_language(lang) if message else None
        record = Record(caller, offer, identity, plan.coordonnees, statements, said)
        return CallResult(200, record, headers, free=not shard.has_comptes(row))

    def preview(error: ApiError) -> Record:
        public = shard.record(row, coordonnees=False)
        said = error.texts.in_language(request.lang)
        return Record(caller, offer, public, contacts=False, message=said)

    cost = RECORD_CREDITS if served else 0
    return PreparedCall(run, tag, headers, company, cost, preview)
