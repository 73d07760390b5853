"""The same company twice: the one fault of a row that stops a build at once (contract E3).

Which of two is right cannot be told, and a record is found by its country and identifier. So the
build names them, with the files they stand in, and publishes nothing. Where a register was imported
again, a month later, into the folder that holds it already, that is what is said.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.errors import BuildError
from pipeline.stages import input_files

NAMED: Final = 10
# Files that hold this share of what comes twice, and little else, hold the same register: from one
# month to the next a few companies in a hundred come or go.
_NEARLY: Final = 0.9
_MOSTLY: Final = 0.5


def refuse_duplicates(companies: pl.LazyFrame, iso2: str, files: Sequence[Path]) -> None:
    """Stop if an identifier of `companies`, which are of one country, comes twice.

    Raises:
        BuildError: naming the files that hold the whole register each; else up to NAMED identifiers
            and the files they are in.
    """
    twice = companies.group_by("id").len().filter(pl.col("len") > 1).select("id").sort("id")
    found = twice.collect(engine="streaming")["id"]
    if found.is_empty():
        return
    whole = _whole(found, iso2, files) if len(found) > NAMED else []
    if len(whole) > 1:
        raise BuildError(
            f"{iso2}: {len(found)} identifiers come more than once: {' and '.join(whole)} "
            f"{'both' if len(whole) == 2 else 'all'} hold the whole register; "
            f"delete {'the older of them' if len(whole) == 2 else 'all but the newest'}"
        )
    named = [f"{identifier} ({_where(identifier, iso2, files)})" for identifier in found[:NAMED]]
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    raise BuildError(
        f"{iso2}: {len(found)} identifiers come more than once: {', '.join(named)}{more}; "
        "take out all but one of each"
    )


def _whole(found: pl.Series, iso2: str, files: Sequence[Path]) -> list[str]:
    """The files that hold nearly all of `found`, and little else."""
    whole = []
    for file in files:
        ids = input_files.keep_country(pl.scan_parquet(file).select("iso2", "id"), iso2).select(
            _cleaned()
        )
        again = ids.join(found.to_frame().lazy(), on="id", how="semi").unique()
        rows, both = (
            int(frame.select(pl.len()).collect(engine="streaming").item()) for frame in (ids, again)
        )
        if both >= _NEARLY * len(found) and both >= _MOSTLY * rows:
            whole.append(str(file))
    return sorted(whole)


def _cleaned() -> pl.Expr:
    """The identifier as `text.clean` makes it."""
    return pl.col("id").str.normalize("NFC").str.strip_chars()


def _where(identifier: str, iso2: str, files: Sequence[Path]) -> str:
    """The names of the files that hold an identifier, with how often if that is more than once."""
    names = []
    for file in files:
        rows = input_files.keep_country(pl.scan_parquet(file).select("iso2", "id"), iso2)
        count = rows.filter(_cleaned() == identifier).select(pl.len()).collect().item()
        if count:
            names.append(file.name if count == 1 else f"{count} times in {file.name}")
    return ", ".join(sorted(names))
