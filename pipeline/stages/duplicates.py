"""Duplicate companies: the only fault of a row that stops a build at once (contract E3).

A record is found by country and identifier, and the build cannot know which of two is right. It
names the duplicates with their files and publishes nothing. If a register was imported twice into
one folder, such as its editions of two months, the message says so.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.errors import BuildError
from pipeline.stages import input_files, text_cleaning

NAMED: Final = 10  # identifiers in the message
# Two files hold the same register if each has _NEARLY all of the duplicates and _MOSTLY duplicates:
# from one month to the next a few companies in a hundred come or go.
_NEARLY: Final = 0.9
_MOSTLY: Final = 0.5


def refuse(companies: pl.LazyFrame, iso2: str, files: Sequence[Path]) -> None:
    """Stop if an identifier of `companies`, all of one country, comes twice.

    Raises:
        BuildError: the files that each hold the whole register; else up to NAMED identifiers and
            their files.
    """
    repeated = companies.group_by("id").len().filter(pl.col("len") > 1).select("id").sort("id")
    found = repeated.collect(engine="streaming")["id"]
    if found.is_empty():
        return
    whole = _register_files(found, iso2, files) if len(found) > NAMED else []
    if len(whole) > 1:
        raise BuildError(
            f"{iso2}: {len(found)} identifiers come more than once: {' and '.join(whole)} "
            f"{'both' if len(whole) == 2 else 'all'} hold the whole register; "
            f"delete {'the older of them' if len(whole) == 2 else 'all but the newest'}"
        )
    named = [
        f"{identifier} ({_files_with(identifier, iso2, files)})" for identifier in found[:NAMED]
    ]
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    raise BuildError(
        f"{iso2}: {len(found)} identifiers come more than once: {', '.join(named)}{more}; "
        "take out all but one of each"
    )


def refuse_import(files: Sequence[Path]) -> None:
    """Stop if a company comes twice in the files of one import.

    Raises:
        BuildError: as `refuse`.
    """
    if not files:
        return
    rows = pl.scan_parquet(list(files)).select("iso2", id=clean_identifier())
    keys = rows.with_columns(key=pl.struct("iso2", "id").hash())
    hashes = keys.select("key").collect(engine="streaming")["key"]
    if hashes.n_unique() == len(hashes):
        return
    again = hashes.filter(hashes.is_duplicated()).unique()
    doubtful = keys.join(again.to_frame().lazy(), on="key", how="semi")
    for iso2 in doubtful.select(pl.col("iso2").drop_nulls().unique().sort()).collect()["iso2"]:
        refuse(doubtful.filter(pl.col("iso2") == iso2), iso2, files)


def _register_files(repeated: pl.Series, iso2: str, files: Sequence[Path]) -> list[str]:
    """The files that hold nearly all of `repeated` and little else."""
    whole = []
    for file in files:
        ids = input_files.keep_country(pl.scan_parquet(file).select("iso2", "id"), iso2).select(
            clean_identifier()
        )
        again = ids.join(repeated.to_frame().lazy(), on="id", how="semi").unique()
        rows, both = (
            int(frame.select(pl.len()).collect(engine="streaming").item()) for frame in (ids, again)
        )
        if both >= _NEARLY * len(repeated) and both >= _MOSTLY * rows:
            whole.append(str(file))
    return sorted(whole)


def clean_identifier() -> pl.Expr:
    """The identifier as `text_cleaning.clean` leaves it."""
    return text_cleaning.identifier(pl.col("id").str.normalize("NFC").str.strip_chars())


def _files_with(identifier: str, iso2: str, files: Sequence[Path]) -> str:
    """The names of the files that hold an identifier, with the count where it is over one."""
    names = []
    for file in files:
        rows = input_files.keep_country(pl.scan_parquet(file).select("iso2", "id"), iso2)
        count = rows.filter(clean_identifier() == identifier).select(pl.len()).collect().item()
        if count:
            names.append(file.name if count == 1 else f"{count} times in {file.name}")
    return ", ".join(sorted(names))
