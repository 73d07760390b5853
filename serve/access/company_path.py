"""The company of a path: its row in a generation, its canonical path, and the 404 of an absent company.

The 404 of a deleted company has the date of the deletion, from the files of changes (X19). A step is the changes from
one generation to the next; it has a file for each country.
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
from serve.request.place_names import country_code
from serve.request.values import check_identifier
from shards.changes import change_file
from shards.changes.forgetting import ERASED
from shards.codec.folding import fold_id
from shards.errors import ShardError
from shards.generations import change_steps
from shards.generations.change_steps import SUFFIX, ChangeStep
from shards.reader.shard import CompanyRow, Shard
from shards.search import company_numbers

_MOST_NAMED: Final = 5  # companies that an error names

# The estimated cost of looking up a deletion, high enough to run in a thread: for each step and country, a file is
# opened and a few of its pages are read.
_DELETION_MICROSECONDS: Final = 5_000.0


def locate(request: Request, generation: OpenGeneration) -> tuple[Shard, int | None]:
    """The shard of the country, and the row of the company in this shard; None if the company is absent."""
    country, identifier = request.segments
    shard = generation.shards[country_code(generation.names, country)]
    identifier = check_identifier(identifier)
    return shard, company_numbers.find_row(shard, identifier, seed_tables.number_notation())


def path_of(company: str) -> str:
    """The canonical path of a company ("EE/10000018"), for any code or spelling in a request (B2, E2)."""
    iso2, _, identifier = company.partition("/")
    return f"/api/v1/societes/{iso2}/{quote(identifier, safe='')}"


async def refuse_absent(generation: OpenGeneration, shard: Shard, identifier: str) -> Result[Any]:
    """Raise the 404, with the date of the deletion, or with the companies that the caller may mean.

    A company with this number in another notation comes first, then a deletion, then similar identifiers.
    """
    shards = {shard.iso2: shard}
    same_number = company_numbers.find(shards, identifier, seed_tables.number_notation()).places
    if not same_number:
        await refuse_deleted(generation, shards, identifier)
    places = same_number or company_numbers.nearest_companies(
        shards, identifier, seed_tables.number_notation()
    )
    similar_companies = company_keys(shards, places)
    raise absent_from(generation, errors.no_company(shard.iso2, identifier, similar_companies))


async def refuse_deleted(
    generation: OpenGeneration, countries: Collection[str], identifier: str
) -> None:
    """Raise a 404 if the company with this identifier was deleted; the 404 has the date, if it is known.

    Raises:
        ApiError: 404: the company was in an earlier generation, in one of `countries`.
    """
    find = partial(_find_deletion, generation, countries, identifier)
    deletion = await generation.run(_DELETION_MICROSECONDS, find)
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
    """Add the searched generation to a 404, because `version` in a request may name the previous generation."""
    error.headers[DATA_VERSION] = generation.id
    return error


def company_keys(shards: Mapping[str, Shard], places: Sequence[CompanyRow]) -> list[str]:
    """The country and identifier of the first _MOST_NAMED companies of `places`: `EE:10000018`."""
    return [f"{iso2}:{shards[iso2].company(row)['id']}" for iso2, row in places[:_MOST_NAMED]]


class _Deletion(NamedTuple):
    """A deleted company.

    Attributes:
        date: the date of the first data of its country that lack the company (ISO 8601); None if the sources have no
            date.
    """

    iso2: str
    identifier: str
    date: str | None


def _find_deletion(
    generation: OpenGeneration, countries: Collection[str], identifier: str
) -> _Deletion | None:
    """The deletion of the company that had this identifier in these countries.

    None if there are several such companies, if a person has objected, or if files of changes cannot be read.
    """
    folded = fold_id(identifier)
    if not folded:
        return None
    steps = generation.get_or_make(
        "history", lambda: change_steps.history(generation.steps, generation.id)
    )
    try:
        deletions = [_deletion_in_steps(steps, iso2, folded, identifier) for iso2 in countries]
    except (ShardError, OSError):
        return None
    deleted = [deletion for deletion in deletions if deletion is not None]
    return deleted[0] if len(deleted) == 1 else None


def _deletion_in_steps(
    steps: list[ChangeStep], iso2: str, folded: str, identifier_as_sent: str
) -> _Deletion | None:
    """The deletion, in a country, of the company with the identifier `folded`, from the first step that has one.

    None if no step has one, if several companies had this identifier, or if a person has objected.
    """
    for step in steps:
        if iso2 not in step.counts or not step.counts[iso2].supprimees:
            continue
        deletions = change_file.find_deleted(step.folder / f"{iso2}{SUFFIX}", folded)
        if deletions:
            # Several companies may have had identifiers that differ only in spelling: the spelling sent decides.
            identifier = (
                identifier_as_sent if identifier_as_sent in deletions else next(iter(deletions))
            )
            is_ambiguous = len(deletions) > 1 and identifier_as_sent not in deletions
            if is_ambiguous or _has_objection(step, iso2, deletions[identifier]):
                return None
            # The second date is of the data after the step, which lack the company.
            return _Deletion(iso2, identifier, step.dates[iso2][1])
    return None


def _has_objection(step: ChangeStep, iso2: str, number: int) -> bool:
    """Whether the name in the deletion `number` of a step was removed because a person had objected."""
    with closing(change_file.open_step(step, iso2)) as changes:
        (details,) = changes.details([number])
    # The details are, by field, the values before and after. A deletion without a name counts as one whose name was
    # removed.
    return details.get("nom", (ERASED,))[0] == ERASED
