"""The comparison of two shards of a country: companies deleted, created and changed, and the changed fields.

Both shards list their folded identifiers in order, so they are merged like two sorted files, a batch at a time.
Identifiers that fold to the same text are compared in their raw form. Companies are compared by the bytes of their
records and statements, because equal companies give equal bytes. The cost is about 8 µs per company. A country whose
shard file is unchanged is not compared.
"""

from collections.abc import Iterator
from itertools import chain, groupby
from pathlib import Path
from typing import Final

import orjson

from shards.changes.change_file import (
    CHANGED,
    CREATED,
    DELETED,
    STATEMENTS,
    ChangeCounts,
    ChangeWriter,
)
from shards.codec.record import FIELDS
from shards.codec.strings import END
from shards.generations import generation_files
from shards.search.reader import Shard

_BATCH: Final = 4_096

_Row = tuple[bytes, int]  # a folded identifier and the row of its company


def compare(old: Path | None, new: Path | None, iso2: str, target: Path) -> ChangeCounts:
    """Write the changes from the shard `old` to the shard `new` to the file `target`, if there are any.

    Args:
        old, new: None if that generation lacks the country.
    """
    shards = [None if path is None else generation_files.open_shard(path) for path in (old, new)]
    try:
        writer = ChangeWriter(target, iso2)
        for nature, identifier, champs in _differences(*shards):
            writer.add(nature, identifier, champs)
        return writer.close()
    finally:
        for shard in shards:
            if shard is not None:
                generation_files.release_shard(shard)


_Difference = tuple[str, str, tuple[str, ...]]


def _differences(old: Shard | None, new: Shard | None) -> Iterator[_Difference]:
    pairs: list[tuple[int, int]] = []
    for before, after in _aligned(old, new):
        if len(before) == len(after) == 1:
            pairs.append((before[0], after[0]))
            if len(pairs) == _BATCH:
                yield from _pair_changes(old, new, pairs)
                pairs = []
            continue
        # Entries are in the order of identifiers, so the collected pairs come first.
        yield from _pair_changes(old, new, pairs)
        pairs = []
        yield from _group_changes(old, new, before, after)
    yield from _pair_changes(old, new, pairs)


def _aligned(old: Shard | None, new: Shard | None) -> Iterator[tuple[list[int], list[int]]]:
    """The rows of both shards that have the same folded identifier, in its order."""
    sides = (_groups(old), _groups(new))
    heads = [next(side, None) for side in sides]
    while first := min((head[0] for head in heads if head), default=None):
        rows: list[list[int]] = [[], []]
        for place, head in enumerate(heads):
            if head and head[0] == first:
                rows[place] = head[1]
                heads[place] = next(sides[place], None)
        yield rows[0], rows[1]


def _groups(shard: Shard | None) -> Iterator[tuple[bytes, list[int]]]:
    # The byte in front makes the empty text true: an identifier without letters and digits folds to nothing.
    for key, rows in groupby(_rows(shard), key=lambda row: row[0]):
        yield END + key, [row for _, row in rows]


def _rows(shard: Shard | None) -> Iterator[_Row]:
    """All companies in the order of their folded identifiers, ties by row."""
    if shard is None or not shard.rows:
        return
    index = shard.idents
    starts = index.folded.places
    for first in range(0, shard.rows, _BATCH):
        last = min(first + _BATCH, shard.rows)
        end = int(starts[last]) if last < shard.rows else len(index.folded.data)
        texts = bytes(index.folded.data[int(starts[first]) : end]).split(END)[:-1]
        yield from zip(texts, index.rows[first:last].tolist(), strict=True)


def _pair_changes(
    old: Shard | None, new: Shard | None, pairs: list[tuple[int, int]]
) -> Iterator[_Difference]:
    if not pairs:
        return
    assert old is not None and new is not None
    before = old.records([row for row, _ in pairs], coordonnees=True)
    after = new.records([row for _, row in pairs], coordonnees=True)
    for (old_row, new_row), was, becomes in zip(pairs, before, after, strict=True):
        statements = old.comptes(old_row) != new.comptes(new_row)
        if was != becomes or statements:
            yield from _company_changes(was, becomes, statements=statements)


def _company_changes(was: bytes, becomes: bytes, *, statements: bool) -> Iterator[_Difference]:
    before, after = orjson.loads(was), orjson.loads(becomes)
    if before["id"] != after["id"]:  # two companies whose identifiers fold to the same text
        yield DELETED, before["id"], ()
        yield CREATED, after["id"], ()
        return
    champs = [field for field in FIELDS if before[field] != after[field]]
    yield CHANGED, after["id"], tuple(chain(champs, [STATEMENTS] * statements))


def _group_changes(
    old: Shard | None, new: Shard | None, before: list[int], after: list[int]
) -> Iterator[_Difference]:
    """The companies whose identifiers fold to the same text; one side may have none."""
    old_rows, new_rows = _by_id(old, before), _by_id(new, after)
    for identifier in sorted(old_rows.keys() | new_rows.keys(), key=str.encode):
        if identifier not in new_rows:
            yield DELETED, identifier, ()
        elif identifier not in old_rows:
            yield CREATED, identifier, ()
        else:
            yield from _pair_changes(old, new, [(old_rows[identifier], new_rows[identifier])])


def _by_id(shard: Shard | None, rows: list[int]) -> dict[str, int]:
    if shard is None or not rows:
        return {}
    records = shard.records(rows, coordonnees=True)
    return {orjson.loads(record)["id"]: row for record, row in zip(records, rows, strict=True)}
