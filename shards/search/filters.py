"""The filters of a search, each as a predicate over one value of a company.

A search by index (`shards/kernel`) is checked against them company by company (`publish/naive_search.py`), and changes
between generations, which no index holds, are found by them (`changes/change_block.py`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from shards.codec import sort_keys
from shards.codec.codes import area
from shards.codec.folding import fold, fold_id
from shards.query import Query, Range
from shards.search.compiled_query import RANGED
from shards.search.reader import Shard

# The values that filters compare, with the fields of a company that each is made from (§2.1, extensions X2).
# `comptes` are the statement lines of a company.
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "iso2": ("iso2",),
    "id": ("id",),
    "secteur": ("secteur", "nace_code"),
    "sous_secteur": ("sous_secteur", "nace_code"),
    "nace": ("nace_code",),
    "etat": ("etat",),
    "forme": ("forme",),
    "ville": ("ville",),
    "code_postal": ("code_postal",),
    "creation": ("date_creation",),
    "effectif": ("effectif",),
    "ca_eur": ("ca_eur",),
    "actif_eur": ("total_actif_last", "exercice_actif", "devise", "unite_mult"),
    "site_web": ("site_web",),
    "avec_comptes": ("comptes",),
    "noms": ("nom", "noms_anterieurs", "id"),
}

# Between the folded identifier and the folded names of `noms`: in neither of them, nor in what is looked for.
_END: Final = "\n"

Company = Mapping[str, Any]  # the fields of §2.1
Values = Mapping[str, Any]
Test = Callable[[Any], bool]


class Filter(NamedTuple):
    """A condition on the value of this name."""

    value: str
    passes: Test


def values(shard: Shard, row: int, company: Company) -> Values:
    """The VALUES of the company at this row of a shard."""
    cell = shard.cell_at(row)
    date = sort_keys.date_key(company["date_creation"])
    names = (company["nom"], *(company["noms_anterieurs"] or ()))
    return {
        "iso2": company["iso2"],
        "id": f"{company['iso2']}:{company['id']}",
        "secteur": cell.secteur,
        "sous_secteur": cell.sous_secteur,
        "nace": company["nace_code"],
        "etat": company["etat"] or "inconnu",
        "forme": company["forme"],
        "ville": fold(company["ville"] or ""),
        "code_postal": area(company["code_postal"] or ""),
        "creation": _first_day(date) if date else None,
        "effectif": company["effectif"],
        "ca_eur": company["ca_eur"],
        "actif_eur": shard.actif_eur(row),
        "site_web": company["site_web"] is not None,
        "avec_comptes": shard.has_comptes(row),
        "noms": _END.join((fold_id(company["id"]), *map(fold, names))),
    }


def filters(query: Query) -> list[Filter]:
    """The filters of a search, those first that compare few distinct values."""
    tests = {
        "iso2": query.pays and _among(query.pays),
        "secteur": query.secteurs and _among(query.secteurs),
        "sous_secteur": None if query.sous_secteurs is None else _among(query.sous_secteurs),
        "etat": query.etats and _among(query.etats),
        "forme": query.formes and _among(query.formes),
        "nace": _of_activity(query),
        "site_web": query.site_web and bool,
        "avec_comptes": query.avec_comptes and bool,
        "ville": query.villes and _among({*map(fold, query.villes)} - {""}),
        "code_postal": query.codes_postaux and _beginning([*map(area, query.codes_postaux)]),
        **{column: _within(query.within(column)) for column in RANGED},
        "id": None if query.ids is None else identical(query.ids).passes,
        "noms": None if query.q is None else _has_name(query.q),
    }
    found = [Filter(name, test) for name, test in tests.items() if test]
    return [Filter("ca_eur", _is_known), *found] if query.avec_ca else found


def has_identifier(identifiers: Iterable[str]) -> Filter:
    """The filter for companies with one of these identifiers, compared by letters and digits (contract E2)."""
    wanted = {fold_id(identifier) for identifier in identifiers}
    return Filter("noms", lambda noms: noms.partition(_END)[0] in wanted)


def identical(wanted: Iterable[tuple[str, str]]) -> Filter:
    """The filter for companies that are one of these, by country and identifier as the register writes it."""
    return Filter("id", _among([f"{iso2}:{identifier}" for iso2, identifier in wanted]))


def matches(company: Values, wanted: Sequence[Filter]) -> bool:
    """Whether a company passes every filter."""
    return all(one.passes(company[one.value]) for one in wanted)


def _among(wanted: Iterable[str]) -> Test:
    return frozenset(wanted).__contains__


def _of_activity(query: Query) -> Test | None:
    """The code is one of the classes of `activites`, and begins with one of `nace`."""
    tests = [
        query.activites and _among(query.activites),
        query.nace and _beginning(query.nace),
    ]
    wanted = [test for test in tests if test]
    return (lambda code: all(test(code) for test in wanted)) if wanted else None


def _beginning(prefixes: Sequence[str]) -> Test:
    wanted = tuple(filter(None, prefixes))
    return lambda text: text is not None and text.startswith(wanted)


def _within(wanted: Range) -> Test | None:
    """Inclusive bounds; a null passes none (contract B22)."""
    if wanted.least is None and wanted.most is None:
        return None
    low = float("-inf") if wanted.least is None else wanted.least
    high = float("inf") if wanted.most is None else wanted.most
    return lambda value: value is not None and low <= value <= high


def _is_known(value: float | None) -> bool:
    return value is not None


def _has_name(q: str) -> Test:
    """A folded name, present or former, contains the folded `q`, or the identifier begins with it (B15, B16)."""
    folded, prefix = fold(q), fold_id(q)
    if not folded:
        return lambda _: False
    if not prefix:
        return lambda noms: noms.find(folded, noms.index(_END)) >= 0
    return lambda noms: noms.startswith(prefix) or noms.find(folded, noms.index(_END)) >= 0


def _first_day(date: int) -> int:
    """A date yyyymmdd, whose unknown month or day counts as the first one."""
    return date + (100 if date // 100 % 100 == 0 else 0) + (1 if date % 100 == 0 else 0)
