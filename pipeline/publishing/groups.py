"""The groups of a generation: the relationships of the input, whichever country their companies are of.

The sources are beside them in a file of their own: they are of no one country. A build of some countries (`--pays`)
whose input has no relationships keeps those of the published generation. A relationship of a malformed LEI, of an
unknown nature or of an entity with itself is left out and counted; a day that is none is null and counted.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from pipeline import canonical
from pipeline.publishing.receipts import PreviousGeneration
from pipeline.stages import implausible_values, input_files
from shards.generations import atomic_files, groups, register_sources
from shards.generations.groups import GROUP_SOURCES, GROUPS, NATURES, Relationship

_TABLE: Final = "relations"
UNKNOWN_NATURE: Final = "nature de relation inconnue"
SELF: Final = "relation avec soi-même"
_DAYS: Final = ("debut", "fin")
_LENGTH: Final = len("YYYY-MM-DD")
_IMPOSSIBLE: Final = "?"  # stands for a day that is none, until it is counted


def write(
    inputs: Sequence[Path], previous: PreviousGeneration | None, staged: Path
) -> Counter[str]:
    """Write the groups of the input into the folder `staged`; no file without relationships.

    Returns:
        What was left out, by reason; of a value `reason (field)`.

    Raises:
        InputError: a table that is not canonical.
    """
    left_out: Counter[str] = Counter()
    if files := input_files.files(inputs, _TABLE):
        groups.write(staged / GROUPS, _relationships(files, left_out))
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
    return left_out


def _relationships(files: Sequence[Path], left_out: Counter[str]) -> Iterator[Relationship]:
    for file in files:
        with canonical.name_unreadable([file]):
            rows = canonical.scan(file, _TABLE).with_columns(
                why=_fault(), **{name: _day(name) for name in _DAYS}
            )
            table: pl.DataFrame = rows.collect(engine="streaming")
        left_out.update(table["why"].drop_nulls())
        good = table.filter(pl.col("why").is_null()).drop("why")
        for name in _DAYS:
            impossible = good[name] == _IMPOSSIBLE
            left_out[f"{implausible_values.NO_DATE} ({name})"] += int(impossible.sum())
            good = good.with_columns(pl.when(~impossible).then(name).alias(name))
        yield from (Relationship(*row) for row in good.iter_rows())


def _fault() -> pl.Expr:
    """The reason to leave a relationship out; null for a good one."""
    malformed = pl.any_horizontal(
        ~pl.col(name).str.contains(implausible_values.LEI).fill_null(False)
        for name in ("lei", "parent_lei")
    )
    return (
        pl.when(malformed)
        .then(pl.lit(implausible_values.NO_LEI))
        .when(~pl.col("nature").is_in(NATURES).fill_null(False))
        .then(pl.lit(UNKNOWN_NATURE))
        .when(pl.col("lei") == pl.col("parent_lei"))
        .then(pl.lit(SELF))
    )


def _day(name: str) -> pl.Expr:
    """A day of the calendar; null for an empty one, _IMPOSSIBLE for any other text."""
    text = pl.col(name).str.strip_chars()
    is_day = implausible_values.is_date(text) & (text.str.len_chars() == _LENGTH)
    return (
        pl.when(text.is_null() | (text == ""))
        .then(pl.lit(None, pl.String))
        .when(is_day)
        .then(text)
        .otherwise(pl.lit(_IMPOSSIBLE))
        .alias(name)
    )
