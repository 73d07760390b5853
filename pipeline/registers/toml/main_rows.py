"""The main rows of a declared register: trimmed, joined to the other kinds, with derived columns.

`store_join` stores the rows of a join. `main_rows` returns the rows of one main file with all joined columns, as lazy
plans over pieces of the file. A row keeps its place in the file.

Invariant: memory does not grow with the number of rows. A plan holds all rows of a small join; of a large join it holds
only the rows with the keys of its piece. If the main file and the join are both sorted by the key, as registers publish
them, both are read once.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from pipeline import seeds
from pipeline.canonical import TEXT, InputError
from pipeline.registers.register import row_count, rows_within
from pipeline.registers.toml import spellings, sql
from pipeline.registers.toml.declaration import Declaration, Join
from pipeline.registers.toml.source_file import FilePart
from pipeline.stages import text_cleaning
from seeds import TABLES

FILE: Final = "fichier"  # the column with the name of the published file
PIECE: Final = 1 << 19  # the most main rows of a piece, with which one plan joins a large join
_ROW_BYTES: Final = 1_000  # estimated bytes of memory of a main row with its joined columns
# A join of at most so many rows is small: each plan holds it in memory.
_MOST_SMALL_JOIN_ROWS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class StoredJoin:
    """The rows of a join, in the work folder.

    Attributes:
        rows: one row per key of a small join; all rows of a large one.
        is_large: whether the join has more than _MOST_SMALL_JOIN_ROWS rows.
    """

    join: Join
    rows: pl.LazyFrame
    is_large: bool

    def add_to(self, main: pl.LazyFrame, piece: pl.LazyFrame) -> pl.LazyFrame:
        """Add the columns of this join to `main`.

        Args:
            main: the rows with the columns of earlier joins.
            piece: the same rows without these columns.
        """
        main_keys, join_keys = list(self.join.on), list(self.join.on.values())
        # The keys are read from `main` only if an earlier join adds them, because its plan computes the earlier joins.
        has_keys = set(main_keys) <= set(piece.collect_schema())
        keys = (piece if has_keys else main).select(main_keys)
        join_rows = self._rows_of(keys) if self.is_large else self.rows
        return main.join(
            join_rows, left_on=main_keys, right_on=join_keys, how="left", maintain_order="left"
        )

    def count_orphans(self, main: pl.LazyFrame, main_keys: Sequence[str]) -> int:
        """Count the keys of the join that no row of `main` has in its columns `main_keys`."""
        join_keys = list(self.join.on.values())
        orphan_keys = self.rows.select(join_keys).unique()
        orphan_keys = orphan_keys.join(
            main.select(main_keys), left_on=join_keys, right_on=main_keys, how="anti"
        )
        return row_count(orphan_keys)

    def _rows_of(self, keys: pl.LazyFrame) -> pl.LazyFrame:
        """One row of the join per key of `keys`.

        The rows are first filtered by the range of the first key column, so that Polars skips the other row groups
        of the Parquet file.
        """
        main_keys, join_keys = list(self.join.on), list(self.join.on.values())
        first_key = pl.col(main_keys[0])
        key_range = keys.select(low=first_key.min(), high=first_key.max()).collect().row(0)
        low, high = (pl.lit(end, pl.String) for end in key_range)
        rows_in_range = self.rows.filter(pl.col(join_keys[0]).is_between(low, high))
        matching = rows_in_range.join(
            keys, left_on=join_keys, right_on=main_keys, how="semi", maintain_order="left"
        )
        return _group_by_key(self.join, matching)


def store_join(
    declared: Declaration, join: Join, parts: Sequence[FilePart], path: Path
) -> StoredJoin:
    """Store the rows of a join in `path`, so that no plan computes them again."""
    rows = store_rows(_joined_rows(declared, join, parts), path)
    if row_count(rows) > _MOST_SMALL_JOIN_ROWS:
        return StoredJoin(join, rows, is_large=True)
    one_each = store_rows(_group_by_key(join, rows), path.with_suffix(".keys.parquet"))
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
        path: the file to store the rows in if a join is large, and the rows are read in several pieces.
    """
    rows = _rows_of_part(declared, part).with_columns(pl.lit(part.name).alias(FILE))
    if not any(join.is_large for join in joins):
        return [_join_columns(declared, rows, joins)]
    stored = store_rows(rows, path)
    piece = rows_within(memory, _ROW_BYTES, PIECE)
    starts = range(0, max(row_count(stored), 1), piece)
    return [_join_columns(declared, stored.slice(start, piece), joins) for start in starts]


