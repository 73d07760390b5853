"""The groups of a generation: the relationships between companies of all countries, from the input.

Relationships belong to no country, so their sources are in a separate file (GROUP_SOURCES). A build of some countries
(`--pays`) whose input has no relationships keeps the relationships of the published generation. A relationship is left
out and counted if a LEI is malformed, its nature is unknown, or it links an entity to itself; a day that is not valid
becomes null and is counted.
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

# The table of relationships in an input.
_TABLE: Final = "relations"
# Reasons to leave out a relationship.
UNKNOWN_NATURE: Final = "nature de relation inconnue"
SELF: Final = "relation avec soi-même"
_DAY_COLUMNS: Final = ("debut", "fin")
_DAY_CHARACTERS: Final = len("YYYY-MM-DD")  # the characters of a complete date
_IMPOSSIBLE: Final = "?"  # in place of a day that is not valid, until it is counted


def write(
    inputs: Sequence[Path], previous: PreviousGeneration | None, staged: Path
) -> Counter[str]:
    """Write the groups of the input into the folder `staged`; without relationships, write no file.

    Args:
        previous: the published generation, whose groups stay if the input has none; None if all countries are built.

    Returns:
        The number of relationships left out, by reason; and of invalid days, by `reason (field)`.

    Raises:
        InputError: a table is not canonical.
    """
    left_out: Counter[str] = Counter()
    if files := input_files.files(inputs, _TABLE):
        groups.write(staged / GROUPS, _relationships(files, left_out))
        sources = [
            register_import
            for folder in inputs
            for table, imports in sorted(canonical.read_sources(folder).items())
            if table.startswith(f"{_TABLE}/")
            for register_import in imports
        ]
        (staged / GROUP_SOURCES).write_bytes(register_sources.dump({_TABLE: sources}))
    elif previous is not None:
        for name in (GROUPS, GROUP_SOURCES):
            if name in previous.manifest.files:
                atomic_files.link(previous.folder / name, staged / name)
    return left_out


def _relationships(files: Sequence[Path], left_out: Counter[str]) -> Iterator[Relationship]:
    """The relationships without a fault; those with a fault, and invalid days, are counted by reason in `left_out`."""
    for file in files:
        with canonical.name_unreadable([file]):
            rows = canonical.scan(file, _TABLE).with_columns(
                why=_fault_reason(), **{name: _day(name) for name in _DAY_COLUMNS}
            )
            table: pl.DataFrame = rows.collect(engine="streaming")
        left_out.update(table["why"].drop_nulls())
        relationships = table.filter(pl.col("why").is_null()).drop("why")
        for name in _DAY_COLUMNS:
            is_impossible = relationships[name] == _IMPOSSIBLE
            left_out[f"{implausible_values.NO_DATE} ({name})"] += int(is_impossible.sum())
            relationships = relationships.with_columns(
                pl.when(~is_impossible).then(name).alias(name)
            )
        yield from (Relationship(*row) for row in relationships.iter_rows())


def _fault_reason() -> pl.Expr:
    """The reason to leave out a relationship; null for a good relationship."""
    malformed = pl.any_horizontal(
        ~pl.col(name).str.contains(implausible_values.LEI_PATTERN).fill_null(False)
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
    """The column `name` as a day of the calendar: null for an empty text, _IMPOSSIBLE for a text that is not a day."""
    text = pl.col(name).str.strip_chars()
    is_day = implausible_values.is_date(text) & (text.str.len_chars() == _DAY_CHARACTERS)
    return (
        pl.when(text.is_null() | (text == ""))
        .then(pl.lit(None, pl.String))
        .when(is_day)
        .then(text)
        .otherwise(pl.lit(_IMPOSSIBLE))
        .alias(name)
    )
