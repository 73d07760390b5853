"""The comparison of two shards of a country: companies deleted, created and changed, and the changed fields.

Both shards list their folded identifiers in order, so they are merged like two sorted files, a batch at a time.
Identifiers that fold to the same text are compared in their raw form. Companies are compared by the bytes of their
records and statements, because equal companies give equal bytes. The cost is about 8 µs per company. A country whose
shard file is unchanged is not compared.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

from shards.changes.change_file import (
    CHANGED,
    CREATED,
    DELETED,
    STATEMENTS,
    ChangeWriter,
    StoredChange,
)
from shards.codec.record import FIELDS
from shards.codec.strings import END
from shards.generations import generation_files
from shards.generations.change_steps import SUFFIX, ChangeCounts, Shards
from shards.reader.shard import Shard
from shards.search import columns
from shards.search.columns import Values

# Fields that say nothing of the company: a change of these alone is none (extensions X8).
SILENT: Final = frozenset({"score", "date_source", "forme_fr", "statut_fr"})

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
        for difference in _differences(*shards):
            writer.add(*difference)
        return writer.close()
    finally:
        for shard in shards:
            if shard is not None:
                generation_files.release_shard(shard)


def compare_all(countries: Iterable[Shards], folder: Path) -> dict[str, ChangeCounts]:
    """Compare these countries one after the other, in this process."""
    compared = {
        country.iso2: compare(
            country.old, country.new, country.iso2, folder / f"{country.iso2}{SUFFIX}"
        )
        for country in countries
    }
    return {iso2: counts for iso2, counts in compared.items() if any(counts)}


_Difference = tuple[str, str, StoredChange]  # its nature, and the identifier of the company


class _ComparedCompany(NamedTuple):
    """A company with its `fields`, the digest of its statements among them."""

    fields: dict[str, Any]
    values: Values


def _differences(old: Shard | None, new: Shard | None) -> Iterator[_Difference]:
    pairs: list[tuple[int, int]] = []
    for before, after in _align(old, new):
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


def _align(old: Shard | None, new: Shard | None) -> Iterator[tuple[list[int], list[int]]]:
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
    shard.file.expect_scans(frames=True)
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
        if was != becomes or old.comptes(old_row) != new.comptes(new_row):
            yield from _company_changes(_values_of(old, old_row), _values_of(new, new_row))


def _values_of(shard: Shard, row: int) -> _ComparedCompany:
    company = shard.company(row)
    comptes = shard.comptes(row)
    digest = None if comptes is None else blake2b(comptes, digest_size=8).hexdigest()
    return _ComparedCompany({**company, STATEMENTS: digest}, columns.values(shard, row, company))


def _company_changes(was: _ComparedCompany, becomes: _ComparedCompany) -> Iterator[_Difference]:
    if was.fields["id"] != becomes.fields["id"]:  # their identifiers fold to the same text
        yield _deletion(was)
        yield _creation(becomes)
        return
    details = differing_fields(was.fields, becomes.fields)
    if not details.keys() <= SILENT:
        yield CHANGED, was.fields["id"], StoredChange(was.values, becomes.values, details)


def differing_fields(
    was: Mapping[str, Any], becomes: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
    """The fields that differ, with their values before and after, in the order of §2.1, statements last."""
    return {
        field: (was[field], becomes[field])
        for field in (*FIELDS, STATEMENTS)
        if was[field] != becomes[field]
    }


def _deletion(known: _ComparedCompany) -> _Difference:
    details = {field: (value, None) for field, value in known.fields.items() if value is not None}
    return DELETED, known.fields["id"], StoredChange(known.values, None, details)


def _creation(known: _ComparedCompany) -> _Difference:
    details = {field: (None, value) for field, value in known.fields.items() if value is not None}
    return CREATED, known.fields["id"], StoredChange(None, known.values, details)


def _group_changes(
    old: Shard | None, new: Shard | None, before: list[int], after: list[int]
) -> Iterator[_Difference]:
    """The companies whose identifiers fold to the same text; one side may have none."""
    was, becomes = _by_id(old, before), _by_id(new, after)
    for identifier in sorted(was.keys() | becomes.keys(), key=str.encode):
        if identifier not in becomes:
            yield _deletion(was[identifier])
        elif identifier not in was:
            yield _creation(becomes[identifier])
        else:
            yield from _company_changes(was[identifier], becomes[identifier])


def _by_id(shard: Shard | None, rows: Sequence[int]) -> dict[str, _ComparedCompany]:
    known = [] if shard is None else [_values_of(shard, row) for row in rows]
    return {one.fields["id"]: one for one in known}
