"""Companies and fields that a build leaves out, because a person has objected (`objections`).

A company is left out before anything else is done with its rows, of its register and of complements. A field is made
null when all stages that could fill it are done.
"""

from collections.abc import Collection
from typing import Final

import polars as pl

from pipeline.stages import text_cleaning
from pipeline.stages.objections import Hidden

LEFT_OUT: Final = "opposition d'une personne"
WHOLE: Final = "société"


def hidden_companies(hidden: Hidden) -> list[str]:
    """The identifiers of the companies that are left out."""
    return sorted(identifier for identifier, names in hidden.items() if names is None)


def leave_out_companies(companies: pl.LazyFrame, hidden: Hidden) -> pl.LazyFrame:
    """The rows without those of the companies that are left out."""
    left = hidden_companies(hidden)
    return companies.filter(~pl.col("id").is_in(left).fill_null(False)) if left else companies


def clear_fields(companies: pl.LazyFrame, hidden: Hidden) -> pl.LazyFrame:
    """Make the fields null that are left out."""
    by_field: dict[str, list[str]] = {}
    for identifier, names in hidden.items():
        for name in names or ():
            by_field.setdefault(name, []).append(identifier)
    return companies.with_columns(
        pl.when(~pl.col("id").is_in(ids)).then(name).alias(name) for name, ids in by_field.items()
    )


def count(hidden: Hidden, present: Collection[str]) -> dict[str, int]:
    """The companies of `present` that are left out, and those that lack each field."""
    counts: dict[str, int] = {}
    for identifier in present:
        names = hidden[identifier]
        for name in (WHOLE,) if names is None else names:
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def rows_per_company(companies: pl.LazyFrame, hidden: Hidden) -> dict[str, int]:
    """How many of the input rows `companies` each company has that `hidden` names; none has none."""
    identifier = pl.col("id").str.replace_all(text_cleaning.INVISIBLE_ENDS, "")
    found = companies.filter(identifier.is_in(sorted(hidden))).group_by(identifier).len()
    return dict(found.sort("id").collect(engine="streaming").iter_rows())
