"""The body of `POST /api/v1/rapprochement` as lines to match (extensions X5).

What is wrong with the body refuses it; what is wrong with a line is answered in its place, and the others are served.
Nothing unknown is ignored. Pure.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.limits import DEFAULT_CANDIDATES, LONGEST_VALUE, MOST_CANDIDATES, MOST_LINES
from serve.contract.objects.bodies import DemandeRapprochement, LigneDonnee
from serve.contract.objects.declaration import names_of
from serve.request import json_body
from serve.request.dates import iso_date
from serve.request.place_names import PlaceNames
from shards.codec.folding import fold, fold_id
from shards.codec.record import FIELDS as COMPANY_FIELDS
from shards.search.matching.line import Line

LARGEST: Final = 1 << 20  # bytes

MEMBERS: Final = names_of(DemandeRapprochement)
FIELDS: Final = names_of(LigneDonnee)


class ListedLine(NamedTuple):
    """A line with its key; either the line can be matched, or `error` says why not."""

    cle: str | None
    line: Line | None
    error: ApiError | None = None


class LineList(NamedTuple):
    """The lines of a request, and how many candidates each may have.

    Attributes:
        colonnes: the fields whose values are wanted of companies that lines mean.
    """

    lines: tuple[ListedLine, ...]
    limite: int
    version: str | None
    colonnes: tuple[str, ...] = ()


def read(raw: bytes, names: PlaceNames) -> LineList:
    """The lines of a body.

    Raises:
        ApiError: 400: this is no list of lines, or two lines have one key; 413: it has too many lines.
    """
    try:
        document = json_body.loads(raw, json_body.unique_members)
    except ValueError as error:
        raise errors.corps_invalide(json_body.why_unreadable(raw, error)) from error
    return of_document(document, names)


def of_document(document: Any, names: PlaceNames) -> LineList:
    """The lines of a JSON value that is the body of a request. Raises ApiError as `read` does."""
    if not isinstance(document, dict) or not isinstance(document.get("lignes"), list):
        example = '{"lignes": [{"cle": "1", "nom": "Siemens"}]}'
        why = errors.why("lignes_absentes", example=example)
        raise errors.corps_invalide(why)
    if unknown := [name[:100] for name in document if name not in MEMBERS]:
        raise errors.parametre_inconnu(unknown, MEMBERS, {})
    given = document["lignes"]
    if len(given) > MOST_LINES:
        raise errors.trop_de_lignes(len(given), MOST_LINES)
    lines = tuple(_list_line(one, names) for one in given)
    _check_keys(lines)
    version = document.get("version")
    if version is not None and not isinstance(version, str):
        why = json_body.why_other_type(version, errors.why("chaine"))
        raise errors.parametre_invalide("version", why)
    limit = _limit(document.get("limite", DEFAULT_CANDIDATES))
    return LineList(lines, limit, version or None, _columns(document.get("colonnes")))


def _columns(value: Any) -> tuple[str, ...]:
    """Fields of a company, as a list or separated by commas, in the order in which they are named."""
    given = value.split(",") if isinstance(value, str) else [] if value is None else value
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        why = json_body.why_other_type(value, errors.why("noms_de_champs"))
        raise errors.parametre_invalide("colonnes", why)
    names = [one.strip() for one in given if one.strip()]
    if unknown := [one[:50] for one in names if one not in COMPANY_FIELDS]:
        shown = repr(unknown[0])
        why = errors.why("champ_inconnu_admis", shown=shown, known=", ".join(COMPANY_FIELDS))
        raise errors.parametre_invalide("colonnes", why)
    return tuple(dict.fromkeys(names))


def _limit(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():  # 3.0 is a whole number in JSON Schema
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_CANDIDATES:
        return value
    why = json_body.why_other_type(value, errors.why("entier_entre", most=MOST_CANDIDATES))
    raise errors.parametre_invalide("limite", why)


def _check_keys(lines: tuple[ListedLine, ...]) -> None:
    keys = [one.cle for one in lines if one.cle is not None]
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            shown = repr(key[:100])
            why = errors.why("cle_double", shown=shown)
            raise errors.parametre_invalide("cle", why)
        seen.add(key)


def _list_line(given: Any, names: PlaceNames) -> ListedLine:
    """A line, or what is wrong with it."""
    key = None
    try:
        if not isinstance(given, Mapping):
            raise errors.ligne_invalide(json_body.why_other_type(given, errors.why("objet")))
        key = _text(given, "cle")
        if unknown := [name[:50] for name in given if name not in FIELDS]:
            known = ", ".join(FIELDS)
            raise errors.ligne_invalide(
                errors.why("membre_inconnu", shown=repr(unknown[0]), known=known)
            )
        if key is None:
            raise errors.ligne_invalide(errors.why("cle_absente"))
        return ListedLine(key, _line(given, names))
    except ApiError as error:
        return ListedLine(key, None, error)


def _line(given: Mapping[str, Any], names: PlaceNames) -> Line:
    texts = {name: _text(given, name) for name in FIELDS}
    nom, id_, tva = texts["nom"], texts["id"], texts["tva"]
    if not (fold(nom or "") or fold_id(id_ or "") or fold_id(tva or "")):
        raise errors.ligne_invalide(errors.why("ligne_vide"))
    given_date = texts["date_creation"]
    date = iso_date(given_date) if given_date else None
    if given_date and not date:
        raise errors.ligne_invalide(errors.why("date_creation", shown=repr(given_date[:50])))
    return Line(
        nom, _countries(texts["pays"], names), id_, tva, texts["ville"], texts["code_postal"], date,
        texts["adresse"], texts["activite"], texts["site_web"], texts["email"],
    )  # fmt: skip


def _countries(text: str | None, names: PlaceNames) -> tuple[str, ...]:
    found = []
    for word in text.split(",") if text else ():
        code = names.country(word) or names.pays_alike.get(fold(word))
        if code is None:
            shown = repr(word.strip()[:50])
            why = errors.why("pays_de_ligne", shown=shown)
            raise errors.ligne_invalide(why)
        found.append(code)
    return tuple(dict.fromkeys(found))


def _text(given: Mapping[str, Any], name: str) -> str | None:
    """A member as text; a number counts as its digits, null and blanks as absent."""
    value = given.get(name)
    if isinstance(value, float) and value.is_integer():  # what pandas makes of a column with a gap
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if value is None:
        return None
    if not isinstance(value, str):
        why = json_body.why_other_type(value, errors.why("chaine_ou_nombre"))
        raise errors.ligne_invalide(errors.why("membre", name=name, why=why))
    if (count := len(value)) > LONGEST_VALUE:
        why = errors.why("membre_trop_long", name=name, count=count, most=LONGEST_VALUE)
        raise errors.ligne_invalide(why)
    return value.strip() or None
