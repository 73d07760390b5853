"""The columns that searches compare, each declared once, and the filters of a search over the values of one company.

A column says what of a company it holds, which filters of a `Query` compare it, and where the kernel has it. Filters,
keys (`kernel_query`), arrays (`generation_arrays`) and the history of changes follow from it.

A search by index (`shards/kernel`) is checked against the filters company by company (`generations/smoke_test.py`), and
changes between generations, which no index holds, are found by them (`changes/change_file.py`).
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
Bounds = tuple[float, float]

# Between the folded identifier and the folded names of `noms`: in neither of them, nor in what is looked for.
END_OF_NAME: Final = "\n"

# Whole numbers are stored in 32 bits, negated; the greatest 32-bit number is the key of null.
_LEAST: Final = -(2**31) + 2
_GREATEST: Final = 2**31
_LATEST: Final = 99_991_231


class StoredRow(NamedTuple):
    """What a shard has of a company beside its record."""

    secteur: str | None
    sous_secteur: str | None
    actif_eur: float | None
    avec_comptes: bool


class SearchColumn(NamedTuple):
    """A value of a company, and the filters that compare it.

    Attributes:
        fields: of a company, that it is made from (§2.1, extensions X2); `comptes` are its statement lines.
        value: how; None where it is the first of the fields.
        among: the filter of a query (`shards.query.Query`) with all values that pass.
        beginning: the filter with the beginnings of texts that pass.
        flag: the filter that a value passes which is neither null nor false.
        compared: a value of these filters as it is compared; an empty text is no company's.
        keys: bounds as the least and the greatest key in the kernel; None of a column without bounds.
        number: of the column of codes that the kernel tests; -1 where it has none.
        codes: its codes in a shard (FORMAT.md §7): a column, or an order, in which a code is a place.
        forgotten: its value of a company that is forgotten.
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


def _ascending_bounds(wanted: Range) -> Bounds:
    least, most = wanted.least, wanted.most
    return -inf if least is None else float(least), inf if most is None else float(most)


def _descending_bounds(wanted: Range) -> Bounds:
    """Keys of an order that descends: the negated bounds."""
    low, high = _ascending_bounds(wanted)
    return -high, -low


def _whole_numbers(wanted: Range) -> Bounds:
    """Keys of whole numbers of 32 bits that descend; crossed if none is within the bounds."""
    low = _LEAST if wanted.least is None else max(_LEAST, wanted.least)
    high = _GREATEST if wanted.most is None else min(_GREATEST, wanted.most)
    return (-high, -low) if low <= _GREATEST and high >= _LEAST else (1, 0)


def _creation_keys(wanted: Range) -> Bounds:
    """The bounds as keys of `recent`, where an unknown month or day is 00 and counts as the first one."""
    low = 0 if wanted.least is None else int(wanted.least)
    high = _LATEST if wanted.most is None else int(wanted.most)
    if low % 10_000 <= 101:  # from the first of January on
        low -= low % 10_000
    elif low % 100 <= 1:
        low -= low % 100
    if high % 100 == 0:  # before the first day of a month
        high -= 1
    if high % 10_000 <= 100:
        high -= high % 10_000 + 1
    return -min(high, _LATEST), -min(low, _LATEST)


def _first_day(company: Company, _: StoredRow) -> int | None:
    """The date of creation as yyyymmdd; a month or day that is unknown counts as the first one."""
    date = date_key(company["date_creation"])
    if not date:
        return None
    return date + (100 if date // 100 % 100 == 0 else 0) + (1 if date % 100 == 0 else 0)


def _names(company: Company, _: StoredRow) -> str:
    names = (company["nom"], *(company["noms_anterieurs"] or ()))
    return END_OF_NAME.join((fold_id(company["id"]), *map(fold, names)))


# Those with few distinct values come first: the filters of a search run in this order.
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
    "effectif": SearchColumn(("effectif",), keys=_whole_numbers),
    # As yyyymmdd; a date of the data that is less precise counts as its first day.
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
    "noms": SearchColumn(("nom", "noms_anterieurs", "id"), _names),
}  # fmt: skip
RANGED: Final = tuple(name for name, one in COLUMNS.items() if one.keys)


# -- filters, each a predicate over one value of a company ---------------------------------------


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
