"""GET /api/v1/societes/{iso}/{id}: one company (§4.5)."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from serve.access.call import (
    DATA_VERSION,
    CallResult,
    PreparedCall,
    Request,
    private_headers,
)
from serve.access.envelope import Record
from serve.access.etag import etag
from serve.contract import errors, seed_tables
from serve.contract.errors import ApiError
from serve.contract.prices import RECORD_CREDITS
from serve.generation import deletions
from serve.generation.open_generation import OpenGeneration
from serve.request.place_names import known_country
from serve.request.values import check_identifier
from shards.codec import record
from shards.search.matching import company_numbers
from shards.search.matching.company_numbers import CompanyPlace
from shards.search.reader.shard import Shard

_NAMED: Final = 5  # companies in an error


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


def path_of(company: str) -> str:
    """The one path of a company ("EE/10000018"), whatever code or spelling a request used (B2, E2)."""
    iso2, _, identifier = company.partition("/")
    return f"/api/v1/societes/{iso2}/{quote(identifier, safe='')}"


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


def locate(request: Request, generation: OpenGeneration) -> tuple[Shard, int | None]:
    """The shard of the country, and the row of the company in it if there is one."""
    word, identifier = request.segments
    shard = generation.shards[known_country(generation.names, word)]
    identifier = check_identifier(identifier)
    return shard, company_numbers.find_one(shard, identifier, seed_tables.number_notation())


async def refuse_absent(
    generation: OpenGeneration, shard: Shard, identifier: str
) -> CallResult[Any]:
    """The 404, which says when the company was deleted, or names the companies that may be meant."""
    shards = {shard.iso2: shard}
    alike = company_numbers.find(shards, identifier, seed_tables.number_notation()).places
    if not alike:
        await refuse_deleted(generation, shards, identifier)
    places = alike or company_numbers.nearest_companies(
        shards, identifier, seed_tables.number_notation()
    )
    near = company_names(shards, places)
    raise absent_from(generation, errors.societe_introuvable(shard.iso2, identifier, near))


async def refuse_deleted(
    generation: OpenGeneration, countries: Collection[str], identifier: str
) -> None:
    """Say that the company with this identifier was deleted, if it was.

    Raises:
        ApiError: 404.
    """
    find = partial(deletions.find, generation, countries, identifier)
    deletion = await generation.in_thread(deletions.MICROSECONDS, find)
    if deletion is not None:
        raise absent_from(generation, errors.societe_supprimee(*deletion))


def absent_from(generation: OpenGeneration, error: ApiError) -> ApiError:
    """The 404 with the name of the generation that was looked at: `version` may name the one before."""
    error.headers[DATA_VERSION] = generation.id
    return error


def company_names(shards: Mapping[str, Shard], places: Sequence[CompanyPlace]) -> list[str]:
    """Companies as country and identifier, at most _NAMED."""
    return [f"{iso2}:{shards[iso2].company(row)['id']}" for iso2, row in places[:_NAMED]]
