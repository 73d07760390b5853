"""The changes that concern a search, or a list of companies, over any number of steps between generations.

A company that several steps changed counts once: from its values before the first step to its values after the last
step. Filters are applied to the blocks of the change files (`change_file.py`), so neither generation has to be open,
and the companies that do not match are not decoded.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shards.changes.change_file import CHANGED, CREATED, DELETED, STATEMENTS, ChangeFile, Mask
from shards.changes.comparison import SILENT
from shards.codec.record import FIELDS
from shards.search.columns import Filter

# The kinds of a change for a search: the company no longer matches, newly matches, or matches before and after.
LEAVING: Final = "sortie"
ENTERING: Final = "entree"
STAYING: Final = "modifiee"
KINDS: Final = (LEAVING, ENTERING, STAYING)

ChangePlace = tuple[int, int]  # the number of a file, and of a change in it
Details = Mapping[str, tuple[Any, Any]]  # changed fields with their values before and after
# Companies whose changes are read in one batch.
_COMPANIES_PER_BATCH: Final = 1_024
# The most changes whose companies a CompanyMemo keeps.
_MOST_REMEMBERED: Final = 1 << 21


class NetChange(NamedTuple):
    """The change of a company over all steps together.

    Attributes:
        nature: DELETED, CREATED or CHANGED.
        champs: the changed fields of a CHANGED company, with their first and last values. Fields in SILENT are left
            out: a step that changes only these is not recorded, so their values would be wrong.
    """

    nature: str
    identifier: str
    champs: Mapping[str, tuple[Any, Any]]


class Companies(NamedTuple):
    """The companies in some files of a country, without filters; computed once for these files.

    Attributes:
        starts: by company, the index of its first change in `files` and `numbers`; then the number of all changes.
        files, numbers: the file of each change and its number in that file; sorted by company, then by step.
        unchanged: by company, whether its changes cancel out.
    """

    starts: NDArray[np.int32]
    files: NDArray[np.uint8]
    numbers: NDArray[np.int32]
    unchanged: Mask

    def places(self, company: int) -> list[ChangePlace]:
        """The changes of a company, in the order of the steps."""
        chosen = slice(*self.starts[company : company + 2].tolist())
        return list(zip(self.files[chosen].tolist(), self.numbers[chosen].tolist(), strict=True))


class NetChanges(NamedTuple):
    """The changes of a country that pass some filters.

    Attributes:
        kinds: for each of KINDS, the indexes of the companies in `companies`.
    """

    files: Sequence[ChangeFile]
    companies: Companies
    kinds: Mapping[str, NDArray[np.int64]]

    def read(self, kind: str, start: int, stop: int) -> list[NetChange]:
        """The net changes [start, stop) of one of KINDS, read from the files."""
        chosen = self.kinds[kind][start:stop].tolist()
        return _read_net_changes(self.files, [self.companies.places(company) for company in chosen])


def companies(files: Sequence[ChangeFile]) -> Companies:
    """The companies in files of a country, which belong to consecutive steps.

    Raises:
        CorruptError: a file is damaged.
    """
    sizes = [sum(file.counts) for file in files]
    numbers = np.concatenate(
        [np.empty(0, np.int32), *(np.arange(size, dtype=np.int32) for size in sizes)]
    )
    file_numbers = np.repeat(np.arange(len(files), dtype=np.uint8), sizes)
    if len(files) < 2:  # a company has at most one change in a file, so nothing is grouped
        starts = np.arange(len(numbers) + 1, dtype=np.int32)
        return Companies(starts, file_numbers, numbers, np.zeros(len(numbers), bool))
    numbering: dict[str, int] = {}
    identifiers = (identifier for file in files for identifier in file.all_identifiers())
    company_numbers = np.fromiter(
        (numbering.setdefault(identifier, len(numbering)) for identifier in identifiers), np.int32
    )
    order = np.argsort(company_numbers, kind="stable")
    starts = np.append(0, np.bincount(company_numbers).cumsum()).astype(np.int32)
    grouped = Companies(starts, file_numbers[order], numbers[order], np.zeros(len(numbering), bool))
    changed_again = np.flatnonzero(np.diff(starts) > 1).tolist()
    for first in range(0, len(changed_again), _COMPANIES_PER_BATCH):
        batch = changed_again[first : first + _COMPANIES_PER_BATCH]
        details = _details_by_company(files, [grouped.places(number) for number in batch])
        grouped.unchanged[batch] = [not any(_net_fields(changes)) for changes in details]
    return grouped


class CompanyMemo:
    """The companies of recently used files: at most _MOST_REMEMBERED changes, 10 bytes each."""

    def __init__(self) -> None:
        """Begin without companies; the most recently used files are last in the dictionary."""
        self._by_files: dict[tuple[ChangeFile, ...], Companies] = {}

    def companies_of(self, files: Sequence[ChangeFile]) -> Companies:
        """`companies`, memorised for several files, because it takes 10 µs per change.

        The least recently used files are forgotten first; the dictionary is copied where another thread can change it.
        """
        memo_key = tuple(files)
        found_companies = self._by_files.get(memo_key) or companies(files)
        if len(files) > 1:
            self._by_files.pop(memo_key, None)
            self._by_files[memo_key] = found_companies
            while (
                sum(len(remembered.numbers) for remembered in list(self._by_files.values()))
                > _MOST_REMEMBERED
            ):
                self._by_files.pop(next(iter(list(self._by_files))), None)
        return found_companies


def find(
    files: Sequence[ChangeFile], changed_companies: Companies, filters: Sequence[Filter]
) -> NetChanges:
    """The changes of the companies that pass every filter before the first file, or after the last file.

    Args:
        files: the files of a country, which belong to consecutive steps.
        changed_companies: the companies of these files.

    Raises:
        CorruptError: a file is damaged.
    """
    if not len(changed_companies.numbers):
        return NetChanges(files, changed_companies, dict.fromkeys(KINDS, np.arange(0)))
    masks = [file.matches(filters) for file in files]
    masks_by_side = (np.concatenate(side) for side in zip(*masks, strict=True))
    # The first change of each file among all changes; then the place of each change, in the order of the companies.
    first_of_file = np.cumsum([0, *(sum(file.counts) for file in files)])
    change_place = first_of_file[changed_companies.files] + changed_companies.numbers
    before, after = (side[change_place] for side in masks_by_side)
    starts = changed_companies.starts[:-1]
    was, becomes = before[starts], after[changed_companies.starts[1:] - 1]
    # Companies are in the order of their first change that passes, so that the changes of a page are close together.
    passing_changes = np.flatnonzero(before | after)
    concerned_companies = np.repeat(np.arange(len(starts)), np.diff(changed_companies.starts))[
        passing_changes
    ]
    concerned_companies, first_changes = np.unique(concerned_companies, return_index=True)
    order = concerned_companies[np.argsort(change_place[passing_changes[first_changes]])]
    kinds = {
        LEAVING: was & ~becomes,
        ENTERING: becomes & ~was,
        STAYING: was & becomes & ~changed_companies.unchanged,
    }
    return NetChanges(
        files, changed_companies, {kind: order[mask[order]] for kind, mask in kinds.items()}
    )


def _read_net_changes(
    files: Sequence[ChangeFile], places_by_company: Sequence[Sequence[ChangePlace]]
) -> list[NetChange]:
    """The net change of each company, from the places of its changes in the files.

    Fields are read only for companies that are changed on balance, not for created or deleted companies.
    """
    natures = [_nature(files, places) for places in places_by_company]
    pairs = zip(places_by_company, natures, strict=True)
    details = iter(
        _details_by_company(files, [places for places, nature in pairs if nature == CHANGED])
    )
    changes = []
    for places, nature in zip(places_by_company, natures, strict=True):
        file_number, number = places[0]
        champs = _net_values(next(details)) if nature == CHANGED else {}
        (identifier,) = files[file_number].identifiers([number])
        changes.append(NetChange(nature, identifier, champs))
    return changes


def _details_by_company(
    files: Sequence[ChangeFile], places_by_company: Sequence[Sequence[ChangePlace]]
) -> Iterator[list[Details]]:
    """For each company, the changed fields of each of its changes; each file is read once, in one batch."""
    numbers_by_file: list[list[int]] = [[] for _ in files]
    for places in places_by_company:
        for file_number, number in places:
            numbers_by_file[file_number].append(number)
    pairs = zip(files, numbers_by_file, strict=True)
    details_by_file = [iter(file.details(numbers)) for file, numbers in pairs]
    return (
        [next(details_by_file[file_number]) for file_number, _ in places]
        for places in places_by_company
    )


def _nature(files: Sequence[ChangeFile], places: Sequence[ChangePlace]) -> str:
    """The nature of the net change of a company, from its changes in the order of the steps.

    A company that was created and then deleted counts as deleted.
    """
    (first_file, first_number), (last_file, last_number) = places[0], places[-1]
    if files[last_file].nature(last_number) == DELETED:
        return DELETED
    return CREATED if files[first_file].nature(first_number) == CREATED else CHANGED


def _net_values(changes: Sequence[Details]) -> dict[str, tuple[Any, Any]]:
    """The changed fields of a company, with their values before the first step and after the last step."""
    changed = {field: values for field, *values in _net_fields(changes)}
    return {
        field: (changed[field][0], changed[field][1])
        for field in (*FIELDS, STATEMENTS)
        if field in changed
    }


def _net_fields(changes: Sequence[Details]) -> Iterator[tuple[str, Any, Any]]:
    """The fields that differ before the first step and after the last step, with both values."""
    first_values: dict[str, Any] = {}
    last_values: dict[str, Any] = {}
    for change in changes:
        for field, (before, after) in change.items():
            first_values.setdefault(field, before)
            last_values[field] = after
    for field, before in first_values.items():
        if before != last_values[field] and field not in SILENT:
            yield field, before, last_values[field]
