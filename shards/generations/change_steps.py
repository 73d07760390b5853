"""The changes from one generation to the next: folders `DATA/changes/<from>-<to>/` (FORMAT.md §12).

    changes.json       the files with their digests; by country, the counts of changes, and the dates of its data
    EE.changes …       the changes of one country, if there are any (shards/changes/change_file.py)
    changes.parquet    the same for other programs, if the build wrote it

The names of both generations are digests, so the name of a folder determines its content. The folder is no part of the
later generation, whose name must not depend on what was published before it: otherwise a build of the same input would
give another generation (decision 036).

A folder is read in both directions, so a client can also follow a rollback. The folders that are kept form a graph, in
which `way` finds the shortest way from an old generation to the published one.
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import orjson

from shards.errors import CorruptError, WrongFormatError
from shards.generations import atomic_files, register_sources
from shards.generations import manifest as manifests
from shards.generations.manifest import File, Manifest

FOLDER: Final = "changes"
DOCUMENT: Final = "changes.json"
SUFFIX: Final = ".changes"  # of the file of a country
STEP_VERSION: Final = 3
# Rather more than the builds of a month; a client that was away for longer has to start again.
KEPT: Final = 40

_NAME: Final = re.compile(r"([0-9a-f]{16})-([0-9a-f]{16})")


class ChangeCounts(NamedTuple):
    """The numbers of companies deleted, created and changed, in the order of `change_file.NATURES`."""

    supprimees: int = 0
    creees: int = 0
    modifiees: int = 0

    def reverse(self) -> "ChangeCounts":
        """The counts of the opposite direction."""
        return ChangeCounts(self.creees, self.supprimees, self.modifiees)


@dataclass(frozen=True, slots=True)
class Shards:
    """The shards of one country in two generations.

    Attributes:
        old, new: the shard files; None if that generation lacks the country.
        rows: the number of rows of both shards together.
    """

    iso2: str
    old: Path | None
    new: Path | None
    rows: int


# A function that writes `<ISO2>.changes` for each country with changes into the folder, and may write further files
# there; it returns the counts of the countries with changes.
Compare = Callable[[Iterable[Shards], Path], Mapping[str, ChangeCounts]]


# By country, the dates of its data before and after (ISO 8601), None where its sources tell none.
Dates = Mapping[str, tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class ChangeStep:
    """The changes from one generation to another, in the stored direction or backwards."""

    folder: Path
    before: str
    after: str
    backwards: bool
    counts: Mapping[str, ChangeCounts]
    dates: Dates

    def reverse(self) -> Self:
        """The same step in the opposite direction."""
        counts = {iso2: found.reverse() for iso2, found in self.counts.items()}
        dates = {iso2: (after, before) for iso2, (before, after) in self.dates.items()}
        return type(self)(self.folder, self.after, self.before, not self.backwards, counts, dates)


def make(
    data: Path, old: Path, was: Manifest, new: Path, becomes: Manifest, compare: Compare
) -> None:
    """Write the folder of changes between two generations, unless there is one.

    Args:
        old, was: the folder and the manifest of the earlier generation.
        new, becomes: the folder, which may not have its name yet, and the manifest of the later generation.
        compare: the function that compares the shards.
    """
    name = f"{was.generation}-{becomes.generation}"
    back = f"{becomes.generation}-{was.generation}"
    if any(_is_whole(data / FOLDER / folder) for folder in (name, back)):
        return
    (data / FOLDER).mkdir(exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=atomic_files.STAGED, dir=data))
    try:
        counts = compare(_differing_shards(old, was, new, becomes), staged)
        before, after = (register_sources.country_dates(folder) for folder in (old, new))
        dates = {iso2: (before.get(iso2), after.get(iso2)) for iso2 in counts}
        settle(staged, data / FOLDER / name, counts, dates)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def settle(staged: Path, folder: Path, counts: Mapping[str, ChangeCounts], dates: Dates) -> None:
    """Make the files in `staged` the folder of changes `folder`, which one that is there makes way for."""
    before, _, after = folder.name.partition("-")
    document = {
        "format": STEP_VERSION,
        "from": before,
        "to": after,
        "counts": {iso2: found._asdict() for iso2, found in sorted(counts.items())},
        "dates": {iso2: list(dates[iso2]) for iso2 in sorted(dates)},
        "files": {p.name: asdict(manifests.digest(p)) for p in sorted(staged.iterdir())},
    }
    document["blake3"] = manifests.document_digest(document)
    packed = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    atomic_files.write(staged / DOCUMENT, packed)
    shutil.rmtree(folder, ignore_errors=True)
    atomic_files.settle(staged, folder)


def steps(data: Path) -> dict[str, tuple[ChangeStep, ...]]:
    """The steps that start from each generation, in both directions; unreadable folders are left out."""
    found: dict[str, tuple[ChangeStep, ...]] = {}
    for folder in sorted((data / FOLDER).glob("*")):
        try:
            step = read(folder)
        except (FileNotFoundError, CorruptError, WrongFormatError):
            continue
        for way in (step, step.reverse()):
            found[way.before] = (*found.get(way.before, ()), way)
    return found


def read(folder: Path) -> ChangeStep:
    """The step in a folder of changes; only its document is read.

    Raises:
        FileNotFoundError: there is no such folder.
        CorruptError, WrongFormatError: the document is damaged, or has another version.
    """
    return _step(folder, _document(folder))


def verify(folder: Path) -> None:
    """Read every file of a folder of changes and compare it with its document.

    Raises:
        FileNotFoundError: there is no such folder.
        CorruptError: names the first file that differs, is missing, or is not in the document.
    """
    document = _document(folder)
    files = {name: File(**file) for name, file in document["files"].items()}
    manifests.verify_files(folder, files, DOCUMENT)


def folders(data: Path) -> list[Path]:
    """All folders of changes, by name."""
    return [path for path in sorted((data / FOLDER).glob("*")) if _NAME.fullmatch(path.name)]


def way(
    steps: Mapping[str, Sequence[ChangeStep]], start: str, end: str
) -> tuple[ChangeStep, ...] | None:
    """The shortest way from one generation to another, None if there is no way."""
    if start == end:
        return ()
    return next((path for path in _shortest_ways(steps, start) if path[-1].after == end), None)


def history(steps: Mapping[str, Sequence[ChangeStep]], end: str) -> list[ChangeStep]:
    """The steps that led to a generation, the latest first, as far as they are kept."""
    back = {start: [one for one in found if one.backwards] for start, found in steps.items()}
    return [path[-1].reverse() for path in islice(_shortest_ways(back, end), KEPT)]


def prune(data: Path, published: str) -> None:
    """Remove the folders that are more than KEPT steps away from the published generation."""
    ways = _shortest_ways(steps(data), published)
    near = {published} | {way[-1].after for way in ways if len(way) <= KEPT}
    for folder in (data / FOLDER).glob("*"):
        match = _NAME.fullmatch(folder.name)
        if not (match and set(match.groups()) <= near):
            shutil.rmtree(folder)


def _shortest_ways(
    steps: Mapping[str, Sequence[ChangeStep]], start: str
) -> Iterator[tuple[ChangeStep, ...]]:
    """The shortest way to each generation that can be reached from `start`, the nearest first."""
    seen = {start}
    front: list[tuple[ChangeStep, ...]] = [()]
    while front:
        further: list[tuple[ChangeStep, ...]] = []
        for path in front:
            for step in steps.get(path[-1].after if path else start, ()):
                if step.after not in seen:
                    seen.add(step.after)
                    yield (*path, step)
                    further.append((*path, step))
        front = further


def _differing_shards(old: Path, was: Manifest, new: Path, becomes: Manifest) -> Iterator[Shards]:
    """The countries whose shard differs between the two manifests."""
    for iso2 in sorted(was.counts.keys() | becomes.counts.keys()):
        name = f"{iso2}.shard"
        if was.files.get(name) != becomes.files.get(name):
            yield Shards(
                iso2,
                old / name if name in was.files else None,
                new / name if name in becomes.files else None,
                was.counts.get(iso2, 0) + becomes.counts.get(iso2, 0),
            )


def _is_whole(folder: Path) -> bool:
    try:
        verify(folder)
    except (FileNotFoundError, CorruptError, WrongFormatError):
        return False
    return True


def _document(folder: Path) -> dict[str, Any]:
    where = folder / DOCUMENT
    try:
        document: dict[str, Any] = orjson.loads(where.read_bytes())
        if document["format"] != STEP_VERSION:
            raise WrongFormatError(
                f"{where} has format {document['format']}, this code reads {STEP_VERSION}; build it again"
            )
        stored = document.pop("blake3")
        named = f"{document['from']}-{document['to']}" == folder.name
        if not named or stored != manifests.document_digest(document):
            raise ValueError("it was changed after it was written")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptError(
            f"{where} cannot be understood ({error}); take {folder} away, or fetch it again"
        ) from error
    return document


def _step(folder: Path, document: Mapping[str, Any]) -> ChangeStep:
    counts = {iso2: ChangeCounts(**found) for iso2, found in document["counts"].items()}
    dates = {iso2: (before, after) for iso2, (before, after) in document["dates"].items()}
    return ChangeStep(folder, document["from"], document["to"], False, counts, dates)
