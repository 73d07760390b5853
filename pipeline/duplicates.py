"""The same company twice: the one fault of a row that stops a build at once (contract E3).

Which of two is right cannot be told, and a record is found by its country and identifier. So the
build names them, with the files they stand in, and publishes nothing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from pipeline import sources
from pipeline.errors import BuildError

NAMED: Final = 10


def refuse(companies: pl.LazyFrame, iso2: str, files: Sequence[Path]) -> None:
    """Stop if an identifier of `companies`, which are of one country, comes twice.

    Raises:
        BuildError: naming up to NAMED identifiers and the files they are in.
    """
    twice = companies.group_by("id").len().filter(pl.col("len") > 1).select("id").sort("id")
    found = twice.collect(engine="streaming")["id"]
    if found.is_empty():
        return
    named = [f"{identifier} ({_where(identifier, iso2, files)})" for identifier in found[:NAMED]]
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    raise BuildError(
        f"{iso2}: {len(found)} identifiers come more than once: {', '.join(named)}{more}; "
        "take out all but one of each"
    )


def _where(identifier: str, iso2: str, files: Sequence[Path]) -> str:
    """The names of the files that hold an identifier, with how often if that is more than once."""
    names = []
    for file in files:
        rows = sources.of_country(pl.scan_parquet(file).select("iso2", "id"), iso2)
        same = pl.col("id").str.normalize("NFC").str.strip_chars() == identifier
        count = rows.filter(same).select(pl.len()).collect().item()
        if count:
            names.append(file.name if count == 1 else f"{count} times in {file.name}")
    return ", ".join(sorted(names))