def _join_columns(
    declared: Declaration, frame: pl.LazyFrame, joins: Sequence[StoredJoin]
) -> pl.LazyFrame:
    """The rows with the joined and derived columns."""
    piece = frame
    for join in joins:
        frame = join.add_to(frame, piece)
    codes = spellings.compared_codes(declared)
    toml_table = sql.TomlTable(declared.source, "derived")
    for name, derived in declared.derived.items():
        value = sql.expression(derived.sql, toml_table.key_path(name), frame.collect_schema())
        if derived.extract:
            value = value.str.extract(derived.extract)
        frame = frame.with_columns(
            (value if _is_list(frame, value) else sql.as_text(value)).alias(name)
        )
        if derived.codes:
            frame = _replace_codes(frame, name, _labels(declared, derived.codes))
        frame = _respell(frame, [name], codes)
    return frame


def _respell(
    frame: pl.LazyFrame, names: Iterable[str], codes: Mapping[str, Collection[str]]
) -> pl.LazyFrame:
    """The rows with a code of `codes` for each other spelling of it, in the columns `names` that are texts."""
    schema = frame.collect_schema()
    return frame.with_columns(
        spellings.respell(name, codes[name])
        for name in names
        if name in codes and schema[name] == TEXT
    )


def _is_list(frame: pl.LazyFrame, expression: pl.Expr) -> bool:
    """Whether an expression over `frame` gives lists."""
    return isinstance(frame.select(expression).collect_schema().dtypes()[0], pl.List)


def _rows_of_part(declared: Declaration, part: FilePart) -> pl.LazyFrame:
    """The rows of one file as its kind declares: renamed, padded, respelled, computed, filtered, one row per key."""
    kind, frame = part.kind, part.rows
    toml_table = sql.TomlTable(declared.source, f"file.{kind.name}")
    frame = frame.rename(dict(kind.rename))
    texts = [name for name, dtype in frame.collect_schema().items() if dtype == TEXT]
    frame = sql.null_placeholder_days(frame, sorted(set(texts) - _date_columns(declared)))
    identifying = spellings.identifying_columns(declared) - kind.pad.keys()
    frame = frame.with_columns(
        text_cleaning.drop_float_ending(pl.col(name)) for name in texts if name in identifying
    ).with_columns(spellings.pad_number(name, width) for name, width in kind.pad.items())
    codes = spellings.compared_codes(declared)
    frame = _respell(frame, texts, codes)
    for name, (sql_texts, is_list) in kind.columns.items():
        columns = frame.collect_schema()
        expressions = [
            sql.expression(text, toml_table.key_path(name), columns) for text in sql_texts
        ]
        value = sql.as_texts(expressions, columns) if is_list else sql.as_text(expressions[0])
        frame = _respell(frame.with_columns(value.alias(name)), [name], codes)
    if kind.where:
        frame = frame.filter(
            sql.expression(kind.where, toml_table.key_path("where"), frame.collect_schema())
        )
    return _first_of_each(frame, kind.one_per, toml_table) if kind.one_per else frame


def _date_columns(declared: Declaration) -> set[str]:
    """The published columns of canonical dates; these keep placeholder days, which `entity` counts as unreadable."""
    texts = [text for column in declared.columns.values() if column.formats for text in column.sql]
    return {name for text in texts for name in pl.sql_expr(text).meta.root_names()}


