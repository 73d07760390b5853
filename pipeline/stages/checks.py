"""Checks between two stages: required columns, dropped columns, the number of rows.

A stage that loses a column or multiplies rows by a join would otherwise show only in the served
data. These are faults of the build, not of its input; each message names the stage.
"""

from collections.abc import Iterable

import polars as pl

from pipeline.errors import BuildError


def require_columns(
    frame: pl.LazyFrame, stage: str, *, there: Iterable[str] = (), gone: Iterable[str] = ()
) -> pl.LazyFrame:
    """Return `frame` if `stage` left the columns `there` and dropped the columns `gone`.

    Raises:
        BuildError: the stage and the columns.
    """
    found = set(frame.collect_schema())
    if missing := sorted(set(there) - found):
        raise BuildError(
            f"after {stage}: no column {', '.join(missing)}; report it, as the stage must make it"
        )
    if left := sorted(set(gone) & found):
        raise BuildError(
            f"after {stage}: {', '.join(left)} is still there; report it, as the stage must drop it"
        )
    return frame


def require_rows(frame: pl.DataFrame, stage: str, expected: int) -> pl.DataFrame:
    """Return `frame` if it has the `expected` number of rows.

    Raises:
        BuildError: a join that lost or multiplied rows.
    """
    if frame.height != expected:
        raise BuildError(
            f"after {stage}: {frame.height} rows of {expected}; a table of seeds/ has a key twice: keep one of its rows"
        )
    return frame
