"""The place of a failure: file, row, column and expression.

An error of Polars names none of them, so the plan that failed is run again piece by piece, and the
first failing row is found by halves.
"""

from collections.abc import Iterable, Iterator

import polars as pl

from pipeline.canonical import InputError
from pipeline.registers.toml import sql
from pipeline.registers.toml.declaration import Declaration
from pipeline.registers.toml.entity import Entity
from pipeline.registers.toml.source_file import ROW, FilePart


def locate_failure(
    declared: Declaration, mapped: Iterable[tuple[FilePart, pl.LazyFrame, Entity]]
) -> None:
    """Name the file, the row and the expression that make a plan fail.

    Raises:
        InputError: the place of the failure; none if it cannot be found again.
    """
    for part, frame, found in mapped:
        if message := _failure(part.rows):
            raise InputError(
                f"{part.name}: no readable CSV ({message}); mend it, or download it again"
            )
        for place, read in _expressions(declared, found):
            plan = frame.select(ROW, value=read)
            if message := _failure(plan):
                row = _first_failing(plan)
                raise InputError(
                    f"{part.name} row {row}: {declared.source}.toml {place}: {message}; mend one of the two"
                )


def _expressions(declared: Declaration, entity: Entity) -> Iterator[tuple[str, pl.Expr]]:
    for name, read in entity.columns.items():
        yield f"[columns] {name} = {'; '.join(declared.columns[name].sql)}", read
    yield from (("[drop]", entity.drop_reason), ("[reject]", entity.reject_reason))
    yield "[note]", entity.note


def _failure(plan: pl.LazyFrame) -> str | None:
    try:
        plan.select(pl.all().count()).collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        return sql.first_line(error)
    return None


def _first_failing(plan: pl.LazyFrame) -> int:
    """The number of the first row without which the plan does not fail."""
    good, bad = 0, int(plan.select(pl.len()).collect(engine="streaming").item())
    while bad - good > 1:
        middle = (good + bad) // 2
        if _failure(plan.head(middle)):
            bad = middle
        else:
            good = middle
    return int(plan.select(ROW).slice(bad - 1, 1).collect().item())
