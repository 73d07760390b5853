"""The generations of a folder, and what is different between two of them, as lines to read."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import orjson

from shards import generations, pointer, publication, succession
from shards.changes import NATURES, Counts
from shards.errors import GenerationError, ShardError
from shards.succession import Step

_PIECE: Final = 4_096


def kept_lines(data: Path) -> Iterator[str]:
    """Every generation that is kept, the published one first, and what it changed."""
    known = pointer.expected(data)
    ways = succession.steps(data)
    for place, name in enumerate(known.kept):
        role = f"published {known.published}" if not place else "previous" if place == 1 else "kept"
        yield f"{name}  {role:<36}{_told(data / name)}"
        behind = known.kept[place + 1 :]
        for step in ways.get(name, ()):
            if step.after in behind[:1]:
                yield f"    since {step.after}: {_summed(step.reversed().counts)}"


def difference_lines(data: Path, before: str, after: str, *, rows: bool) -> Iterator[str]:
    """What is different in the generation `after`: counts by country, or with `rows` each company.

    Raises:
        ShardError: there is no such generation, or it cannot be read.
    """
    with _step(data, before, after) as step:
        if rows:
            for iso2 in step.counts:
                yield from _entries(step, iso2)
            return
        yield f"{'pays':<6}" + "".join(f"{nature + 's':>14}" for nature in NATURES)
        for iso2, counts in step.counts.items():
            yield f"{iso2:<6}" + "".join(f"{count:>14,}" for count in counts)
        total = [sum(column) for column in zip(Counts(), *step.counts.values(), strict=True)]
        yield f"{'total':<6}" + "".join(f"{count:>14,}" for count in total)


@contextmanager
def _step(data: Path, before: str, after: str) -> Iterator[Step]:
    """The step as the build wrote it, else made now, beside the data and for now only."""
    for name in (before, after):
        pointer.named(name)
    if before == after:
        raise GenerationError(f"{before} is compared with itself; name two generations")
    manifests = [generations.read_manifest(data / name) for name in (before, after)]
    for step in succession.steps(data).get(before, ()):
        if step.after == after:
            yield step
            return
    with tempfile.TemporaryDirectory(prefix="societes-") as folder:
        succession.make(
            Path(folder), data / before, manifests[0], data / after, manifests[1],
            publication.compare,
        )  # fmt: skip
        yield succession.read(Path(folder) / succession.FOLDER / f"{before}-{after}")


def _entries(step: Step, iso2: str) -> Iterator[str]:
    with closing(step.changes(iso2)) as changes:
        for nature, count in zip(NATURES, changes.counts, strict=True):
            for start in range(0, count, _PIECE):
                for entry in changes.entries(nature, start, start + _PIECE):
                    yield orjson.dumps({"nature": nature, **orjson.loads(entry)}).decode()


def _told(folder: Path) -> str:
    try:
        manifest = generations.read_manifest(folder)
    except ShardError as error:
        return f"cannot be read: {error}"
    forced = ", forced" if manifest.forced else ""
    return f"{manifest.total:>14,} companies {manifest.size:>18,} bytes{forced}"


def _summed(counts: Mapping[str, Counts]) -> str:
    columns = zip(Counts(), *counts.values(), strict=True)
    return ", ".join(
        f"{sum(column):,} {nature}s" for nature, column in zip(NATURES, columns, strict=True)
    )
