"""The parser of query strings: to a Query, or to one of the errors of contract B.

No code after this module checks a parameter again. If several things are wrong, the error is the
first in this order:
1. the text of the query string itself (not UTF-8);
2. unknown parameter names, all in one error (B6);
3. the parameters in the order of the table of §4.4. Unknown countries, sectors and sub-sectors are
   one step, reported together (B4) with the code of the first kind.
An empty value counts as an absent one, for every parameter. Values are trimmed.
"""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from serve.contract import errors, parameters
from serve.contract.errors import ApiError
from serve.contract.parameters import (
    AVEC_CA,
    CA_MAX,
    CA_MIN,
    CURSEUR,
    DEFAULT_LIMIT,
    DEPUIS,
    EFFECTIF_MAX,
    EFFECTIF_MIN,
    LANG,
    LIMIT,
    LIMITE,
    LONGEST_Q,
    NATURE,
    OFFSET,
    PAR,
    PAYS,
    SECTEUR,
    SITE_WEB,
    SOUS_SECTEUR,
    TRI,
    VERSION,
    N,
    Q,
)
from serve.request import export_options, filters
from serve.request.export_options import FileOptions
from serve.request.filters import AskedCompany
from serve.request.memo import remembering
from serve.request.place_names import PlaceNames, suggestions
from serve.request.scalars import (
    Values,
    check_bounds,
    decimal,
    flag,
    int32,
    integer,
    matching,
    one_of,
    scalar,
    unknown_value,
)
from serve.request.value_lists import items, some_of
from shards.changes.change_file import NATURES
from shards.query import DEEPEST, Query

SEARCH: Final = parameters.names(parameters.SEARCH)
EXPORT: Final = parameters.names(parameters.EXPORT)
REPARTITION: Final = parameters.names(parameters.REPARTITION)
SECTORS: Final = parameters.names(parameters.SECTORS)
SUB_SECTORS: Final = parameters.names(parameters.SUB_SECTORS)
SOURCES: Final = parameters.names(parameters.SOURCES)
MODIFICATIONS: Final = parameters.names(parameters.MODIFICATIONS)
PINNED: Final = parameters.names(parameters.PINNED)
WALK: Final = parameters.names(parameters.WATCH)
WATCHED: Final = parameters.names(parameters.WATCHED)
SUGGESTIONS: Final = parameters.names(parameters.SUGGESTIONS)
COMPARABLES: Final = parameters.names(parameters.COMPARABLES)
MARCHE: Final = parameters.names(parameters.MARCHE)

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Search:
    """The parameters of a search, before the plan limits them: `limit` in 1..1000, `offset` >= 0.

    Attributes:
        query: its `ids` are those of `companies`, which nobody has looked up yet.
        version: the generation that must answer, None for the current one.
        companies: the items of `ids`, None if it is absent (serve/generation/company_ids.py looks them up).
    """

    query: Query
    limit: int
    offset: int
    version: str | None = None
    companies: tuple[AskedCompany, ...] | None = None


