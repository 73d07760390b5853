"""The changes from one generation to the next: folders `DATA/changes/<from>-<to>/` (FORMAT.md §12).

    changes.json       the files with their digests; by country, the counts of changes, and the dates of its data
    EE.changes …       the changes of one country, if there are any (shards/changes/change_file.py)
    changes.parquet    the same changes for other programs, if the build wrote them

The names of both generations are digests, so the name of a folder determines its content. The folder is not part of the
later generation, because the name of a generation must depend only on the input of its build, not on the generation
before it (decision 036).

A folder is read in both directions, so a client can also follow a rollback. The folders that are kept form a graph, in
which `find_way` finds the shortest way from an old generation to the published one.
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

FOLDER: Final = "changes"  # in DATA; each step is a folder in it
DOCUMENT: Final = "changes.json"  # in the folder of a step
SUFFIX: Final = ".changes"  # of the file of one country
# The version of `changes.json`.
STEP_VERSION: Final = 3
# The most steps that are kept, which are more than the builds of a month. A client with an older generation cannot
# catch up by steps, so it has to load everything again.
MOST_STEPS: Final = 40

# The name of the folder of a step: the names of the earlier and the later generation.
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
class ShardPair:
    """The shards of one country in two generations.

    Attributes:
        old, new: the shard files; None if that generation lacks the country.
        rows: the number of rows of both shards together.
    """

    iso2: str
    old: Path | None
    new: Path | None
    rows: int


# A function that writes `<ISO2>.changes` for each country with changes into the folder, and can write further files
# there; it returns the counts of the countries with changes.
Compare = Callable[[Iterable[ShardPair], Path], Mapping[str, ChangeCounts]]


# By country, the dates of its data before and after (ISO 8601), None if its sources have no date.
Dates = Mapping[str, tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class ChangeStep:
    """The changes from one generation to another, in the stored direction or backwards.

    Attributes:
        folder: the folder of changes.
        before, after: the names of the two generations.
        backwards: whether the stored direction is from `after` to `before`.
        counts: the numbers of changes, by country.
    """

    folder: Path
    before: str
    after: str
    backwards: bool
    counts: Mapping[str, ChangeCounts]
    dates: Dates

    def reverse(self) -> Self:
        """The same step in the opposite direction."""
        counts = {iso2: numbers.reverse() for iso2, numbers in self.counts.items()}
        dates = {iso2: (after, before) for iso2, (before, after) in self.dates.items()}
        return type(self)(self.folder, self.after, self.before, not self.backwards, counts, dates)


def make(
    data: Path,
    old: Path,
    old_manifest: Manifest,
    new: Path,
    new_manifest: Manifest,
    compare: Compare,
) -> None:
    """Write the folder of changes between two generations, unless it exists.

    Args:
        old, old_manifest: the folder and the manifest of the earlier generation.
        new, new_manifest: the folder and the manifest of the later generation; its folder can still have another name.
        compare: the function that compares the shards.
    """
    name = f"{old_manifest.generation}-{new_manifest.generation}"
    reverse_name = f"{new_manifest.generation}-{old_manifest.generation}"
    if any(_is_undamaged(data / FOLDER / folder) for folder in (name, reverse_name)):
        return
    (data / FOLDER).mkdir(exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=atomic_files.STAGED, dir=data))
    try:
        counts = compare(_differing_shards(old, old_manifest, new, new_manifest), staged)
        old_dates, new_dates = (register_sources.country_dates(folder) for folder in (old, new))
        dates = {iso2: (old_dates.get(iso2), new_dates.get(iso2)) for iso2 in counts}
        complete_step(staged, data / FOLDER / name, counts, dates)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def complete_step(
    staged: Path, folder: Path, counts: Mapping[str, ChangeCounts], dates: Dates
) -> None:
    """Write the document of a folder of changes into `staged`, and rename `staged` to `folder`.

    A step is the changes between two generations, whose names are in the name of `folder`. An existing folder is
    replaced.
    """
    before, _, after = folder.name.partition("-")
    document = {
        "format": STEP_VERSION,
        "from": before,
        "to": after,
        "counts": {iso2: numbers._asdict() for iso2, numbers in sorted(counts.items())},
        "dates": {iso2: list(dates[iso2]) for iso2 in sorted(dates)},
        "files": {p.name: asdict(manifests.digest(p)) for p in sorted(staged.iterdir())},
    }
    document["blake3"] = manifests.document_digest(document)
    packed = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    atomic_files.write(staged / DOCUMENT, packed)
    shutil.rmtree(folder, ignore_errors=True)
    atomic_files.rename_synced_folder(staged, folder)


def steps(data: Path) -> dict[str, tuple[ChangeStep, ...]]:
    """The steps that start from each generation, in both directions; unreadable folders are left out."""
    by_start: dict[str, tuple[ChangeStep, ...]] = {}
    for folder in sorted((data / FOLDER).glob("*")):
        try:
            step = read(folder)
        except (FileNotFoundError, CorruptError, WrongFormatError):
            continue
        for direction in (step, step.reverse()):
            by_start[direction.before] = (*by_start.get(direction.before, ()), direction)
    return by_start


def read(folder: Path) -> ChangeStep:
    """The step in a folder of changes; only its document is read.

    Raises:
        FileNotFoundError: there is no such folder.
        CorruptError, WrongFormatError: the document is damaged, or has another version.
    """
    return _step_of(folder, _read_document(folder))


def verify(folder: Path) -> None:
    """Read every file of a folder of changes and compare it with its document.

    Raises:
        FileNotFoundError: there is no such folder.
        CorruptError: names the first file that differs, is missing, or is not in the document.
    """
    document = _read_document(folder)
    files = {name: File(**file) for name, file in document["files"].items()}
    manifests.verify_files(folder, files, DOCUMENT)


def folders(data: Path) -> list[Path]:
    """All folders of changes, by name."""
    return [path for path in sorted((data / FOLDER).glob("*")) if _NAME.fullmatch(path.name)]


def find_way(
    steps: Mapping[str, Sequence[ChangeStep]], start: str, end: str
) -> tuple[ChangeStep, ...] | None:
    """The steps of the shortest way from one generation to another, in order; None if no steps lead there."""
    if start == end:
        return ()
    return next((way for way in _shortest_ways(steps, start) if way[-1].after == end), None)


def history(steps: Mapping[str, Sequence[ChangeStep]], end: str) -> list[ChangeStep]:
    """The steps that led to a generation, the latest first, as far as they are kept."""
    backward_steps = {
        start: [step for step in from_start if step.backwards]
        for start, from_start in steps.items()
    }
    # Each way goes back in time from `end`, over steps that are read backwards. Its last step is the one that is new in
    # this way, so it is reversed and becomes the next step of the history.
    return [way[-1].reverse() for way in islice(_shortest_ways(backward_steps, end), MOST_STEPS)]


def prune(data: Path, published: str) -> None:
    """Remove the folders of changes of generations that are more than MOST_STEPS steps from the published one.

    A step is the changes between two generations; a folder stays if both its generations are near.
    """
    ways = _shortest_ways(steps(data), published)
    near = {published} | {way[-1].after for way in ways if len(way) <= MOST_STEPS}
    for folder in (data / FOLDER).glob("*"):
        match = _NAME.fullmatch(folder.name)
        if not (match and set(match.groups()) <= near):
            shutil.rmtree(folder)


def _shortest_ways(
    steps: Mapping[str, Sequence[ChangeStep]], start: str
) -> Iterator[tuple[ChangeStep, ...]]:
    """The shortest way, as steps, to each generation that can be reached from `start`, the nearest first.

    A step is the changes between two generations. All ways of one length are continued before longer ways.
    """
    reached = {start}
    ways: list[tuple[ChangeStep, ...]] = [()]
    while ways:
        longer_ways: list[tuple[ChangeStep, ...]] = []
        for way in ways:
            for step in steps.get(way[-1].after if way else start, ()):
                if step.after not in reached:
                    reached.add(step.after)
                    yield (*way, step)
                    longer_ways.append((*way, step))
        ways = longer_ways


def _differing_shards(
    old: Path, old_manifest: Manifest, new: Path, new_manifest: Manifest
) -> Iterator[ShardPair]:
    """The shards of the countries that differ between the two manifests."""
    for iso2 in sorted(old_manifest.counts.keys() | new_manifest.counts.keys()):
        name = f"{iso2}.shard"
        if old_manifest.files.get(name) != new_manifest.files.get(name):
            yield ShardPair(
                iso2,
                old / name if name in old_manifest.files else None,
                new / name if name in new_manifest.files else None,
                old_manifest.counts.get(iso2, 0) + new_manifest.counts.get(iso2, 0),
            )


def _is_undamaged(folder: Path) -> bool:
    """Whether a folder of changes exists and all its files match its document, so that it need not be written again."""
    try:
        verify(folder)
    except (FileNotFoundError, CorruptError, WrongFormatError):
        return False
    return True


def _read_document(folder: Path) -> dict[str, Any]:
    """The document of a folder of changes, checked against its digest and the name of the folder.

    Raises:
        FileNotFoundError: there is no such document.
        WrongFormatError: the document has another version.
        CorruptError: the document is damaged.
    """
    where = folder / DOCUMENT
    try:
        document: dict[str, Any] = orjson.loads(where.read_bytes())
        if document["format"] != STEP_VERSION:
            raise WrongFormatError(
                f"{where} has format {document['format']}, this code reads {STEP_VERSION}; build it again"
            )
        stored = document.pop("blake3")
        has_its_name = f"{document['from']}-{document['to']}" == folder.name
        if not has_its_name or stored != manifests.document_digest(document):
            raise ValueError("its name or its digest does not match its content")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptError(
            f"{where} cannot be understood ({error}); take {folder} away, or fetch it again"
        ) from error
    return document


def _step_of(folder: Path, document: Mapping[str, Any]) -> ChangeStep:
    """The step that a document describes, in the stored direction."""
    counts = {iso2: ChangeCounts(**numbers) for iso2, numbers in document["counts"].items()}
    dates = {iso2: (before, after) for iso2, (before, after) in document["dates"].items()}
    return ChangeStep(folder, document["from"], document["to"], False, counts, dates)
