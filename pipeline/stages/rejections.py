"""Rejected rows: rows that cannot be served, written to a separate file with their reason.

A bad row does not stop a build, and does not enter the generation. Companies are written with the reason to
`DATA/rejected/<ISO2>.parquet` (XX: no known country), statement lines to `<ISO2>-comptes.parquet`. Rejected rows are
counted in the quality report; too many of them stop the build.

A row is rejected for its identifier or its name. Other impossible values become null and are counted
(`implausible_values`). Identifiers of another format, wrong check digits, unknown activity codes and
currencies without a rate are counted, too; the row is kept.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import polars as pl

from pipeline import console
from pipeline.errors import BuildError
from pipeline.stages import personal_data

# The column of the reason, and the folder of rejected rows in DATA.
REASON: Final = "motif"
FOLDER: Final = "rejected"
UNKNOWN_ISO2: Final = "XX"  # the name of the file of rows without a known country
NO_COUNTRY: Final = "pays inconnu"
MAX_SHARE: Final = 0.01  # of the rows of a country; a larger share stops the build

_LONGEST_ID: Final = 64  # characters
# Zeros, and texts that programs write for a missing number: no register has these as an identifier.
_NO_IDENTIFIER: Final = r"(?i)^(?:0{5,}|[<(\[#]?(?:nan|none|null|n/?a|nat|undefined)[>)\]!]?)$"
# Texts that programs write for a missing text, and signs without a letter or a digit.
_NO_NAME: Final = (
    r"(?i)^(?:[-–—_.?*/#\s]+|[<(\[#]?n/a[>)\]!]?|[<(\[](?:null|none|nan|undefined)[>)\]]"
    r"|#(?:ref|value|name|num|null|div/0)[!?])$"
)

# Reason -> condition. A null condition is false, so a missing optional value is not a fault.
FAULTS: Final[Mapping[str, pl.Expr]] = {
    "identifiant vide": pl.col("id").is_null() | pl.col("id").str.contains(_NO_IDENTIFIER),
    "identifiant trop long": pl.col("id").str.len_chars() > _LONGEST_ID,
    # As in Python's str.isprintable(), the blank U+0020 is the only printable character of class Z.
    "identifiant non imprimable": pl.col("id").str.contains(r"[\p{C}\p{Z}&&[^ ]]"),
    personal_data.NAME_FAULT: personal_data.has_personal_name(),
    "nom vide": pl.col("nom").is_null() | pl.col("nom").str.contains(_NO_NAME),
}


def rows_path(out: Path, iso2: str) -> Path:
    """The file of the rejected rows of a country."""
    return out / FOLDER / f"{iso2}.parquet"


def lines_path(out: Path, iso2: str) -> Path:
    """The file of the rejected statement lines of a country."""
    return out / FOLDER / f"{iso2}-comptes.parquet"


def add_reasons(companies: pl.LazyFrame) -> pl.LazyFrame:
    """Add `motif`: the first reason of FAULTS whose condition is true; null for a good row."""
    reason = pl.coalesce(
        pl.when(fault.fill_null(False)).then(pl.lit(name)) for name, fault in FAULTS.items()
    )
    return companies.with_columns(reason.alias(REASON))


def count_reasons(marked: pl.LazyFrame) -> dict[str, int]:
    """The number of rows with each reason, sorted by reason."""
    counts = marked.filter(pl.col(REASON).is_not_null()).group_by(REASON).len().sort(REASON)
    return dict(counts.collect(engine="streaming").iter_rows())


def count_rows(rows: pl.LazyFrame) -> int:
    """The number of rows."""
    return int(rows.select(pl.len()).collect(engine="streaming").item())


def write(marked: pl.LazyFrame, columns: list[str], path: Path, work: Path) -> None:
    """Write the rejected rows of `marked` with their reason to `path`; without rows, remove the file.

    The file is written in `work`, a folder of the caller, and moved, so that `path` never contains a part of it.
    """
    rows = marked.filter(pl.col(REASON).is_not_null()).select(REASON, *columns)
    rejected = rows.sort("id", *columns, REASON, nulls_last=True).collect(engine="streaming")
    if rejected.is_empty():
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = work / path.name
    rejected.write_parquet(partial)
    partial.replace(path)


def refuse_too_many(
    iso2: str, noun: str, read: int, reasons: Mapping[str, int], most: float, where: object
) -> None:
    """Stop if more than the share `most` of the `read` rows is rejected; `reasons` counts the rejected rows.

    Args:
        noun: the plural of the counted things, for the message.
        where: the file of the rejected rows, for the message.

    Raises:
        BuildError: the share is over `most`; the message has the three most common reasons.
    """
    total = sum(reasons.values())
    if total <= most * read:
        return
    top = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:3]
    listed = ", ".join(console.reason_and_count(*item) for item in top)
    raise BuildError(
        f"{iso2}: {total} of {read} {noun} rejected ({total / read:.1%}, at most {most:.1%}): "
        f"{listed}; look into {where} and mend the input, or raise --max-rejected"
    )
