"""Removal of values to which a person has objected from the history of changes: no generation contains them any more.

The folders of changes have values before and after. The values of the given companies are replaced in all folders: a
client still sees that the company was created, deleted or changed, and in which field, but not the values. The folders
keep their names and their numbers of changes. All files of a folder are replaced together; if a crash leaves the folder
removed, clients that have its generation must read all data again.
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
from shards.search.columns import COLUMNS, ColumnValues

# Replaces a removed text; a removed number becomes None.
ERASED: Final = "—"

# The fields to remove, by identifier; None for all fields of the company.
Forgotten = Mapping[str, Collection[str] | None]

# The values of a company of which all fields are removed.
_FORGOTTEN_VALUES: Final[ColumnValues] = {
    name: column.forgotten for name, column in COLUMNS.items()
}


def forget(data: Path, countries: Mapping[str, Forgotten]) -> list[Path]:
    """Rewrite the folders of changes with values of these companies; return these folders."""
    return [
        folder
        for folder in change_steps.folders(data)
        if _rewrite(
            data, folder, {iso2: companies for iso2, companies in countries.items() if companies}
        )
    ]


def _rewrite(data: Path, folder: Path, countries: Mapping[str, Forgotten]) -> bool:
    """Rewrite a folder of changes without the values of these companies, or remove it if it is damaged.

    Returns True if the folder was rewritten or removed, False if none of these companies is in it. `countries` has the
    companies to forget, by country.
    """
    try:
        step = change_steps.read(folder)
        change_steps.verify(folder)
    except (FileNotFoundError, ShardError):
        shutil.rmtree(folder)  # the content is unknown, and clients cannot read the folder either
        return True
    countries_to_rewrite = [
        iso2
        for iso2, companies in countries.items()
        if iso2 in step.counts and _has_any(folder, iso2, companies)
    ]
    if not countries_to_rewrite:
        return False
    staged = Path(tempfile.mkdtemp(prefix=atomic_files.STAGED, dir=data))
    try:
        for path in folder.iterdir():
            if path.name != change_steps.DOCUMENT and path.stem not in countries_to_rewrite:
                atomic_files.link(path, staged / path.name)
        for iso2 in countries_to_rewrite:
            _copy_without_values(
                folder / f"{iso2}{SUFFIX}", staged / f"{iso2}{SUFFIX}", countries[iso2]
            )
        change_steps.complete_step(staged, folder, step.counts, step.dates)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return True


def _has_any(folder: Path, iso2: str, companies: Forgotten) -> bool:
    """Whether a file of changes has any of these companies."""
    changes = ChangeFile(folder / f"{iso2}{SUFFIX}")
    try:
        return not companies.keys().isdisjoint(changes.identifiers(range(sum(changes.counts))))
    finally:
        changes.close()


def _copy_without_values(path: Path, target: Path, companies: Forgotten) -> None:
    """Copy a file of changes to `target`; the changes of `companies` are copied without the values to forget."""
    changes = ChangeFile(path)
    try:
        writer = ChangeWriter(target, changes.iso2)
        for nature, identifier, change in changes.changes():
            if identifier in companies:
                change = _change_without(change, identifier, companies[identifier])
            writer.add(nature, identifier, change)
        writer.close()
    finally:
        changes.close()


def _change_without(
    change: StoredChange, identifier: str, fields: Collection[str] | None
) -> StoredChange:
    """A change without the values of these fields (None: of all fields)."""
    # If all fields are removed, `iso2` and `id` are left out, since the entry of the change keeps both.
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
    """The value that replaces a removed value: ERASED for a text or in a list, else None."""
    return ERASED if isinstance(value, str) else [ERASED] if isinstance(value, list) else None


def _values_without(
    side: ColumnValues | None, identifier: str, fields: Collection[str] | None
) -> ColumnValues | None:
    """One side of a change, the values that filters compare before or after it, without the removed values.

    Only texts are removed if the fields are named. `noms` keeps the identifier, and the present name if former names
    are removed.
    """
    if side is None:
        return None
    identity = {"iso2": side["iso2"], "id": side["id"]}
    if fields is None:
        return {**_FORGOTTEN_VALUES, **identity, "noms": fold_id(identifier)}
    values = {
        name: "" if name in fields and column.forgotten == "" else side[name]
        for name, column in COLUMNS.items()
    }
    if "noms_anterieurs" in fields:
        # The identifier and the present name stay.
        values["noms"] = "\n".join(side["noms"].split("\n")[:2])
    return values