def _first_of_each(
    frame: pl.LazyFrame, one_per: Sequence[str], toml_table: sql.TomlTable
) -> pl.LazyFrame:
    """Keep one row for each value of the first column in `one_per`: the first row by the orders after it."""
    key, *orders = one_per
    columns = frame.collect_schema()
    # Polars 2.1 cannot sort by an integer that SQL made without a type.
    ranks = {
        f"rang {n}": sql.expression(order, toml_table.key_path("one_per"), columns).cast(pl.Int32)
        for n, order in enumerate(orders)
    }
    sorted_rows = frame.with_columns(**ranks).sort(list(ranks), maintain_order=True)
    return sorted_rows.unique(key, keep="first", maintain_order=True).drop(list(ranks))


def _joined_rows(declared: Declaration, join: Join, parts: Sequence[FilePart]) -> pl.LazyFrame:
    """The rows of `parts` that a join selects, with its keys and the columns that it takes or gathers."""
    keys = list(join.on.values())
    toml_table = sql.TomlTable(declared.source, f"join.{join.name}")
    kind = declared.files[join.file]
    empty = pl.LazyFrame(
        schema=dict.fromkeys([*keys, *join.take.values(), *join.gather.values()], pl.String())
    )
    frames = [_rows_of_part(declared, part) for part in parts]
    if join.where:
        frames = [
            frame.filter(
                sql.expression(join.where, toml_table.key_path("where"), frame.collect_schema())
            )
            for frame in frames
        ]
    if join.one_per:
        frames = [_first_of_each(frame, join.one_per, toml_table) for frame in frames]
    needed = empty.collect_schema().names()
    for frame in frames:
        if missing := [name for name in needed if name not in frame.collect_schema()]:
            raise InputError(
                f"{toml_table.key_path('take')}: {kind.name} has no column {missing[0]!r}; name one of"
                f" {', '.join(frame.collect_schema())}"
            )
    return pl.concat([empty, *(frame.select(needed) for frame in frames)])


def _group_by_key(join: Join, rows: pl.LazyFrame) -> pl.LazyFrame:
    """One row per key: the taken columns of its first row, and all values of the gathered columns."""
    keys = list(join.on.values())
    taken = [pl.col(join_name).alias(main_name) for main_name, join_name in join.take.items()]
    if not join.gather:
        # `unique` would take four times as long if most keys are unique.
        return rows.filter(pl.struct(keys).is_first_distinct()).select(*keys, *taken)
    gathered = [
        pl.col(join_name).drop_nulls().unique(maintain_order=True).alias(main_name)
        for main_name, join_name in join.gather.items()
    ]
    return rows.group_by(keys, maintain_order=True).agg(
        *(column.first() for column in taken), *gathered
    )


def store_rows(rows: pl.LazyFrame, path: Path) -> pl.LazyFrame:
    """Compute `rows` and store them in `path`; return a scan of that file, which no longer holds their source."""
    rows.sink_parquet(path, compression="lz4", maintain_order=True)
    return pl.scan_parquet(path)


def _labels(declared: Declaration, name: str) -> Mapping[str, str]:
    """The labels of a code list, by code."""
    codes = declared.codes[name]
    if codes.table is None:
        return codes.values
    rows = seeds.read_table(TABLES / f"{codes.table}.csv", (codes.code, codes.label))
    return {row[codes.code]: row[codes.label] for row in rows} | dict(codes.values)


def _replace_codes(frame: pl.LazyFrame, name: str, labels: Mapping[str, str]) -> pl.LazyFrame:
    """Replace the codes in column `name` with their labels; the codes stay in the column `name code`."""
    code = f"{name} code"
    table = pl.LazyFrame(
        {code: list(labels), name: list(labels.values())}, schema={code: TEXT, name: TEXT}
    )
    coded = frame.with_columns(spellings.respell(name, labels))
    return coded.rename({name: code}).join(table, on=code, how="left", maintain_order="left")
