"""The columns that searches compare, each declared once, and the filters of a search over the values of one company.

A column declares its value, the filters of a `Query` that compare the value, and its place in the kernel. Filters, keys
(`kernel_query`), arrays (`generation_arrays`) and the history of changes follow from this declaration.

The smoke test of a generation compares the search by index (`shards/kernel`) with these filters, company by company
(`generations/smoke_test.py`). Changes between generations are in no index; the filters search them
(`changes/change_file.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final, NamedTuple

from shards.codec.codes import COMPARED
from shards.codec.folding import fold, fold_id
from shards.codec.sort_keys import date_key
from shards.kernel import types
from shards.query import Query, Range
from shards.reader.shard import Shard

Company = Mapping[str, Any]  # the fields of §2.1
Bounds = tuple[float, float]  # the least and the greatest key in the kernel

# Separates the folded identifier and the folded names in `noms`; no folded text contains it.
END_OF_NAME: Final = "\n"

# The least and the greatest whole number that can be stored: numbers are stored negated in 32 bits, and the greatest
# 32-bit number means null.
_LEAST: Final = -(2**31) + 2
_GREATEST: Final = 2**31
_LATEST: Final = 99_991_231  # the last date, as yyyymmdd


class StoredRow(NamedTuple):
    """The values of a company that a shard stores outside the record."""

    secteur: str | None
    sous_secteur: str | None
    actif_eur: float | None
    avec_comptes: bool


class SearchColumn(NamedTuple):
    """A value of a company, and the filters that compare it.

    Attributes:
        fields: the fields of a company that the value depends on (§2.1, extensions X2); `comptes` is the statement
            lines.
        value: computes the value; if it is None, the value is the first of the fields as published.
        among: the field of `shards.query.Query` that lists the values that pass.
        beginning: the field that lists prefixes of the values that pass.
        flag: the boolean field; if it is true, all values pass except null and false.
        compared: folds a value of `among` or `beginning` for comparison; an empty result matches no company.
        keys: converts bounds to the least and the greatest key in the kernel; None for a column without bounds.
        number: the number of the column of codes in the kernel; -1 if the kernel has none.
        codes: the name of the codes in a shard (FORMAT.md §7): a column, or an order whose places are the codes.
        forgotten: the value of a forgotten company.
    """

    fields: tuple[str, ...]
    value: Callable[[Company, StoredRow], Any] | None = None
    among: str = ""
    beginning: str = ""
    flag: str = ""
    compared: Callable[[Any], str] = str
    keys: Callable[[Range], Bounds] | None = None
    number: int = -1
    codes: str = ""
    forgotten: Any = None


def _ascending_bounds(range_: Range) -> Bounds:
    """Keys of an ascending order: the bounds themselves, infinite if absent."""
    least, most = range_.least, range_.most
    return -inf if least is None else float(least), inf if most is None else float(most)


def _descending_bounds(range_: Range) -> Bounds:
    """Keys of a descending order: the negated bounds."""
    low, high = _ascending_bounds(range_)
    return -high, -low


def _whole_number_bounds(range_: Range) -> Bounds:
    """Keys of 32-bit whole numbers in a descending order; the least exceeds the greatest if no number can pass."""
    low = _LEAST if range_.least is None else max(_LEAST, range_.least)
    high = _GREATEST if range_.most is None else min(_GREATEST, range_.most)
    return (-high, -low) if low <= _GREATEST and high >= _LEAST else (1, 0)


def _creation_keys(range_: Range) -> Bounds:
    """The bounds as keys of `recent`, where an unknown month or day is 00 and counts as the first."""
    low = 0 if range_.least is None else int(range_.least)
    high = _LATEST if range_.most is None else int(range_.most)
    if low % 10_000 <= 101:  # from January 1 on: dates without a month pass, too
        low -= low % 10_000
    elif low % 100 <= 1:  # from the first of a month on: dates without a day pass, too
        low -= low % 100
    if high % 100 == 0:  # before the first day of a month
        high -= 1
    if high % 10_000 <= 100:
        high -= high % 10_000 + 1
    return -min(high, _LATEST), -min(low, _LATEST)


def _first_day(company: Company, _: StoredRow) -> int | None:
    """The date of creation as yyyymmdd; an unknown month or day counts as the first."""
    date = date_key(company["date_creation"])
    if not date:
        return None
    return date + (100 if date // 100 % 100 == 0 else 0) + (1 if date % 100 == 0 else 0)


def _identifier_and_names(company: Company, _: StoredRow) -> str:
    """The folded identifier, then the folded present and former names, separated by END_OF_NAME."""
    names = (company["nom"], *(company["noms_anterieurs"] or ()))
    return END_OF_NAME.join((fold_id(company["id"]), *map(fold, names)))


# Columns with few distinct values come first: the filters of a search run in this order.
COLUMNS: Final[Mapping[str, SearchColumn]] = {
    "iso2": SearchColumn(("iso2",), among="pays"),
    "secteur": SearchColumn(("secteur", "nace_code"), lambda _, row: row.secteur, among="secteurs"),
    "sous_secteur": SearchColumn(
        ("sous_secteur", "nace_code"), lambda _, row: row.sous_secteur, among="sous_secteurs"
    ),
    "etat": SearchColumn(
        ("etat",), lambda company, _: company["etat"] or "inconnu", among="etats",
        number=types.ETAT, codes="etat", forgotten="inconnu",
    ),
    "forme": SearchColumn(("forme",), among="formes", number=types.FORME, codes="forme"),
    "nace": SearchColumn(
        ("nace_code",), among="activites", beginning="nace", number=types.NACE, codes="nace"
    ),
    "site_web": SearchColumn(
        ("site_web",), lambda company, _: company["site_web"] is not None, flag="site_web",
        forgotten=False,
    ),
    "avec_comptes": SearchColumn(
        ("comptes",), lambda _, row: row.avec_comptes, flag="avec_comptes",
        number=types.COMPTES, codes="etat", forgotten=False,
    ),
    "ville": SearchColumn(
        ("ville",), lambda company, _: fold(company["ville"] or ""), among="villes",
        compared=COMPARED["ville"], number=types.VILLE, codes="ville", forgotten="",
    ),
    "code_postal": SearchColumn(
        ("code_postal",), lambda company, _: COMPARED["code_postal"](company["code_postal"] or ""),
        beginning="codes_postaux", compared=COMPARED["code_postal"],
        number=types.CODE_POSTAL, codes="code_postal", forgotten="",
    ),
    "ca_eur": SearchColumn(("ca_eur",), flag="avec_ca", keys=_descending_bounds),
    # The number, never the band (contract B33).
    "effectif": SearchColumn(("effectif",), keys=_whole_number_bounds),
    # As yyyymmdd; a less precise date counts as its first day.
    "creation": SearchColumn(
        ("date_creation",), _first_day, keys=_creation_keys, number=types.CREATION, codes="recent"
    ),
    # In euros at the rate of their year.
    "actif_eur": SearchColumn(
        ("total_actif_last", "exercice_actif", "devise", "unite_mult"),
        lambda _, row: row.actif_eur, keys=_ascending_bounds, number=types.ACTIF, codes="actif",
    ),
    "id": SearchColumn(
        ("id",), lambda company, _: f"{company['iso2']}:{company['id']}", among="ids",
        compared=":".join,
    ),
    "noms": SearchColumn(("nom", "noms_anterieurs", "id"), _identifier_and_names),
}  # fmt: skip
# The columns that a search can limit by bounds.
RANGED: Final = tuple(name for name, column in COLUMNS.items() if column.keys)


# -- filters, each a predicate over one value of a company ---------------------------------------


ColumnValues = Mapping[str, Any]  # the values of one company, by column name
Predicate = Callable[[Any], bool]  # whether a value of a company passes

_EVERYTHING: Final = Query()  # a search without filters


class Filter(NamedTuple):
    """A condition on the value of one column, which `value` names."""

    value: str
    passes: Predicate


def values(shard: Shard, row: int, company: Company) -> ColumnValues:
    """The values of the company at this row of a shard, by column name."""
    return next(values_of_rows(shard, [row], [company]))


def values_of_rows(
    shard: Shard, rows: Sequence[int], companies: Sequence[Company]
) -> Iterator[ColumnValues]:
    """The values of the companies at these rows of a shard."""
    for row, company, euros in zip(rows, companies, shard.actifs_eur(rows), strict=True):
        cell = shard.cell_at(row)
        stored = StoredRow(cell.secteur, cell.sous_secteur, euros, shard.has_comptes(row))
        yield {
            name: column.value(company, stored) if column.value else company[column.fields[0]]
            for name, column in COLUMNS.items()
        }


def filters(query: Query) -> list[Filter]:
    """The filters of a search; filters on columns with few distinct values come first."""
    conditions = [
        Filter(name, test)
        for name, column in COLUMNS.items()
        for test in _column_tests(name, column, query)
    ]
    return conditions if query.q is None else [*conditions, Filter("noms", _has_name(query.q))]


def _column_tests(name: str, column: SearchColumn, query: Query) -> Iterator[Predicate]:
    """The conditions of a query on column `name`, each as a test of the value."""
    if column.flag and getattr(query, column.flag):
        yield _is_known
    for filter_, test in ((column.among, _among_test), (column.beginning, _beginning_test)):
        if filter_ and (values := getattr(query, filter_)) != getattr(_EVERYTHING, filter_):
            # A value that folds to the empty text must match no company, also none without a town or postcode.
            yield test({*map(column.compared, values)} - {""})
    if column.keys and (range_test := _range_test(query.range_of(name))):
        yield range_test


def has_identifier(identifiers: Iterable[str]) -> Filter:
    """The filter for companies with one of these identifiers, compared by letters and digits (contract E2)."""
    folded = {fold_id(identifier) for identifier in identifiers}
    return Filter("noms", lambda noms: noms.partition(END_OF_NAME)[0] in folded)


def matches(company: ColumnValues, conditions: Sequence[Filter]) -> bool:
    """Whether a company passes every filter."""
    return all(condition.passes(company[condition.value]) for condition in conditions)


def _among_test(values: Iterable[str]) -> Predicate:
    """The test of `among`: the value is one of these values."""
    return frozenset(values).__contains__


def _beginning_test(prefixes: Iterable[str]) -> Predicate:
    """The test of `beginning`: the value begins with one of these prefixes."""
    beginnings = tuple(prefixes)
    return lambda text: text is not None and text.startswith(beginnings)


def _range_test(range_: Range) -> Predicate | None:
    """The test for inclusive bounds, which null never passes (contract B22); None without bounds."""
    if range_.least is None and range_.most is None:
        return None
    low = float("-inf") if range_.least is None else range_.least
    high = float("inf") if range_.most is None else range_.most
    return lambda value: value is not None and low <= value <= high


def _is_known(value: Any) -> bool:
    """The test of a `flag`: the value is neither null nor false."""
    return value is not None and value is not False


def _has_name(q: str) -> Predicate:
    """The test whether a present or former name contains `q`, or the identifier begins with `q`, folded (B15, B16)."""
    folded, prefix = fold(q), fold_id(q)
    if not folded:
        return lambda _: False
    if not prefix:
        return lambda noms: noms.find(folded, noms.index(END_OF_NAME)) >= 0
    return lambda noms: noms.startswith(prefix) or noms.find(folded, noms.index(END_OF_NAME)) >= 0
