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
from shards.generations.change_steps import SUFFIX, ChangeCounts, ShardPair
from shards.reader.shard import Shard
from shards.search import columns
from shards.search.columns import ColumnValues

# Fields that do not describe the company, so a change of only these fields is not recorded (extensions X8).
SILENT: Final = frozenset({"score", "date_source", "forme_fr", "statut_fr"})

_BATCH: Final = 4_096  # companies whose identifiers or records are read together

_FoldedRow = tuple[bytes, int]  # a folded identifier and the row of its company


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


def compare_all(countries: Iterable[ShardPair], folder: Path) -> dict[str, ChangeCounts]:
    """Compare these countries one by one, in this process."""
    compared = {
        country.iso2: compare(
            country.old, country.new, country.iso2, folder / f"{country.iso2}{SUFFIX}"
        )
        for country in countries
    }
    return {iso2: counts for iso2, counts in compared.items() if any(counts)}


_Difference = tuple[str, str, StoredChange]  # the nature, the identifier of the company, the change


class _ComparedCompany(NamedTuple):
    """A company: its `fields`, with a digest of its statements as a field, and the `values` that filters compare."""

    fields: dict[str, Any]
    values: ColumnValues


def _differences(old: Shard | None, new: Shard | None) -> Iterator[_Difference]:
    """The changes of all companies, in the order of their folded identifiers.

    `_align` gives the rows of both shards with the same folded identifier. Single rows are collected in batches,
    because reading many records together is faster.
    """
    pairs: list[tuple[int, int]] = []
    for before, after in _align(old, new):
        if len(before) == len(after) == 1:  # nearly always: one company in each shard
            pairs.append((before[0], after[0]))
            if len(pairs) == _BATCH:
                yield from _pair_changes(old, new, pairs)
                pairs = []
            continue
        # Changes are written in the order of identifiers, so those of the collected pairs are written first.
        yield from _pair_changes(old, new, pairs)
        pairs = []
        yield from _group_changes(old, new, before, after)
    yield from _pair_changes(old, new, pairs)


def _align(old: Shard | None, new: Shard | None) -> Iterator[tuple[list[int], list[int]]]:
    """The rows of both shards with the same folded identifier, in the order of the identifiers."""
    groups_by_side = (_grouped_rows(old), _grouped_rows(new))
    next_groups = [next(groups, None) for groups in groups_by_side]
    while least_identifier := min(
        (next_group[0] for next_group in next_groups if next_group), default=None
    ):
        rows: list[list[int]] = [[], []]
        for side, next_group in enumerate(next_groups):
            if next_group and next_group[0] == least_identifier:
                rows[side] = next_group[1]
                next_groups[side] = next(groups_by_side[side], None)
        yield rows[0], rows[1]


def _grouped_rows(shard: Shard | None) -> Iterator[tuple[bytes, list[int]]]:
    """Each folded identifier, after an END, with the rows of its companies; ascending."""
    # An identifier without letters and digits folds to the empty text. `_align` would take it for the end, so each text
    # begins with END.
    for key, rows in groupby(_folded_rows(shard), key=lambda row: row[0]):
        yield END + key, [row for _, row in rows]


def _folded_rows(shard: Shard | None) -> Iterator[_FoldedRow]:
    """All companies in the order of their folded identifiers, ties by row."""
    if shard is None or not shard.rows:
        return
    index = shard.idents
    starts = index.folded.places
    shard.file.expect_scans(frames=True)
    for first in range(0, shard.rows, _BATCH):
        last = min(first + _BATCH, shard.rows)
        end = int(starts[last]) if last < shard.rows else len(index.folded.data)
        identifiers = bytes(index.folded.data[int(starts[first]) : end]).split(END)[:-1]
        yield from zip(identifiers, index.rows[first:last].tolist(), strict=True)


def _pair_changes(
    old: Shard | None, new: Shard | None, pairs: list[tuple[int, int]]
) -> Iterator[_Difference]:
    """The changes of companies, given as pairs of a row before and a row after."""
    if not pairs:
        return
    assert old is not None and new is not None
    before = old.records([row for row, _ in pairs], coordonnees=True)
    after = new.records([row for _, row in pairs], coordonnees=True)
    for (old_row, new_row), was, becomes in zip(pairs, before, after, strict=True):
        if was != becomes or old.comptes(old_row) != new.comptes(new_row):
            yield from _company_differences(
                _read_company(old, old_row), _read_company(new, new_row)
            )


def _read_company(shard: Shard, row: int) -> _ComparedCompany:
    """The company of a row; its statements are represented by a digest."""
    company = shard.company(row)
    comptes = shard.comptes(row)
    digest = None if comptes is None else blake2b(comptes, digest_size=8).hexdigest()
    return _ComparedCompany({**company, STATEMENTS: digest}, columns.values(shard, row, company))


def _company_differences(was: _ComparedCompany, becomes: _ComparedCompany) -> Iterator[_Difference]:
    """The changes between a company of each shard with the same folded identifier.

    A deletion and a creation if the identifiers differ; else one change, or none if only SILENT fields differ.
    """
    if was.fields["id"] != becomes.fields["id"]:
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


def _deletion(company: _ComparedCompany) -> _Difference:
    """The change of a company that only the old shard has; its details are all fields that are not null."""
    details = {field: (value, None) for field, value in company.fields.items() if value is not None}
    return DELETED, company.fields["id"], StoredChange(company.values, None, details)


def _creation(company: _ComparedCompany) -> _Difference:
    """The change of a company that only the new shard has; its details are all fields that are not null."""
    details = {field: (None, value) for field, value in company.fields.items() if value is not None}
    return CREATED, company.fields["id"], StoredChange(None, company.values, details)


def _group_changes(
    old: Shard | None, new: Shard | None, before: list[int], after: list[int]
) -> Iterator[_Difference]:
    """The changes of the companies whose identifiers fold to the same text, by their rows before and after.

    One side can have no such company.
    """
    was, becomes = _companies_by_id(old, before), _companies_by_id(new, after)
    for identifier in sorted(was.keys() | becomes.keys(), key=str.encode):
        if identifier not in becomes:
            yield _deletion(was[identifier])
        elif identifier not in was:
            yield _creation(becomes[identifier])
        else:
            yield from _company_differences(was[identifier], becomes[identifier])


def _companies_by_id(shard: Shard | None, rows: Sequence[int]) -> dict[str, _ComparedCompany]:
    """The companies of these rows, by identifier."""
    companies = [] if shard is None else [_read_company(shard, row) for row in rows]
    return {company.fields["id"]: company for company in companies}
