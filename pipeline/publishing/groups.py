"""The groups of a generation: the relationships of the input, whichever country their companies are of.

The sources are beside them in a file of their own: they are of no one country. A build of some countries (`--pays`)
whose input has no relationships keeps those of the published generation.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from pipeline import canonical
from pipeline.errors import BuildError
from pipeline.publishing.kept_countries import PreviousGeneration
from pipeline.stages import input_files
from shards.generations import atomic_files, groups, register_sources
from shards.generations.groups import GROUP_SOURCES, GROUPS, NATURES, Relationship

_TABLE = "relations"


def write(inputs: Sequence[Path], previous: PreviousGeneration | None, staged: Path) -> None:
    """Write the groups of the input into the folder `staged`; no file without relationships.

    Raises:
        InputError: a table that is not canonical.
        BuildError: a relationship of an unknown kind.
    """
    if files := input_files.files(inputs, _TABLE):
        groups.write(staged / GROUPS, _relationships(files))
        sources = [
            one
            for folder in inputs
            for table, imports in sorted(canonical.read_sources(folder).items())
            if table.startswith(f"{_TABLE}/")
            for one in imports
        ]
        (staged / GROUP_SOURCES).write_bytes(register_sources.dump({_TABLE: sources}))
    elif previous is not None:
        for name in (GROUPS, GROUP_SOURCES):
            if name in previous.manifest.files:
                atomic_files.link(previous.folder / name, staged / name)


def _relationships(files: Sequence[Path]) -> Iterator[Relationship]:
    for file in files:
        with canonical.name_unreadable([file]):
            rows: pl.DataFrame = canonical.scan(file, _TABLE).collect(engine="streaming")
        if unknown := sorted(set(rows["nature"]) - set(NATURES)):
            raise BuildError(f"{file}: nature {unknown[0]!r}; known: {', '.join(NATURES)}")
        yield from (Relationship(*row) for row in rows.iter_rows())
