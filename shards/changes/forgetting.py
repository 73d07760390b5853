"""Values that the history of changes forgets: a person has objected to them, and no generation has them any more.

The folders of changes hold the values before and after. Those of the companies named here are replaced, in every
folder: a client still learns that the company came, went or changed, and in which field, but not what it was. The
folders keep their names and their numbers of changes. A folder is replaced whole; one that a crash has taken away
makes clients of that generation begin again.
"""

import shutil
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from shards.changes.change_file import ChangeFile, ChangeWriter, StoredChange
from shards.codec.folding import fold_id
from shards.errors import ShardError
from shards.generations import atomic_files, change_steps
from shards.generations.change_steps import SUFFIX
from shards.search.columns import COLUMNS, Values

# Stands for a text; a number before is none. So a change remains one.
ERASED: Final = "—"

# By identifier: the fields that are forgotten; None for all of the company.
Forgotten = Mapping[str, Collection[str] | None]

_BARE: Final[Values] = {name: one.forgotten for name, one in COLUMNS.items()}


def forget(data: Path, countries: Mapping[str, Forgotten]) -> list[Path]:
    """Rewrite the folders of changes that hold values of these companies; return these folders."""
    return [
        folder
        for folder in change_steps.folders(data)
        if _rewrite(data, folder, {iso2: named for iso2, named in countries.items() if named})
    ]


def _rewrite(data: Path, folder: Path, countries: Mapping[str, Forgotten]) -> bool:
    try:
        step = change_steps.read(folder)
        change_steps.verify(folder)
    except (FileNotFoundError, ShardError):
        shutil.rmtree(folder)  # nobody can tell what it holds, and clients cannot read it either
        return True
    concerned = [
        iso2
        for iso2, named in countries.items()
        if iso2 in step.counts and _names(folder, iso2, named)
    ]
    if not concerned:
        return False
    staged = Path(tempfile.mkdtemp(prefix=atomic_files.STAGED, dir=data))
    try:
        for path in folder.iterdir():
            if path.name != change_steps.DOCUMENT and path.stem not in concerned:
                atomic_files.link(path, staged / path.name)
        for iso2 in concerned:
            _copy(folder / f"{iso2}{SUFFIX}", staged / f"{iso2}{SUFFIX}", countries[iso2])
        change_steps.settle(staged, folder, step.counts, step.dates)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return True


def _names(folder: Path, iso2: str, named: Forgotten) -> bool:
    """Whether a file of changes is of one of these companies."""
    changes = ChangeFile(folder / f"{iso2}{SUFFIX}")
    try:
        return not named.keys().isdisjoint(changes.identifiers(range(sum(changes.counts))))
    finally:
        changes.close()


def _copy(path: Path, target: Path, named: Forgotten) -> None:
    changes = ChangeFile(path)
    try:
        writer = ChangeWriter(target, changes.iso2)
        for nature, identifier, change in changes.changes():
            if identifier in named:
                change = _change_without(change, identifier, named[identifier])
            writer.add(nature, identifier, change)
        writer.close()
    finally:
        changes.close()


def _change_without(
    change: StoredChange, identifier: str, fields: Collection[str] | None
) -> StoredChange:
    details = {
        name: (_erase(before), _erase(after))
        if fields is None or name in fields
        else (before, after)
        for name, (before, after) in change.details.items()
        if name not in ("iso2", "id") or fields is not None
    }
    before = _values_without(change.before, identifier, fields)
    return StoredChange(before, _values_without(change.after, identifier, fields), details)


def _erase(value: Any) -> Any:
    return ERASED if isinstance(value, str) else [ERASED] if isinstance(value, list) else None


def _values_without(
    side: Values | None, identifier: str, fields: Collection[str] | None
) -> Values | None:
    """What filters compare, without what is forgotten."""
    if side is None:
        return None
    own = {"iso2": side["iso2"], "id": side["id"]}
    if fields is None:
        return {**_BARE, **own, "noms": fold_id(identifier)}
    found = {
        name: "" if name in fields and one.forgotten == "" else side[name]
        for name, one in COLUMNS.items()
    }
    if "noms_anterieurs" in fields:
        found["noms"] = "\n".join(side["noms"].split("\n")[:2])
    return found
