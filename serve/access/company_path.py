"""The company that a path names: its place in a generation, its one path, and the 404 of one that is absent.

The 404 of a company that an earlier generation had says when it was deleted, by the files of changes (X19).
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from serve.access.call import DATA_VERSION, Request, Result
from serve.contract import errors, seed_tables
from serve.contract.errors import ApiError
from serve.generation.open_generation import OpenGeneration
from serve.request.place_names import known_country
from serve.request.values import check_identifier
from shards.changes import change_file
from shards.changes.forgetting import ERASED
from shards.codec.folding import fold_id
from shards.errors import ShardError
from shards.generations import change_steps
from shards.generations.change_steps import SUFFIX, ChangeStep
from shards.reader.shard import Shard
from shards.search import company_numbers
from shards.search.company_numbers import CompanyPlace

_NAMED: Final = 5  # companies in an error

# A file is opened and a few of its pages are read, for each step and country.
_DELETION_MICROSECONDS: Final = 5_000.0


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


async def refuse_absent(generation: OpenGeneration, shard: Shard, identifier: str) -> Result[Any]:
    """The 404, which says when the company was deleted, or names the companies that may be meant."""
    shards = {shard.iso2: shard}
    alike = company_numbers.find(shards, identifier, seed_tables.number_notation()).places
    if not alike:
        await refuse_deleted(generation, shards, identifier)
    places = alike or company_numbers.nearest_companies(
        shards, identifier, seed_tables.number_notation()
    )
    near = company_names(shards, places)
    raise absent_from(generation, errors.no_company(shard.iso2, identifier, near))


async def refuse_deleted(
    generation: OpenGeneration, countries: Collection[str], identifier: str
) -> None:
    """Say that the company with this identifier was deleted, if it was.

    Raises:
        ApiError: 404.
    """
    find = partial(_find_deletion, generation, countries, identifier)
    deletion = await generation.in_thread(_DELETION_MICROSECONDS, find)
    if deletion is not None:
        error = ApiError(
            "societe_supprimee_le" if deletion.date else "societe_supprimee",
            iso2=deletion.iso2,
            identifiant=deletion.identifier,
            proches=[],
            supprimee_le=deletion.date,
        )
        raise absent_from(generation, error)


def absent_from(generation: OpenGeneration, error: ApiError) -> ApiError:
    """The 404 with the name of the generation that was looked at: `version` may name the one before."""
    error.headers[DATA_VERSION] = generation.id
    return error


def company_names(shards: Mapping[str, Shard], places: Sequence[CompanyPlace]) -> list[str]:
    """Companies as country and identifier, at most _NAMED."""
    return [f"{iso2}:{shards[iso2].company(row)['id']}" for iso2, row in places[:_NAMED]]


class _Deletion(NamedTuple):
    """A deleted company.

    Attributes:
        date: that of the data of its country which lack it (ISO 8601); None where its sources tell none.
    """

    iso2: str
    identifier: str
    date: str | None


def _find_deletion(
    generation: OpenGeneration, countries: Collection[str], identifier: str
) -> _Deletion | None:
    """The deletion of the one company of these countries that had an identifier, which none has now.

    None where there are several, where a person has objected, and where files of changes cannot be read.
    """
    folded = fold_id(identifier)
    if not folded:
        return None
    steps = generation.get_or_make(
        "history", lambda: change_steps.history(generation.steps, generation.id)
    )
    try:
        deletions = [_deletion_in(steps, iso2, folded, identifier) for iso2 in countries]
    except (ShardError, OSError):
        return None
    known = [one for one in deletions if one is not None]
    return known[0] if len(known) == 1 else None


def _deletion_in(steps: list[ChangeStep], iso2: str, folded: str, written: str) -> _Deletion | None:
    for step in steps:
        if iso2 not in step.counts or not step.counts[iso2].supprimees:
            continue
        found = change_file.find_deleted(step.folder / f"{iso2}{SUFFIX}", folded)
        if found:
            identifier = written if written in found else next(iter(found))
            several = len(found) > 1 and written not in found
            if several or _is_erased(step, iso2, found[identifier]):
                return None
            return _Deletion(iso2, identifier, step.dates[iso2][1])
    return None


def _is_erased(step: ChangeStep, iso2: str, number: int) -> bool:
    """Whether a person has objected to the name of the company."""
    with closing(change_file.of_step(step, iso2)) as changes:
        (details,) = changes.details([number])
    return details.get("nom", (ERASED,))[0] == ERASED
