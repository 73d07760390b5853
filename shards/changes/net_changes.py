"""The changes that concern a search, or a list of companies, over any number of steps between generations.

A company that several steps changed counts once: as it was before the first of them, and as it is after the last one.
What a company passes is read from the blocks of the change files (`change_block.py`), so neither generation has to be
open, and the companies that concern nobody are never decoded.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from shards.changes.change_file import CHANGED, CREATED, DELETED, STATEMENTS, ChangeFile
from shards.changes.comparison import SILENT
from shards.codec.record import FIELDS
from shards.search.filters import Filter, identical

# What a change is to a search: a company that is found no more, one that was not found before, one found all along.
LEAVING: Final = "sortie"
ENTERING: Final = "entree"
STAYING: Final = "modifiee"
KINDS: Final = (LEAVING, ENTERING, STAYING)

Place = tuple[int, int]  # the number of a file, and of a change in it


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


class NetChanges(NamedTuple):
    """The changes of a country that concern somebody, by KINDS: for each company the places of its changes."""

    files: Sequence[ChangeFile]
    kinds: Mapping[str, Sequence[Sequence[Place]]]

    def read(self, kind: str, start: int, stop: int) -> list[NetChange]:
        """The changes [start, stop) of a kind."""
        return _read(self.files, self.kinds[kind][start:stop])


def find(files: Sequence[ChangeFile], iso2: str, filters: Sequence[Filter]) -> NetChanges:
    """The changes of the companies that pass every filter before the first file, or after the last one.

    Args:
        files: those of a country, of steps that follow one another.

    Raises:
        CorruptError: a file is damaged.
    """
    if not files:
        return NetChanges(files, dict.fromkeys(KINDS, ()))
    if len(files) == 1:
        before, after = files[0].matching(filters)
        masks = {LEAVING: before & ~after, ENTERING: after & ~before, STAYING: before & after}
        found = {kind: _alone(np.flatnonzero(mask).tolist()) for kind, mask in masks.items()}
        return NetChanges(files, found)
    return NetChanges(files, _compose(files, iso2, filters))


def _alone(numbers: Sequence[int]) -> list[Sequence[Place]]:
    return [((0, number),) for number in numbers]


def _compose(
    files: Sequence[ChangeFile], iso2: str, filters: Sequence[Filter]
) -> dict[str, list[Sequence[Place]]]:
    masks = [file.matching(filters) for file in files]
    concerned: dict[str, list[Place]] = {}
    for file, (before, after) in zip(files, masks, strict=True):
        for identifier in file.identifiers(np.flatnonzero(before | after).tolist()):
            concerned.setdefault(identifier, [])
    wanted = [identical((iso2, identifier) for identifier in concerned)]
    for place, file in enumerate(files if concerned else ()):
        before, after = file.matching(wanted)
        numbers = np.flatnonzero(before | after).tolist()
        for identifier, number in zip(file.identifiers(numbers), numbers, strict=True):
            concerned[identifier].append((place, number))
    found: dict[str, list[Sequence[Place]]] = {kind: [] for kind in KINDS}
    for places in concerned.values():
        (first, begin), (last, end) = places[0], places[-1]
        kind = _kind(bool(masks[first][0][begin]), bool(masks[last][1][end]))
        if kind:
            found[kind].append(places)
    found[STAYING] = _still_changed(files, found[STAYING])
    return found


def _still_changed(
    files: Sequence[ChangeFile], found: Sequence[Sequence[Place]]
) -> list[Sequence[Place]]:
    """Those of `found` that are not again as they were before the first step."""
    several = [places for places in found if len(places) > 1]
    read = iter(_read(files, several))
    return [places for places in found if len(places) == 1 or next(read).champs]


def _kind(before: bool, after: bool) -> str | None:
    if before:
        return STAYING if after else LEAVING
    return ENTERING if after else None


def _read(files: Sequence[ChangeFile], wanted: Sequence[Sequence[Place]]) -> list[NetChange]:
    natures = [_nature(files, places) for places in wanted]
    numbers: list[list[int]] = [[] for _ in files]
    for places, nature in zip(wanted, natures, strict=True):
        for place, number in places if nature == CHANGED else ():
            numbers[place].append(number)
    pairs = zip(files, numbers, strict=True)
    details = [iter(file.details(of_file)) for file, of_file in pairs]
    found = []
    for places, nature in zip(wanted, natures, strict=True):
        place, number = places[0]
        champs = _net([next(details[place]) for place, _ in places]) if nature == CHANGED else {}
        (identifier,) = files[place].identifiers([number])
        found.append(NetChange(nature, identifier, champs))
    return found


def _nature(files: Sequence[ChangeFile], places: Sequence[Place]) -> str:
    """What became of a company, given its changes in the order of their steps."""
    (first, begin), (last, end) = places[0], places[-1]
    if files[last].nature(end) == DELETED:
        return DELETED
    return CREATED if files[first].nature(begin) == CREATED else CHANGED


def _net(changes: Sequence[Mapping[str, tuple[Any, Any]]]) -> dict[str, tuple[Any, Any]]:
    """The changed fields of a company, with their values before the first step and after the last one."""
    first: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for change in changes:
        for field, (before, after) in change.items():
            first.setdefault(field, before)
            last[field] = after
    return {
        field: (first[field], last[field])
        for field in (*FIELDS, STATEMENTS)
        if field in first and first[field] != last[field] and field not in SILENT
    }
