"""The filters of a search, each as a predicate over one value of a company.

A search by index (`shards/kernel`) is checked against them company by company (`generations/smoke_test.py`), and
changes between generations, which no index holds, are found by them (`changes/change_file.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from shards.codec.folding import fold, fold_id
from shards.query import Query, Range
from shards.reader.shard import Shard
from shards.search.columns import COLUMNS, END_OF_NAME, Company, SearchColumn, StoredRow

Values = Mapping[str, Any]
Test = Callable[[Any], bool]

_EVERYTHING: Final = Query()


class Filter(NamedTuple):
    """A condition on the value of this name."""

    value: str
    passes: Test


def values(shard: Shard, row: int, company: Company) -> Values:
    """The values of the company at this row of a shard, by the names of their columns."""
    return next(values_of_rows(shard, [row], [company]))


def values_of_rows(
    shard: Shard, rows: Sequence[int], companies: Sequence[Company]
) -> Iterator[Values]:
    """The values of the companies at these rows of a shard."""
    for row, company, euros in zip(rows, companies, shard.actifs_eur(rows), strict=True):
        cell = shard.cell_at(row)
        stored = StoredRow(cell.secteur, cell.sous_secteur, euros, shard.has_comptes(row))
        yield {
            name: column.value(company, stored) if column.value else company[column.fields[0]]
            for name, column in COLUMNS.items()
        }


def filters(query: Query) -> list[Filter]:
    """The filters of a search, those first that compare few distinct values."""
    found = [
        Filter(name, test) for name, one in COLUMNS.items() for test in _tests(name, one, query)
    ]
    return found if query.q is None else [*found, Filter("noms", _has_name(query.q))]


def _tests(name: str, column: SearchColumn, query: Query) -> Iterator[Test]:
    """What a query demands of a column."""
    if column.flag and getattr(query, column.flag):
        yield _is_known
    for filter_, test in ((column.among, _among_test), (column.beginning, _beginning_test)):
        if filter_ and (wanted := getattr(query, filter_)) != getattr(_EVERYTHING, filter_):
            yield test({*map(column.compared, wanted)} - {""})
    if column.keys and (within := _range_test(query.range_of(name))):
        yield within


def has_identifier(identifiers: Iterable[str]) -> Filter:
    """The filter for companies with one of these identifiers, compared by letters and digits (contract E2)."""
    wanted = {fold_id(identifier) for identifier in identifiers}
    return Filter("noms", lambda noms: noms.partition(END_OF_NAME)[0] in wanted)


def matches(company: Values, wanted: Sequence[Filter]) -> bool:
    """Whether a company passes every filter."""
    return all(one.passes(company[one.value]) for one in wanted)


def _among_test(wanted: Iterable[str]) -> Test:
    return frozenset(wanted).__contains__


def _beginning_test(prefixes: Iterable[str]) -> Test:
    wanted = tuple(prefixes)
    return lambda text: text is not None and text.startswith(wanted)


def _range_test(wanted: Range) -> Test | None:
    """Inclusive bounds; a null passes none (contract B22)."""
    if wanted.least is None and wanted.most is None:
        return None
    low = float("-inf") if wanted.least is None else wanted.least
    high = float("inf") if wanted.most is None else wanted.most
    return lambda value: value is not None and low <= value <= high


def _is_known(value: Any) -> bool:
    return value is not None and value is not False


def _has_name(q: str) -> Test:
    """A folded name, present or former, contains the folded `q`, or the identifier begins with it (B15, B16)."""
    folded, prefix = fold(q), fold_id(q)
    if not folded:
        return lambda _: False
    if not prefix:
        return lambda noms: noms.find(folded, noms.index(END_OF_NAME)) >= 0
    return lambda noms: noms.startswith(prefix) or noms.find(folded, noms.index(END_OF_NAME)) >= 0
