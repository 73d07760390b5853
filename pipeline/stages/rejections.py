"""Rejected rows: rows that cannot be served, written apart with their reason.

A bad row neither stops a build silently nor enters the generation. It is written with its reason to
`DATA/rejected/<ISO2>.parquet` (XX: no known country), a statement line to `<ISO2>-comptes.parquet`,
and counted in the quality report. Too many rejected rows stop the build. kept + rejected = read.

Only an identifier and a name are reasons to reject. Any other value that cannot be is null and counted
(`implausible_values`), and so are the format of an identifier, check digits, unknown activity codes and
currencies without a rate; the row is kept.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from pipeline import console
from pipeline.errors import BuildError
from pipeline.stages import personal_data

REASON: Final = "motif"
FOLDER: Final = "rejected"
UNKNOWN_ISO2: Final = "XX"  # names the file of rows whose country is not one of the 25
NO_COUNTRY: Final = "pays inconnu"
MAX_SHARE: Final = 0.01  # of the rows of a country; more rejected rows stop the build

_LONGEST_ID: Final = 64
# Zeros, and what programs write for a number that is missing: no register has these as an identifier.
_NO_IDENTIFIER: Final = r"(?i)^(?:0{5,}|[<(\[#]?(?:nan|none|null|n/?a|nat|undefined)[>)\]!]?)$"
# What programs write for a text that is missing, and signs without a letter or a digit.
_NO_NAME: Final = (
    r"(?i)^(?:[-–—_.?*/#\s]+|[<(\[#]?n/a[>)\]!]?|[<(\[](?:null|none|nan|undefined)[>)\]]"
    r"|#(?:ref|value|name|num|null|div/0)[!?])$"
)

# Reason -> condition. A null condition is false, so a missing optional value is no fault.
FAULTS: Final[Mapping[str, pl.Expr]] = {
    "identifiant vide": pl.col("id").is_null() | pl.col("id").str.contains(_NO_IDENTIFIER),
    "identifiant trop long": pl.col("id").str.len_chars() > _LONGEST_ID,
    # As str.isprintable(): U+0020 is the only blank that is printable.
    "identifiant non imprimable": pl.col("id").str.contains(r"[\p{C}\p{Z}&&[^ ]]"),
    personal_data.NAME_FAULT: personal_data.has_name(),
    "nom vide": pl.col("nom").is_null() | pl.col("nom").str.contains(_NO_NAME),
}


def rows_path(out: Path, iso2: str) -> Path:
    """The file of the rejected rows of a country."""
    return out / FOLDER / f"{iso2}.parquet"


def lines_path(out: Path, iso2: str) -> Path:
    """The file of the rejected statement lines of a country."""
    return out / FOLDER / f"{iso2}-comptes.parquet"


def add_reasons(companies: pl.LazyFrame) -> pl.LazyFrame:
    """Add `motif`: the first reason of FAULTS that holds, null for a good row."""
    reason = pl.coalesce(
        pl.when(fault.fill_null(False)).then(pl.lit(name)) for name, fault in FAULTS.items()
    )
    return companies.with_columns(reason.alias(REASON))


def count_reasons(marked: pl.LazyFrame) -> dict[str, int]:
    """The count of rows of each reason, sorted by reason."""
    found = marked.filter(pl.col(REASON).is_not_null()).group_by(REASON).len().sort(REASON)
    return dict(found.collect(engine="streaming").iter_rows())


def count_rows(rows: pl.LazyFrame) -> int:
    """The number of rows."""
    return int(rows.select(pl.len()).collect(engine="streaming").item())


def write(marked: pl.LazyFrame, columns: list[str], path: Path, work: Path) -> None:
    """Write the rejected rows of `marked` with their reason to `path`; no row, no file.

    The file is written in `work`, a folder of the caller's own, and moved, so that it appears whole.
    """
    rows = marked.filter(pl.col(REASON).is_not_null()).select(REASON, *columns)
    found = rows.sort("id", *columns, REASON, nulls_last=True).collect(engine="streaming")
    if found.is_empty():
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = work / path.name
    found.write_parquet(partial)
    partial.replace(path)


def refuse_too_many(
    iso2: str, what: str, read: int, reasons: Mapping[str, int], most: float, where: object
) -> None:
    """Stop if more than the share `most` of the `read` rows was rejected.

    Args:
        what: the plural of the things counted, for the message.
        where: the file of the rejected ones, for the message.

    Raises:
        BuildError: naming the country, the share and the three most common reasons.
    """
    total = sum(reasons.values())
    if total <= most * read:
        return
    top = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:3]
    named = ", ".join(console.reason_and_count(*item) for item in top)
    raise BuildError(
        f"{iso2}: {total} of {read} {what} rejected ({total / read:.1%}, at most {most:.1%}): "
        f"{named}; look into {where} and mend the input, or raise --max-rejected"
    )
