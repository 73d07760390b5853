"""The changes that concern a search, or a list of companies, over any number of steps between generations.

A company that several steps changed counts once: as it was before the first of them, and as it is after the last one.
What a company passes is read from the blocks of the change files (`change_file.py`), so neither generation has to be
open, and the companies that concern nobody are never decoded.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.changes.change_file import CHANGED, CREATED, DELETED, STATEMENTS, ChangeFile, Mask
from shards.changes.comparison import SILENT
from shards.codec.record import FIELDS
from shards.search.columns import Filter

# What a change is to a search: a company that is found no more, one that was not found before, one found all along.
LEAVING: Final = "sortie"
ENTERING: Final = "entree"
STAYING: Final = "modifiee"
KINDS: Final = (LEAVING, ENTERING, STAYING)

Place = tuple[int, int]  # the number of a file, and of a change in it
Details = Mapping[str, tuple[Any, Any]]  # changed fields with their values before and after
# Companies whose changes are read together.
_TOGETHER: Final = 1_024
_REMEMBERED: Final = 1 << 21


class NetChange(NamedTuple):
    """What happened to a company over all steps.

    Attributes:
        nature: DELETED, CREATED or CHANGED.
        champs: of a company that is CHANGED, the changed fields with their first and last values, but none of SILENT:
            a step that changes nothing else is not recorded, so their values would be wrong.
    """

    nature: str
    identifier: str
    champs: Mapping[str, tuple[Any, Any]]


class Companies(NamedTuple):
    """The companies that some files of a country tell of, whatever is asked: made once for these files.

    Attributes:
        starts: where the changes of each company begin among those of all, one more than there are companies.
        files, numbers: for each change its file and its number there; those of a company in the order of the steps.
        unchanged: by company, whether several changes leave it as it was.
    """

    starts: NDArray[np.int32]
    files: NDArray[np.uint8]
    numbers: NDArray[np.int32]
    unchanged: Mask

    def places(self, company: int) -> list[Place]:
        """The changes of a company, in the order of the steps."""
        chosen = slice(*self.starts[company : company + 2].tolist())
        return list(zip(self.files[chosen].tolist(), self.numbers[chosen].tolist(), strict=True))


class NetChanges(NamedTuple):
    """The changes of a country that concern somebody: by KINDS the numbers of the companies."""

    files: Sequence[ChangeFile]
    companies: Companies
    kinds: Mapping[str, NDArray[np.int64]]

    def read(self, kind: str, start: int, stop: int) -> list[NetChange]:
        """The changes [start, stop) of a kind."""
        chosen = self.kinds[kind][start:stop].tolist()
        return _read(self.files, [self.companies.places(company) for company in chosen])


def companies(files: Sequence[ChangeFile]) -> Companies:
    """The companies that files of a country, of steps that follow one another, tell of.

    Raises:
        CorruptError: a file is damaged.
    """
    sizes = [sum(file.counts) for file in files]
    numbers = np.concatenate(
        [np.empty(0, np.int32), *(np.arange(n, dtype=np.int32) for n in sizes)]
    )
    of_file = np.repeat(np.arange(len(files), dtype=np.uint8), sizes)
    if len(files) < 2:  # a company has one change in a file
        starts = np.arange(len(numbers) + 1, dtype=np.int32)
        return Companies(starts, of_file, numbers, np.zeros(len(numbers), bool))
    known: dict[str, int] = {}
    identifiers = (identifier for file in files for identifier in file.all_identifiers())
    of_company = np.fromiter(
        (known.setdefault(identifier, len(known)) for identifier in identifiers), np.int32
    )
    order = np.argsort(of_company, kind="stable")
    starts = np.append(0, np.bincount(of_company).cumsum()).astype(np.int32)
    joined = Companies(starts, of_file[order], numbers[order], np.zeros(len(known), bool))
    several = np.flatnonzero(np.diff(starts) > 1).tolist()
    for first in range(0, len(several), _TOGETHER):
        chosen = several[first : first + _TOGETHER]
        details = _details(files, [joined.places(number) for number in chosen])
        joined.unchanged[chosen] = [not any(_net_fields(changes)) for changes in details]
    return joined


class CompanyMemo:
    """The companies of files that were asked for of late: of at most _REMEMBERED changes, 10 bytes each."""

    def __init__(self) -> None:
        self._known: dict[tuple[ChangeFile, ...], Companies] = {}

    def companies_of(self, files: Sequence[ChangeFile]) -> Companies:
        """`companies`, which takes 10 µs a change of several files."""
        key = tuple(files)
        found = self._known.get(key) or companies(files)
        if len(files) > 1:
            self._known.pop(key, None)
            self._known[key] = found
            while sum(len(one.numbers) for one in list(self._known.values())) > _REMEMBERED:
                self._known.pop(next(iter(list(self._known))), None)
        return found


def find(files: Sequence[ChangeFile], known: Companies, filters: Sequence[Filter]) -> NetChanges:
    """The changes of the companies that pass every filter before the first file, or after the last one.

    Args:
        files: those of a country, of steps that follow one another.
        known: their companies.

    Raises:
        CorruptError: a file is damaged.
    """
    if not len(known.numbers):
        return NetChanges(files, known, dict.fromkeys(KINDS, np.arange(0)))
    masks = [file.matches(filters) for file in files]
    sides = (np.concatenate(side) for side in zip(*masks, strict=True))
    # Where the changes of each file begin among those of all, then each change in the order of the companies.
    firsts = np.cumsum([0, *(sum(file.counts) for file in files)])
    place = firsts[known.files] + known.numbers
    before, after = (side[place] for side in sides)
    starts = known.starts[:-1]
    was, becomes = before[starts], after[known.starts[1:] - 1]
    # By the first change that concerns somebody: so the pages of a walk follow one another.
    concerned = np.flatnonzero(before | after)
    company = np.repeat(np.arange(len(starts)), np.diff(known.starts))[concerned]
    company, first = np.unique(company, return_index=True)
    order = company[np.argsort(place[concerned[first]])]
    kinds = {
        LEAVING: was & ~becomes,
        ENTERING: becomes & ~was,
        STAYING: was & becomes & ~known.unchanged,
    }
    return NetChanges(files, known, {kind: order[mask[order]] for kind, mask in kinds.items()})


def _read(files: Sequence[ChangeFile], wanted: Sequence[Sequence[Place]]) -> list[NetChange]:
    natures = [_nature(files, places) for places in wanted]
    pairs = zip(wanted, natures, strict=True)
    details = iter(_details(files, [places for places, nature in pairs if nature == CHANGED]))
    found = []
    for places, nature in zip(wanted, natures, strict=True):
        place, number = places[0]
        champs = _net_values(next(details)) if nature == CHANGED else {}
        (identifier,) = files[place].identifiers([number])
        found.append(NetChange(nature, identifier, champs))
    return found


def _details(
    files: Sequence[ChangeFile], wanted: Sequence[Sequence[Place]]
) -> Iterator[list[Details]]:
    """The changed fields of companies, step by step."""
    numbers: list[list[int]] = [[] for _ in files]
    for places in wanted:
        for place, number in places:
            numbers[place].append(number)
    pairs = zip(files, numbers, strict=True)
    details = [iter(file.details(of_file)) for file, of_file in pairs]
    return ([next(details[place]) for place, _ in places] for places in wanted)


def _nature(files: Sequence[ChangeFile], places: Sequence[Place]) -> str:
    """What became of a company, given its changes in the order of their steps."""
    (first, begin), (last, end) = places[0], places[-1]
    if files[last].nature(end) == DELETED:
        return DELETED
    return CREATED if files[first].nature(begin) == CREATED else CHANGED


def _net_values(changes: Sequence[Details]) -> dict[str, tuple[Any, Any]]:
    """The changed fields of a company, with their values before the first step and after the last one."""
    found = {field: values for field, *values in _net_fields(changes)}
    return {
        field: (found[field][0], found[field][1])
        for field in (*FIELDS, STATEMENTS)
        if field in found
    }


def _net_fields(changes: Sequence[Details]) -> Iterator[tuple[str, Any, Any]]:
    """The fields that differ between the first step and the last one, with both values."""
    first: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for change in changes:
        for field, (before, after) in change.items():
            first.setdefault(field, before)
            last[field] = after
    for field, before in first.items():
        if before != last[field] and field not in SILENT:
            yield field, before, last[field]
