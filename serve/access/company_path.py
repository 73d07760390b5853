"""The company that a path names: its place in a generation, its one path, and the 404 of one that is absent."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from serve.access.call import DATA_VERSION, CallResult, Request
from serve.contract import errors, seed_tables
from serve.contract.errors import ApiError
from serve.generation import deletions
from serve.generation.open_generation import OpenGeneration
from serve.request.place_names import known_country
from serve.request.values import check_identifier
from shards.reader.shard import Shard
from shards.search import company_numbers
from shards.search.company_numbers import CompanyPlace

_NAMED: Final = 5  # companies in an error


def locate(request: Request, generation: OpenGeneration) -> tuple[Shard, int | None]:
    """The shard of the country, and the row of the company in it if there is one."""
    word, identifier = request.segments
    shard = generation.shards[known_country(generation.names, word)]
    identifier = check_identifier(identifier)
    return shard, company_numbers.find_one(shard, identifier, seed_tables.number_notation())


def path_of(company: str) -> str:
    """The one path of a company ("EE/10000018"), whatever code or spelling a request used (B2, E2)."""
    iso2, _, identifier = company.partition("/")
    return f"/api/v1/societes/{iso2}/{quote(identifier, safe='')}"


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
