"""The body of `POST /api/v1/rapprochement` as lines to match (extensions X5).

What is wrong with the body refuses it; what is wrong with a line is answered in its place, and the others are served.
A placeholder (`n/a`) is no value. A number, a country or a date that cannot be read is left out, and said. Pure.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple

from serve.contract import errors, seed_tables
from serve.contract.declaration import AbsentKey, Component, DeclaredObject, Keywords, names_of
from serve.contract.errors import ApiError
from serve.contract.feature import BodyExample
from serve.contract.parameters import DEFAULT_CANDIDATES, LONGEST_VALUE, MOST_CANDIDATES, MOST_LINES
from serve.contract.text import Text
from serve.request import json_body
from serve.request.place_names import PlaceNames
from serve.request.scalars import listed_date
from shards.codec.folding import fold
from shards.codec.record import FIELDS as COMPANY_FIELDS
from shards.matching.line import Line

LARGEST: Final = 1 << 20  # bytes

# What a line may go by; the others are evidence.
TO_GO_BY: Final = ("nom", "id", "tva", "lei")
_NUMBERS: Final = ("id", "tva", "lei")

Donnee = Annotated[str, Keywords(type=["string", "number", "null"], maxLength=LONGEST_VALUE)]


class LigneDonnee(DeclaredObject, closed=True):
    cle: Donnee | AbsentKey
    nom: Donnee | AbsentKey
    pays: Donnee | AbsentKey
    id: Donnee | AbsentKey
    tva: Donnee | AbsentKey
    ville: Donnee | AbsentKey
    code_postal: Donnee | AbsentKey
    date_creation: Donnee | AbsentKey
    adresse: Donnee | AbsentKey
    activite: Donnee | AbsentKey
    site_web: Donnee | AbsentKey
    email: Donnee | AbsentKey
    lei: Donnee | AbsentKey


Lignes = Annotated[Sequence[LigneDonnee], Keywords(maxItems=MOST_LINES)]
Limite = Annotated[int, Keywords(minimum=1, maximum=MOST_CANDIDATES, default=DEFAULT_CANDIDATES)]
Colonne = Annotated[str, Keywords(enum=list(COMPANY_FIELDS))]


class DemandeRapprochement(Component, closed=True):
    lignes: Lignes
    limite: Limite | AbsentKey
    colonnes: Sequence[Colonne] | AbsentKey | None
    version: str | AbsentKey | None


BODIES: Final = (
    BodyExample(
        "lines",
        Text("Une société britannique", "A British company"),
        {
            "lignes": [
                {
                    "cle": "1",
                    "nom": "Royal Tool Control Limited",
                    "pays": "UK",
                    "ville": "Sheffield",
                }
            ]
        },
    ),
)

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
        raise ApiError("corps_invalide", json_body.why_unreadable(raw, error)) from error
    return of_document(document, names)


def of_document(document: Any, names: PlaceNames) -> LineList:
    """The lines of a JSON value that is the body of a request. Raises ApiError as `read` does."""
    if not isinstance(document, dict) or not isinstance(document.get("lignes"), list):
        example = '{"lignes": [{"cle": "1", "nom": "Siemens"}]}'
        raise ApiError("corps_invalide", "lignes_absentes", example=example)
    if unknown := [name[:100] for name in document if name not in MEMBERS]:
        raise errors.unknown_parameters(unknown, MEMBERS, {})
    given = document["lignes"]
    if len(given) > MOST_LINES:
        raise ApiError("trop_de_lignes", count=len(given), most=MOST_LINES)
    lines = tuple(_list_line(one, names) for one in given)
    _check_keys(lines)
    version = document.get("version")
    if version is not None and not isinstance(version, str):
        why = json_body.why_other_type(version, errors.text("chaine"))
        raise errors.invalid_parameter("version", why)
    limit = _limit(document.get("limite", DEFAULT_CANDIDATES))
    return LineList(lines, limit, version or None, _columns(document.get("colonnes")))


def _columns(value: Any) -> tuple[str, ...]:
    """Fields of a company, as a list or separated by commas, in the order in which they are named."""
    given = value.split(",") if isinstance(value, str) else [] if value is None else value
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        why = json_body.why_other_type(value, errors.text("noms_de_champs"))
        raise errors.invalid_parameter("colonnes", why)
    names = [one.strip() for one in given if one.strip()]
    if unknown := [one[:50] for one in names if one not in COMPANY_FIELDS]:
        shown = repr(unknown[0])
        raise errors.invalid_parameter(
            "colonnes", "champ_inconnu_admis", shown=shown, known=", ".join(COMPANY_FIELDS)
        )
    return tuple(dict.fromkeys(names))


def _limit(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():  # 3.0 is a whole number in JSON Schema
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_CANDIDATES:
        return value
    why = json_body.why_other_type(value, errors.text("entier_entre", most=MOST_CANDIDATES))
    raise errors.invalid_parameter("limite", why)


def _check_keys(lines: tuple[ListedLine, ...]) -> None:
    keys = [one.cle for one in lines if one.cle is not None]
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            shown = repr(key[:100])
            raise errors.invalid_parameter("cle", "cle_double", shown=shown)
        seen.add(key)


def _list_line(given: Any, names: PlaceNames) -> ListedLine:
    """A line, or what is wrong with it."""
    key = None
    try:
        if not isinstance(given, Mapping):
            raise ApiError("ligne_invalide", json_body.why_other_type(given, errors.text("objet")))
        key = _text(given, "cle")
        if unknown := [name[:50] for name in given if name not in FIELDS]:
            known = ", ".join(FIELDS)
            raise ApiError("ligne_invalide", "membre_inconnu", shown=repr(unknown[0]), known=known)
        if key is None:
            raise ApiError("ligne_invalide", "cle_absente")
        return ListedLine(key, _line(given, names))
    except ApiError as error:
        return ListedLine(key, None, error)


def _line(given: Mapping[str, Any], names: PlaceNames) -> Line:
    notation = seed_tables.number_notation()
    texts = {name: _text(given, name) for name in FIELDS}
    countries, unreadable = _countries(texts.pop("pays"), names)
    texts |= {name: None for name, text in texts.items() if _is_absent(name, text)}
    numbers = [name for name in _NUMBERS if texts[name]]
    readable = [name for name in numbers if notation.read(texts[name] or "").is_number]
    # An identifier may be any text, so the others are looked up too; but they are no evidence against a company.
    unreadable += [f"{name}_illisible" for name in numbers if name not in readable]
    if readable and _is_nothing(texts["nom"]):
        texts["nom"] = None  # a company may be called `n/a`, but a number says more
    if not readable and not fold(texts["nom"] or ""):
        raise ApiError("ligne_invalide", _why_empty(given))
    if given_date := texts["date_creation"]:
        listed = listed_date(given_date)
        texts["date_creation"] = listed.iso if listed else None
        if listed is None or listed.is_ambiguous:
            unreadable.append("date_ambigue" if listed else "date_illisible")
    values = {name: texts[name] for name in FIELDS if name in texts and name != "cle"}
    return Line(pays=countries, illisibles=tuple(unreadable), **values)


def _is_absent(name: str, text: str | None) -> bool:
    """Is a value a placeholder? A key may be any text, and so may a name."""
    if name in ("cle", "nom") or text is None:
        return text is None
    if name in _NUMBERS:
        return seed_tables.number_notation().is_no_number(text)
    return _is_nothing(text)


def _is_nothing(text: str | None) -> bool:
    return text is None or seed_tables.number_notation().is_placeholder(text)


def _why_empty(given: Mapping[str, Any]) -> Text:
    """Why a line has nothing to go by, with the number that cannot be read."""
    for name in _NUMBERS:
        text = _text(given, name)
        if text and not _is_absent(name, text):
            return errors.text("numero_illisible", name=name, shown=repr(text[:50]))
    return errors.text("ligne_vide")


def _countries(text: str | None, names: PlaceNames) -> tuple[tuple[str, ...], list[str]]:
    """The codes of countries, and the code of what could not be read of them.

    A country of which the base has no company is one: a company of the name is one of another country.
    """
    found: list[str] = []
    unreadable: list[str] = []
    whole = text is None or _is_nothing(text) or names.named_country(text) is not None
    for word in [text or ""] if whole else re.split("[,;|/]", text or ""):
        code = names.country(word)
        if code is None and not _is_nothing(word):  # NA is no value rather than Namibia
            code = names.named_country(word)
            unreadable += [] if code else ["pays_illisible"]
        found += [code] if code else []
    return tuple(dict.fromkeys(found)), unreadable[:1]


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
        why = json_body.why_other_type(value, errors.text("chaine_ou_nombre"))
        raise ApiError("ligne_invalide", "membre", name=name, fault=why)
    if (count := len(value)) > LONGEST_VALUE:
        raise ApiError(
            "ligne_invalide", "membre_trop_long", name=name, count=count, most=LONGEST_VALUE
        )
    return value.strip() or None
