"""Companies that a generation lacks and an earlier one had: when they were deleted, by the files of changes (X19)."""

from collections.abc import Collection
from contextlib import closing
from typing import Final, NamedTuple

from serve.generation.open_generation import OpenGeneration
from shards.changes import change_file, change_steps
from shards.changes.change_file import SUFFIX
from shards.changes.change_steps import ChangeStep
from shards.changes.forgetting import ERASED
from shards.codec.folding import fold_id
from shards.errors import ShardError

# A file is opened and a few of its pages are read, for each step and country.
MICROSECONDS: Final = 5_000.0


class Deletion(NamedTuple):
    """A deleted company.

    Attributes:
        date: that of the data of its country which lack it (ISO 8601); None where its sources tell none.
    """

    iso2: str
    identifier: str
    date: str | None


def find(
    generation: OpenGeneration, countries: Collection[str], identifier: str
) -> Deletion | None:
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
        deletions = [_of_country(steps, iso2, folded, identifier) for iso2 in countries]
    except (ShardError, OSError):
        return None
    known = [one for one in deletions if one is not None]
    return known[0] if len(known) == 1 else None


def _of_country(steps: list[ChangeStep], iso2: str, folded: str, written: str) -> Deletion | None:
    for step in steps:
        if iso2 not in step.counts or not step.counts[iso2].supprimees:
            continue
        found = change_file.find_deleted(step.folder / f"{iso2}{SUFFIX}", folded)
        if found:
            identifier = written if written in found else next(iter(found))
            several = len(found) > 1 and written not in found
            if several or _is_erased(step, iso2, found[identifier]):
                return None
            return Deletion(iso2, identifier, step.dates[iso2][1])
    return None


def _is_erased(step: ChangeStep, iso2: str, number: int) -> bool:
    """Whether a person has objected to the name of the company."""
    with closing(step.changes(iso2)) as changes:
        (details,) = changes.details([number])
    return details.get("nom", (ERASED,))[0] == ERASED
