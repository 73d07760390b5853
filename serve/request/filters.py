"""The filters of extensions X2: known companies, state, place, legal form, activity, dates, assets.

They are read after those of §4.4, in the order of `parameters.FURTHER`, and the first wrong one is the error.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from serve.contract import errors, parameters, seed_tables
from serve.contract.parameters import (
    ACTIF_MAX,
    ACTIF_MIN,
    AVEC_COMPTES,
    CODE_POSTAL,
    CREE_MAX,
    CREE_MIN,
    ETAT,
    FORME,
    IDS,
    LONGEST_ID,
    NACE,
    VILLE,
)
from serve.request.place_names import PlaceNames, nfc, suggestions
from serve.request.scalars import Values, check_bounds, decimal, first_day, flag, last_day
from serve.request.value_lists import items, some_of
from shards.codec.folding import fold
from shards.query import Query

_NAMES: Final = frozenset(parameters.names(parameters.FURTHER))
_CLASS_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class AskedCompany:
    """An item of `ids`: as it was written, and the country and identifier that it means."""

    given: str
    iso2: str
    identifier: str


def narrowed(
    query: Query,
    companies: Sequence[AskedCompany] | None,
    values: Values,
    names: PlaceNames,
) -> Query:
    """`query` with the filters of `parameters.FURTHER`; `companies` are those of `ids`.

    Raises:
        ApiError: 400.
    """
    if _NAMES.isdisjoint(values):
        return query
    etats, villes = some_of(values, ETAT), items(values, VILLE)
    postcodes = ["".join(one.upper().split()) for one in items(values, CODE_POSTAL)]
    formes, nace = _forms(values, names), _activities(values)
    cree_min, cree_max = first_day(values, CREE_MIN), last_day(values, CREE_MAX)
    check_bounds(values, CREE_MIN, cree_min, CREE_MAX, cree_max)
    actif_min, actif_max = decimal(values, ACTIF_MIN), decimal(values, ACTIF_MAX)
    check_bounds(values, ACTIF_MIN, actif_min, ACTIF_MAX, actif_max)
    return replace(
        query,
        ids=None if companies is None else tuple((one.iso2, one.identifier) for one in companies),
        etats=etats,
        villes=tuple(sorted(villes)),
        codes_postaux=tuple(sorted(set(postcodes))),
        formes=formes,
        nace=nace,
        cree_min=cree_min,
        cree_max=cree_max,
        actif_min=actif_min,
        actif_max=actif_max,
        avec_comptes=flag(values, AVEC_COMPTES),
    )


def companies(values: Values, names: PlaceNames) -> tuple[AskedCompany, ...] | None:
    """The items of `ids`, in their order; None if it is absent. Raises ApiError as `asked`."""
    return asked(items(values, IDS), names) or None


def asked(given: Sequence[str], names: PlaceNames) -> tuple[AskedCompany, ...]:
    """Companies as they are written in a query string or a body: country code, `:` and identifier.

    Raises:
        ApiError: 400 `parametre_invalide` for an item of another form, `pays_inconnu`.
    """
    parts = [(one, *one.partition(":")[::2]) for one in dict.fromkeys(map(str.strip, given))]
    for one, country, identifier in parts:
        if not country.strip() or not identifier.strip() or len(identifier) > LONGEST_ID:
            shown, example = repr(one[:100]), str(IDS.example).partition(",")[0]
            why = (
                f"{shown} n'est pas de la forme pays:identifiant ; écrivez par exemple {example}",
                f"{shown} is not of the form country:identifier; write, for example, {example}",
            )
            raise errors.parametre_invalide(IDS.name, why)
    codes = {word: names.country(word) for _, word, _ in parts}
    if unknown := [word for word, code in codes.items() if code is None]:
        raise errors.pays_inconnu(unknown, suggestions(unknown, names.pays_alike))
    return tuple(
        AskedCompany(one, code, nfc(identifier.strip()))
        for one, word, identifier in parts
        if (code := codes[word]) is not None
    )


def _forms(values: Values, names: PlaceNames) -> tuple[str, ...]:
    found = [nfc(one) for one in items(values, FORME)]
    if unknown := [one for one in found if one not in names.formes]:
        raise errors.forme_inconnue(unknown, suggestions(unknown, names.formes_alike))
    return tuple(sorted(set(found)))


def _activities(values: Values) -> tuple[str, ...]:
    """The NACE codes with their dots. Raises ApiError 400 `nace_inconnu`."""
    known = seed_tables.nace_codes()
    codes = {word: _dotted(word) for word in items(values, NACE)}
    if unknown := [word for word, code in codes.items() if code not in known]:
        raise errors.nace_inconnu(unknown, suggestions(unknown, _alike(unknown, known)))
    return tuple(sorted(set(codes.values())))


def _dotted(word: str) -> str:
    """A division, group or class with its dot; any other text as it is.

    >>> _dotted("56"), _dotted("561"), _dotted("56.10"), _dotted("5.610")
    ('56', '56.1', '56.10', '5.610')
    """
    digits = word[:2] + word[2:].removeprefix(".")
    if not (digits.isascii() and digits.isdigit() and 2 < len(digits) <= _CLASS_DIGITS):
        return word
    return f"{digits[:2]}.{digits[2:]}"


def _alike(unknown: Sequence[str], known: frozenset[str]) -> dict[str, str]:
    """The known codes of the divisions of unknown ones, by spelling: what a code may have been meant to be."""
    divisions = {word[:2] for word in unknown}
    return {fold(code): code for code in sorted(known) if code[:2] in divisions}