@dataclass(frozen=True, slots=True)
class Export:
    """The parameters of an export; `limit` is at least 1, or None for as many as the plan allows.

    `query`, `companies` and `version` are as in `Search`.
    """

    query: Query
    limit: int | None
    lang: str
    companies: tuple[AskedCompany, ...] | None = None
    file: FileOptions = export_options.WORKBOOK
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The parameters of `/repartition`: what to count by, of `parameters.DIMENSIONS`, in their order.

    `query`, `version` and `companies` are as in `Search`; `limite` is in 1..200.
    """

    query: Query
    par: tuple[str, ...]
    limite: int
    version: str | None
    companies: tuple[AskedCompany, ...] | None = None


@dataclass(frozen=True, slots=True)
class Market:
    """The parameters of `/analyses/marche`; all are as in `Search`."""

    query: Query
    version: str | None
    companies: tuple[AskedCompany, ...] | None = None


@dataclass(frozen=True, slots=True)
class Modifications:
    """The parameters of `/modifications`; empty `pays` means all, `natures` are in fixed order.

    `version` is as in `Search`: the generation that the changes lead to.
    """

    depuis: str
    pays: tuple[str, ...]
    natures: tuple[str, ...]
    limit: int
    curseur: str | None
    version: str | None


@dataclass(frozen=True, slots=True)
class Walk:
    """The generation whose changes are told, and the page of them; `limit` is in 1..1000."""

    depuis: str
    limit: int
    curseur: str | None


@dataclass(frozen=True, slots=True)
class SourceScope:
    """The parameters of `/sources`; empty `pays` means all, `version` is as in `Search`."""

    pays: tuple[str, ...]
    version: str | None


@dataclass(frozen=True, slots=True)
class SuggestionText:
    """The parameters of `/suggestions`; empty `pays` means all, `version` is as in `Search`."""

    q: str
    pays: tuple[str, ...]
    version: str | None


@dataclass(frozen=True, slots=True)
class SearchScope:
    """Countries and sectors as codes; empty means all."""

    pays: tuple[str, ...]
    secteurs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListScope:
    """The parameters of `/secteurs` and `/sous-secteurs`; `version` is as in `Search`."""

    scope: SearchScope
    version: str | None


@dataclass(frozen=True, slots=True)
class Near:
    """How many companies `/comparables` shall have, in 1..50; `version` is as in `Search`."""

    n: int
    version: str | None


def pairs(raw: str) -> Pairs:
    """The names and values of a raw query string, in order; a blank value is kept.

    Raises:
        ApiError: 400 `parametre_invalide`: the text is not UTF-8.
    """
    try:
        return _pairs(raw)
    except UnicodeError as error:
        why = (
            "le texte n'est pas de l'UTF-8 encodé en %XX",
            "the text is not UTF-8 encoded as %XX",
        )
        raise errors.parametre_invalide("chaîne de requête", why) from error


@remembering
def _pairs(raw: str) -> Pairs:
    raw.encode()  # bytes that were not UTF-8 arrive as lone surrogates
    return tuple(parse_qsl(raw, keep_blank_values=True, errors="strict"))


def search(given: Pairs, names: PlaceNames) -> Search:
    """Read the parameters of a search (§4.4).

    Raises:
        ApiError: 400, in the order that the module describes.
    """
    values = _known(given, SEARCH)
    query, companies, limit, offset = _query(values, names)
    version = matching(values, VERSION)
    limit = min(limit or DEFAULT_LIMIT, DEEPEST)
    return Search(query, limit, offset or 0, version, companies)


def export(given: Pairs, names: PlaceNames, accepted: str | None = None) -> Export:
    """Read the parameters of an export (§4.6, F1, F2, X7).

    Args:
        accepted: the header Accept.

    Raises:
        ApiError: 400, in the order that the module describes.
    """
    values = _known(given, EXPORT)
    query, companies, limit, _ = _query(values, names)
    lang, file = one_of(values, LANG), export_options.read(values, accepted)
    return Export(query, limit, lang, companies, file, matching(values, VERSION))


def breakdown(given: Pairs, names: PlaceNames) -> Breakdown:
    """Read the parameters of `/repartition` (X3): at least one dimension. Raises ApiError 400."""
    values = _known(given, REPARTITION)
    par = some_of(values, PAR)
    if not par:
        known = ", ".join(PAR.enum)
        why = (
            f"il est obligatoire ; envoyez une ou plusieurs de ces valeurs : {known}",
            f"it is required; send one or more of these values: {known}",
        )
        raise errors.parametre_invalide(PAR.name, why, valeurs=PAR.enum)
    limite = min(integer(values, LIMITE) or int(LIMITE.default or 0), LIMITE.maximum or 0)
    query, companies, _, _ = _query(values, names)
    return Breakdown(query, par, limite, matching(values, VERSION), companies)


def market(given: Pairs, names: PlaceNames) -> Market:
    """Read the parameters of `/analyses/marche` (X11). Raises ApiError 400."""
    values = _known(given, MARCHE)
    query, companies, _, _ = _query(values, names)
    return Market(query, matching(values, VERSION), companies)


def comparables(given: Pairs) -> Near:
    """Read the parameters of `/comparables` (X11). Raises ApiError 400."""
    values = _known(given, COMPARABLES)
    n = integer(values, N)
    return Near(min(n or int(N.default or 0), N.maximum or 0), matching(values, VERSION))


def sectors(given: Pairs, names: PlaceNames) -> ListScope:
    """Read the scope of `/secteurs` (§4.2). Raises ApiError 400."""
    values = _known(given, SECTORS)
    return ListScope(_places(values, names)[0], matching(values, VERSION))


def sub_sectors(given: Pairs, names: PlaceNames) -> ListScope:
    """Read the scope of `/sous-secteurs` (§4.3): at least one sector (G4). Raises ApiError 400."""
    values = _known(given, SUB_SECTORS)
    scope = _places(values, names)[0]
    if not scope.secteurs:
        raise errors.secteur_requis()
    return ListScope(scope, matching(values, VERSION))


def sources(given: Pairs, names: PlaceNames) -> SourceScope:
    """Read the parameters of `/sources` (X9). Raises ApiError 400."""
    values = _known(given, SOURCES)
    return SourceScope(_places(values, names)[0].pays, matching(values, VERSION))


def suggestions_of(given: Pairs, names: PlaceNames) -> SuggestionText:
    """Read the parameters of `/suggestions` (X4). Raises ApiError 400."""
    values = _known(given, SUGGESTIONS)
    q = _q(values)
    if q is None:
        why = (
            "il est obligatoire ; envoyez le début d'un nom",
            "it is required; send the beginning of a name",
        )
        raise errors.parametre_invalide(Q.name, why)
    return SuggestionText(q, _places(values, names)[0].pays, matching(values, VERSION))


def modifications(given: Pairs, names: PlaceNames) -> Modifications:
    """Read the parameters of `/modifications`. Raises ApiError 400."""
    values = _known(given, MODIFICATIONS)
    depuis = _depuis(values)
    limit = integer(values, LIMIT) or DEFAULT_LIMIT
    return Modifications(
        depuis=depuis,
        pays=_places(values, names)[0].pays,
        natures=_natures(values),
        limit=min(limit, DEEPEST),
        curseur=matching(values, CURSEUR),
        version=matching(values, VERSION),
    )


def walk(given: Pairs) -> Walk:
    """Read what a walk through changes has beside its subject (X8). Raises ApiError 400."""
    values = _known(given, WALK)
    return Walk(
        depuis=_depuis(values),
        limit=min(integer(values, LIMIT) or DEFAULT_LIMIT, DEEPEST),
        curseur=matching(values, CURSEUR),
    )


def watched(given: Pairs, names: PlaceNames) -> tuple[Query, tuple[AskedCompany, ...] | None]:
    """Read the filters of a search that is watched, and the items of its `ids` (X8). Raises ApiError 400."""
    query, companies, _, _ = _query(_known(given, WATCHED), names)
    return query, companies


def _depuis(values: Values) -> str:
    depuis = matching(values, DEPUIS)
    if depuis is None:
        why = (
            "il est obligatoire ; envoyez la génération que vous avez (X-Donnees-Version)",
            "it is required; send the generation that you have (X-Donnees-Version)",
        )
        raise errors.parametre_invalide(DEPUIS.name, why)
    return depuis


def _natures(values: Values) -> tuple[str, ...]:
    found = items(values, NATURE)
    if unknown := [nature for nature in found if nature not in NATURES]:
        raise unknown_value(NATURE, unknown[0], NATURES)
    return tuple(nature for nature in NATURES if nature in found or not found)


def version(given: Pairs) -> str | None:
    """Read the generation that must answer, for a route that has no other parameter. Raises ApiError 400."""
    return matching(_known(given, PINNED), VERSION)


def nothing(given: Pairs) -> None:
    """Refuse every parameter, for a route that has none. Raises ApiError 400."""
    _known(given, ())


def _query(
    values: Values, names: PlaceNames
) -> tuple[Query, tuple[AskedCompany, ...] | None, int | None, int | None]:
    """The query, the items of `ids`, limit and offset that `values` ask for."""
    scope, sous_secteurs = _places(values, names)
    q = _q(values)
    tri = one_of(values, TRI)
    limit, offset = integer(values, LIMIT), integer(values, OFFSET)
    ca_min, ca_max = decimal(values, CA_MIN), decimal(values, CA_MAX)
    check_bounds(values, CA_MIN, ca_min, CA_MAX, ca_max)
    low = integer(values, EFFECTIF_MIN)
    high = integer(values, EFFECTIF_MAX)
    check_bounds(values, EFFECTIF_MIN, low, EFFECTIF_MAX, high)
    query = Query(
        pays=scope.pays,
        secteurs=scope.secteurs,
        sous_secteurs=sous_secteurs,
        q=q,
        tri=tri,
        ca_min=ca_min,
        ca_max=ca_max,
        effectif_min=int32(low),
        effectif_max=int32(high),
        site_web=flag(values, SITE_WEB),
        avec_ca=flag(values, AVEC_CA),
    )
    companies = filters.companies(values, names)
    return filters.narrowed(query, companies, values, names), companies, limit, offset


def _q(values: Values) -> str | None:
    q = unicodedata.normalize("NFC", scalar(values, Q.name))
    if len(q) > LONGEST_Q:
        why = (
            f"{len(q)} caractères, au plus {LONGEST_Q} ; raccourcissez la recherche",
            f"{len(q)} characters, at most {LONGEST_Q}; shorten the search",
        )
        raise errors.parametre_invalide(Q.name, why)
    return q or None


# -- names -------------------------------------------------------------------------


def _known(given: Pairs, allowed: Sequence[str]) -> Values:
    """The trimmed values by parameter; an unknown name is an error (B6)."""
    values: dict[str, list[str]] = {}
    for name, value in given:
        values.setdefault(name, []).append(value.strip())
    if unknown := [name for name in values if name not in allowed]:
        alike = suggestions(unknown, parameters.spellings(tuple(allowed)))
        raise errors.parametre_inconnu(unknown, allowed, alike)
    return values


# -- lists: countries, sectors, sub-sectors ------------------------------------------


def _places(values: Values, names: PlaceNames) -> tuple[SearchScope, tuple[str, ...] | None]:
    """Read countries, sectors and sub-sectors; one error reports all unknown ones (B4)."""
    pays = items(values, PAYS)
    secteurs = items(values, SECTEUR)
    sous_secteurs = items(values, SOUS_SECTEUR)
    countries, no_country = _codes(pays, names.country)
    divisions, no_sector = _codes(secteurs, names.sector)
    groups, no_sub_sector = _groups(sous_secteurs, divisions, names)
    if no_country or no_sector or (no_sub_sector and secteurs):
        raise _unknown(no_country, no_sector, no_sub_sector, names)
    if sous_secteurs and not secteurs:
        why = (
            "ne s'applique qu'avec secteur ; ajoutez secteur=…",
            "applies only together with secteur; add secteur=…",
        )
        raise errors.parametre_invalide("sous_secteur", why)
    return SearchScope(countries, divisions), groups if sous_secteurs else None


def _unknown(
    no_country: Sequence[str],
    no_sector: Sequence[str],
    no_sub_sector: Sequence[str],
    names: PlaceNames,
) -> ApiError:
    alike = (
        suggestions(no_country, names.pays_alike)
        | suggestions(no_sector, names.secteurs_alike)
        | suggestions(no_sub_sector, names.sous_secteurs_alike)
    )
    if no_country:
        others = {"secteurs_inconnus": no_sector, "sous_secteurs_inconnus": no_sub_sector}
        found = {name: unknown for name, unknown in others.items() if unknown}
        return errors.pays_inconnu(no_country, alike, **found)
    return errors.secteur_inconnu(no_sector, alike, no_sub_sector)


def _codes(
    words: Sequence[str], meaning: Callable[[str], str | None]
) -> tuple[tuple[str, ...], list[str]]:
    """The codes that `words` mean, sorted, without duplicates; and the words without a meaning."""
    if not words:
        return (), []
    codes = {word: meaning(word) for word in words}
    known = {code for code in codes.values() if code is not None}
    return tuple(sorted(known)), [word for word, code in codes.items() if code is None]


def _groups(
    labels: Iterable[str], divisions: Sequence[str], names: PlaceNames
) -> tuple[tuple[str, ...], list[str]]:
    """The groups of `labels` within `divisions` (B10), possibly none (B9); and the unknown labels."""
    found = {label: names.sub_sectors(label, divisions) for label in labels}
    known = {group for groups in found.values() for group in groups or ()}
    return tuple(sorted(known)), [label for label, groups in found.items() if groups is None]
