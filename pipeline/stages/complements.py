"""Complements: sources that fill what the register of a country leaves empty (decision 058).

An import marks its file with the source and with the countries it complements
(`canonical.Origin`). Of the files of a country, those that complement nothing are its own register.
Without such a file, the complement of fewest countries takes its place. The others, in order,
fill the empty fields of the companies of the register, before statements do. A company that only a
complement has is left out and counted.

Columns that mean something only together come from one source: see GROUPS.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import polars as pl

from pipeline import canonical
from pipeline.stages.input_files import InputPart
from pipeline.stages.rejections import count_rows

COMPLETED: Final = (
    "completed"  # working column: `source` of each that has the company, `source field`
)
LEFT_OUT: Final = "absente du registre national"

# Leading columns, and those that say nothing without them. A group is empty if its leading columns
# are all null; it is then taken whole from the first source that has one of them.
GROUPS: Final = (
    (("ca_eur", "ca_last"), ("ca_mult", "ca_devise", "ca_year")),
    (("capital_social",), ("capital_devise",)),
    (("total_actif_last",), ("exercice_actif", "devise", "unite_mult")),
    (("nace_code", "nace_secondaires"), ("nace_version",)),
    (("effectif", "tranche_effectif"), ()),
    (("adresse", "code_postal", "ville"), ("region",)),
    (("site_web", "domaine"), ()),
)
_NEVER: Final = frozenset({"iso2", "id", "nom", "date_source"})  # they are those of the register
_THEIRS: Final = "complement "  # before the name of a column of the complement


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The files of one source with rows of a country."""

    name: str
    parts: tuple[InputPart, ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of a country: its own register, and what complements it, first the best."""

    register: tuple[InputPart, ...]
    complements: tuple[SourceRows, ...]


def of_country(parts: Iterable[InputPart], iso2: str) -> Sources:
    """Which of the files `parts` are the register of a country, and which complement it."""
    register: list[InputPart] = []
    others: dict[tuple[bool, str], list[InputPart]] = {}
    for part in parts:
        origin = canonical.origin(part.path)
        if origin.complements(iso2):
            name = origin.source or part.path.stem
            others.setdefault((origin.of_every_country, name), []).append(part)
        else:
            register.append(part)
    ranked = [SourceRows(key[1], tuple(others[key])) for key in sorted(others)]
    if not register and ranked:
        return Sources(ranked[0].parts, tuple(ranked[1:]))
    return Sources(tuple(register), tuple(ranked))


def fill(companies: pl.DataFrame, complement: pl.LazyFrame, source: str) -> pl.DataFrame:
    """Fill the empty fields of `companies` from the rows of `complement` with their identifiers.

    Only the rows of `companies` are in memory. The rows keep their order; COMPLETED says what was
    filled.

    Args:
        complement: rows of the same country, each identifier once.
    """
    offered = [
        name
        for name in complement.collect_schema()
        if name in companies.columns and name not in _NEVER
    ]
    wanted = complement.join(companies.lazy().select("id"), on="id", how="semi").select(
        "id", *(pl.col(name).alias(_THEIRS + name) for name in offered), **{_THEIRS: pl.lit(True)}
    )
    marks = [pl.when(pl.col(_THEIRS)).then(pl.lit(source))]
    filled = dict[str, pl.Expr]()
    for leading, group in _groups(offered):
        taken = _is_empty(leading) & ~_is_empty(_THEIRS + name for name in leading)
        for name in group:
            theirs = pl.col(_THEIRS + name)
            filled[name] = pl.when(taken).then(theirs).otherwise(pl.col(name))
            marks.append(pl.when(taken & theirs.is_not_null()).then(pl.lit(f"{source} {name}")))
    if COMPLETED not in companies.columns:
        companies = companies.with_columns(pl.lit([], pl.List(pl.String)).alias(COMPLETED))
    return (
        companies.lazy()
        .join(wanted, on="id", how="left", maintain_order="left")
        .with_columns(
            pl.concat_list(COMPLETED, pl.concat_list(marks).list.drop_nulls()).alias(COMPLETED),
            **filled,
        )
        .select([*companies.columns])
        .collect(engine="streaming")
    )


def count(completed: pl.DataFrame) -> tuple[dict[str, int], dict[str, int]]:
    """What COMPLETED says of some companies: how many each source has, and fields it filled."""
    if COMPLETED not in completed.columns:
        return {}, {}
    marks = completed.select(pl.col(COMPLETED).explode()).drop_nulls()
    counts = dict(marks.group_by(COMPLETED).len().sort(COMPLETED).iter_rows())
    met = {mark: n for mark, n in counts.items() if " " not in mark}
    return met, {mark: n for mark, n in counts.items() if " " in mark}


def count_absent(rows: Mapping[str, pl.LazyFrame], met: Mapping[str, int]) -> dict[str, int]:
    """The rows of complements whose company is not in the register, by reason and source.

    Args:
        met: the rows of each complement whose company is in it.
    """
    absent = {name: count_rows(frame) - met.get(name, 0) for name, frame in rows.items()}
    return {f"{LEFT_OUT} ({name})": count for name, count in absent.items() if count}


def _groups(offered: Collection[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The groups of the columns `offered`: their leading columns, and all of them."""
    grouped = set(chain.from_iterable((*leading, *others) for leading, others in GROUPS))
    alone = [((name,), ()) for name in offered if name not in grouped]
    for leading, others in (*GROUPS, *alone):
        present = [name for name in (*leading, *others) if name in offered]
        if leads := [name for name in leading if name in offered]:
            yield leads, present


def _is_empty(names: Iterable[str]) -> pl.Expr:
    return pl.all_horizontal(pl.col(name).is_null() for name in names)
