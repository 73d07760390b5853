"""Complements: sources that fill the empty fields of the register of a country (decision 058).

An import writes into its file the name of the source and the countries that the source complements
(`canonical.Origin`). The files of a country that complement nothing are its own register. Without
such a file, one complement serves as the register: a complement that does not cover every country is
preferred. The other complements, in order, fill the empty fields of the companies of the register; the
statements fill fields after them. A company that is only in a complement is left out and counted.

Columns that depend on each other come from one source: see `canonical.FIELD_GROUPS`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from pipeline import canonical
from pipeline.stages.input_files import InputPart
from pipeline.stages.rejections import count_rows

# Working column, a list of texts: `source` for each complement that has the company, and `source field` for each
# field that this complement filled.
COMPLETED: Final = "completed"
# The reason for a company of a complement that is not in the register.
LEFT_OUT: Final = "absente du registre national"

# Columns that complements never fill.
_NEVER_FILLED: Final = frozenset({"iso2", "id", "nom", "date_source"})
_COMPLEMENT_PREFIX: Final = "complement "  # before the names of the complement's columns in a join


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The files of one source with rows of a country."""

    name: str
    parts: tuple[InputPart, ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of a country: its own register, and its complements in their order."""

    register: tuple[InputPart, ...]
    complements: tuple[SourceRows, ...]


def country_sources(parts: Iterable[InputPart], iso2: str) -> Sources:
    """Divide the files `parts` into the register of a country and its complements, in the order in which these fill it.

    Without a file of a register, the first complement stands in for the register.
    """
    register: list[InputPart] = []
    others: dict[tuple[bool, str], list[InputPart]] = {}
    for part in parts:
        origin = canonical.origin(part.path)
        if origin.complements(iso2):
            name = origin.source or part.path.stem
            others.setdefault((origin.covers_every_country, name), []).append(part)
        else:
            register.append(part)
    # Complements of some countries come before those of every country; each kind is sorted by name.
    ranked = [SourceRows(key[1], tuple(others[key])) for key in sorted(others)]
    if not register and ranked:
        return Sources(ranked[0].parts, tuple(ranked[1:]))
    return Sources(tuple(register), tuple(ranked))


def fill(companies: pl.DataFrame, complement: pl.LazyFrame, source: str) -> pl.DataFrame:
    """Fill the empty fields of `companies` from the rows of `complement` with the same identifiers.

    Only the rows of `companies` are in memory; their order does not change. The source and the filled fields are added
    to COMPLETED.

    Args:
        complement: rows of the same country, each identifier once.
    """
    offered = [
        name
        for name in complement.collect_schema()
        if name in companies.columns and name not in _NEVER_FILLED
    ]
    matching = complement.join(companies.lazy().select("id"), on="id", how="semi").select(
        "id",
        *(pl.col(name).alias(_COMPLEMENT_PREFIX + name) for name in offered),
        # This column is true, but null after the later join for a company that the complement lacks.
        **{_COMPLEMENT_PREFIX: pl.lit(True)},
    )
    entries = [pl.when(pl.col(_COMPLEMENT_PREFIX)).then(pl.lit(source))]
    filled = dict[str, pl.Expr]()
    for leading, group in canonical.field_groups(offered):
        # A group of columns is taken from the complement if its leading columns are empty in the register, and the
        # complement has a value in one of them.
        is_taken = _is_empty(leading) & ~_is_empty(_COMPLEMENT_PREFIX + name for name in leading)
        for name in group:
            offered_value = pl.col(_COMPLEMENT_PREFIX + name)
            filled[name] = pl.when(is_taken).then(offered_value).otherwise(pl.col(name))
            entries.append(
                pl.when(is_taken & offered_value.is_not_null()).then(pl.lit(f"{source} {name}"))
            )
    if COMPLETED not in companies.columns:
        companies = companies.with_columns(pl.lit([], pl.List(pl.String)).alias(COMPLETED))
    return (
        companies.lazy()
        .join(matching, on="id", how="left", maintain_order="left")
        .with_columns(
            pl.concat_list(COMPLETED, pl.concat_list(entries).list.drop_nulls()).alias(COMPLETED),
            **filled,
        )
        .select([*companies.columns])
        .collect(engine="streaming")
    )


def count(completed: pl.DataFrame) -> tuple[dict[str, int], dict[str, int]]:
    """Count the entries of COMPLETED: the companies by `source`, and the filled values by `source field`.

    An entry that contains a blank counts as `source field`.
    """
    if COMPLETED not in completed.columns:
        return {}, {}
    entries = completed.select(pl.col(COMPLETED).explode()).drop_nulls()
    counts = dict(entries.group_by(COMPLETED).len().sort(COMPLETED).iter_rows())
    companies = {entry: number for entry, number in counts.items() if " " not in entry}
    return companies, {entry: number for entry, number in counts.items() if " " in entry}


def count_absent(rows: Mapping[str, pl.LazyFrame], present: Mapping[str, int]) -> dict[str, int]:
    """The number of rows of complements whose company is not in the register, by reason and source.

    Args:
        present: the number of rows of each complement whose company is in the register.
    """
    absent = {name: count_rows(frame) - present.get(name, 0) for name, frame in rows.items()}
    return {f"{LEFT_OUT} ({name})": count for name, count in absent.items() if count}


def _is_empty(names: Iterable[str]) -> pl.Expr:
    """Whether all columns `names` are null."""
    return pl.all_horizontal(pl.col(name).is_null() for name in names)
