"""What must be true between two stages: which columns are there, which are gone, how many rows.

A stage that loses a column or multiplies rows by a join would otherwise show only in what is
served. These are faults of the build itself, not of its input, and each message says which stage.
"""

from collections.abc import Iterable

import polars as pl

from pipeline.errors import BuildError


def require_columns(
    frame: pl.LazyFrame, stage: str, *, there: Iterable[str] = (), gone: Iterable[str] = ()
) -> pl.LazyFrame:
    """`frame`, once its columns are as `stage` must leave them.

    Raises:
        BuildError: naming the stage and the columns.
    """
    found = set(frame.collect_schema())
    if missing := sorted(set(there) - found):
        raise BuildError(f"after {stage}: no column {', '.join(missing)}; the stage must make it")
    if left := sorted(set(gone) & found):
        raise BuildError(f"after {stage}: {', '.join(left)} is still there; the stage must drop it")
    return frame


def require_rows(frame: pl.DataFrame, stage: str, expected: int) -> pl.DataFrame:
    """`frame`, once it has the rows that came in.

    Raises:
        BuildError: a join took rows away or gave some twice.
    """
    if frame.height != expected:
        raise BuildError(
            f"after {stage}: {frame.height} rows of {expected}; a table of seeds/ has a key twice"
        )
    return frame
