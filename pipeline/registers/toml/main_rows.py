"""The main rows of a declared register: trimmed, joined to the other kinds, with derived columns.

`store_join` stores what a join brings, and `main_rows` gives the rows of one main file with all of it, as lazy plans
over pieces of the file. A row keeps its place in the file.

Invariant: memory does not grow with the rows. A join of few rows is held whole by each plan. Of more rows, a plan looks
up those of its piece; a file and its join that are both sorted by the key, as registers publish them, are read once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from pipeline import seeds
from pipeline.canonical import TEXT, InputError
from pipeline.registers.register import row_count, rows_within
from pipeline.registers.toml import sql
from pipeline.registers.toml.declaration import Declaration, Join
from pipeline.registers.toml.source_file import FilePart
from seeds import TABLES

FILE: Final = "fichier"  # the column with the name of the published file
PIECE: Final = 1 << 19  # main rows whose joined rows are looked up at once, at most
_ROW: Final = 1_000  # bytes of such a row
_FEW: Final = 1 << 20  # joined rows that a plan holds whole


@dataclass(frozen=True, slots=True)
class StoredJoin:
    """What a join brings, in the work folder.

    Attributes:
        rows: one row per key where they are few, else all rows.
        is_large: whether the rows are more than a plan may hold.
    """

    join: Join
    rows: pl.LazyFrame
    is_large: bool

    def add_to(self, main: pl.LazyFrame, piece: pl.LazyFrame) -> pl.LazyFrame:
        """The rows of `main`, which is `piece` with the columns of earlier joins, with those of this one."""
        ours, theirs = list(self.join.on), list(self.join.on.values())
        has_keys = set(ours) <= set(piece.collect_schema())
        keys = (piece if has_keys else main).select(
            ours
        )  # of the piece, so as to join no earlier one again
        found = self._rows_of(keys) if self.is_large else self.rows
        return main.join(found, left_on=ours, right_on=theirs, how="left", maintain_order="left")

    def count_orphans(self, main: pl.LazyFrame, ours: Sequence[str]) -> int:
        """Count the keys that no row of `main` has in its columns `ours`."""
        theirs = list(self.join.on.values())
        alone = self.rows.select(theirs).unique()
        alone = alone.join(main.select(ours), left_on=theirs, right_on=ours, how="anti")
        return row_count(alone)

    def _rows_of(self, keys: pl.LazyFrame) -> pl.LazyFrame:
        """One row for each of `keys`. The range of the first lets Polars leave out the row groups of others."""
        ours, theirs = list(self.join.on), list(self.join.on.values())
        first = pl.col(ours[0])
        ends = keys.select(low=first.min(), high=first.max()).collect().row(0)
        low, high = (pl.lit(end, pl.String) for end in ends)
        near = self.rows.filter(pl.col(theirs[0]).is_between(low, high))
        wanted = near.join(keys, left_on=theirs, right_on=ours, how="semi", maintain_order="left")
        return _one_per_key(self.join, wanted)


def store_join(
    declared: Declaration, join: Join, parts: Sequence[FilePart], path: Path
) -> StoredJoin:
    """Store what a join brings in `path`: every plan reads it, and its source is no longer held."""
    rows = store_rows(_joined_rows(declared, join, parts), path)
    if row_count(rows) > _FEW:
        return StoredJoin(join, rows, is_large=True)
    one_each = store_rows(_one_per_key(join, rows), path.with_suffix(".keys.parquet"))
    return StoredJoin(join, one_each, is_large=False)


def main_rows(
    declared: Declaration,
    part: FilePart,
    joins: Sequence[StoredJoin],
    path: Path,
    memory: int | None = None,
) -> list[pl.LazyFrame]:
    """The main rows of one file with the joined and derived columns, in pieces that fit in `memory` bytes.

    Args:
        path: where the rows are stored if they are read in more than one piece.
    """
    rows = _rows_of_part(declared, part).with_columns(pl.lit(part.name).alias(FILE))
    if not any(join.is_large for join in joins):
        return [_with_columns(declared, rows, joins)]
    stored = store_rows(rows, path)
    piece = rows_within(memory, _ROW, PIECE)
    starts = range(0, max(row_count(stored), 1), piece)
    return [_with_columns(declared, stored.slice(start, piece), joins) for start in starts]


def _with_columns(
    declared: Declaration, frame: pl.LazyFrame, joins: Sequence[StoredJoin]
) -> pl.LazyFrame:
    """The rows with the joined and derived columns."""
    piece = frame
    for join in joins:
        frame = join.add_to(frame, piece)
    place = sql.Place(declared.source, "derived")
    for name, derived in declared.derived.items():
        read = sql.expression(derived.sql, place.at_key(name), frame.collect_schema())
        if derived.extract:
            read = read.str.extract(derived.extract)
        frame = frame.with_columns((read if _is_list(frame, read) else sql.text(read)).alias(name))
        if derived.codes:
            frame = _replace_codes(frame, name, _labels(declared, derived.codes))
    return frame


def _is_list(frame: pl.LazyFrame, read: pl.Expr) -> bool:
    return isinstance(frame.select(read).collect_schema().dtypes()[0], pl.List)


def _rows_of_part(declared: Declaration, part: FilePart) -> pl.LazyFrame:
    """The rows of one file as its kind wants them: renamed, padded, filtered, one for each key."""
    kind, frame = part.kind, part.rows
    place = sql.Place(declared.source, f"file.{kind.name}")
    frame = frame.rename(dict(kind.rename))
    texts = [name for name, dtype in frame.collect_schema().items() if dtype == TEXT]
    frame = sql.without_placeholder_days(frame, sorted(set(texts) - _dates(declared)))
    frame = frame.with_columns(pl.col(name).str.zfill(width) for name, width in kind.pad.items())
    for name, (column, is_list) in kind.columns.items():
        columns = frame.collect_schema()
        read = [sql.expression(text, place.at_key(name), columns) for text in column]
        made = sql.texts(read, columns) if is_list else sql.text(read[0])
        frame = frame.with_columns(made.alias(name))
    if kind.where:
        frame = frame.filter(
            sql.expression(kind.where, place.at_key("where"), frame.collect_schema())
        )
    return _first_of_each(frame, kind.one_per, place) if kind.one_per else frame


def _dates(declared: Declaration) -> set[str]:
    """The published columns of canonical dates: the mapping counts what it cannot read there."""
    texts = [text for column in declared.columns.values() if column.formats for text in column.sql]
    return {name for text in texts for name in pl.sql_expr(text).meta.root_names()}


def _first_of_each(frame: pl.LazyFrame, one_per: Sequence[str], place: sql.Place) -> pl.LazyFrame:
    key, *orders = one_per
    columns = frame.collect_schema()
    # Polars 2.1 cannot sort by an integer that SQL made without a type.
    ranks = {
        f"rang {n}": sql.expression(order, place.at_key("one_per"), columns).cast(pl.Int32)
        for n, order in enumerate(orders)
    }
    sorted_rows = frame.with_columns(**ranks).sort(list(ranks), maintain_order=True)
    return sorted_rows.unique(key, keep="first", maintain_order=True).drop(list(ranks))


def _joined_rows(declared: Declaration, join: Join, parts: Sequence[FilePart]) -> pl.LazyFrame:
    """The keys of a join and the columns that it takes or gathers, of all rows that count."""
    keys = list(join.on.values())
    place = sql.Place(declared.source, f"join.{join.name}")
    kind = declared.files[join.file]
    none = pl.LazyFrame(
        schema=dict.fromkeys([*keys, *join.take.values(), *join.gather.values()], pl.String())
    )
    frames = [_rows_of_part(declared, part) for part in parts]
    if join.where:
        frames = [
            frame.filter(sql.expression(join.where, place.at_key("where"), frame.collect_schema()))
            for frame in frames
        ]
    if join.one_per:
        frames = [_first_of_each(frame, join.one_per, place) for frame in frames]
    wanted = none.collect_schema().names()
    for frame in frames:
        if lacking := [name for name in wanted if name not in frame.collect_schema()]:
            raise InputError(
                f"{place.at_key('take')}: {kind.name} has no column {lacking[0]!r}; name one of"
                f" {', '.join(frame.collect_schema())}"
            )
    return pl.concat([none, *(frame.select(wanted) for frame in frames)])


def _one_per_key(join: Join, rows: pl.LazyFrame) -> pl.LazyFrame:
    """One row per key: the first one's columns, and all values of the gathered ones."""
    keys = list(join.on.values())
    taken = [pl.col(theirs).alias(ours) for ours, theirs in join.take.items()]
    if not join.gather:
        # Not `unique`, which takes four times as long where most keys come once.
        return rows.filter(pl.struct(keys).is_first_distinct()).select(*keys, *taken)
    gathered = [
        pl.col(theirs).drop_nulls().unique(maintain_order=True).alias(ours)
        for ours, theirs in join.gather.items()
    ]
    return rows.group_by(keys, maintain_order=True).agg(
        *(column.first() for column in taken), *gathered
    )


def store_rows(rows: pl.LazyFrame, path: Path) -> pl.LazyFrame:
    """`rows` computed once and stored in `path`; their source is no longer held."""
    rows.sink_parquet(path, compression="lz4", maintain_order=True)
    return pl.scan_parquet(path)


def _labels(declared: Declaration, name: str) -> Mapping[str, str]:
    codes = declared.codes[name]
    if codes.table is None:
        return codes.values
    rows = seeds.read_table(TABLES / f"{codes.table}.csv", (codes.code, codes.label))
    return {row[codes.code]: row[codes.label] for row in rows} | dict(codes.values)


def _replace_codes(frame: pl.LazyFrame, name: str, labels: Mapping[str, str]) -> pl.LazyFrame:
    """Replace the codes in column `name` by their labels; the codes stay under `name code`."""
    code = f"{name} code"
    table = pl.LazyFrame(
        {code: list(labels), name: list(labels.values())}, schema={code: TEXT, name: TEXT}
    )
    return frame.rename({name: code}).join(table, on=code, how="left", maintain_order="left")
