"""The body of `POST /api/v1/rapprochement`, read as lines to match (extensions X5).

A fault of the body refuses the request. A fault of a line becomes the answer to this line, and the other lines are
matched. A placeholder (`n/a`) counts as absent. A country or a date that cannot be read is left out; an unreadable
number is still looked up, but is no evidence against a company. `Line.illisibles` names all three. Pure.
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

# A line needs at least one of these fields; the others are evidence.
IDENTIFYING_FIELDS: Final = ("nom", "id", "tva", "lei")
_NUMBERS: Final = ("id", "tva", "lei")  # the fields with a number of a company

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

# The names of the members of a body, and of a line.
MEMBERS: Final = names_of(DemandeRapprochement)
FIELDS: Final = names_of(LigneDonnee)


class ListedLine(NamedTuple):
    """A line and its key. `line` is None if it cannot be matched; `error` then says why."""

    cle: str | None
    line: Line | None
    error: ApiError | None = None


class LineList(NamedTuple):
    """The lines of a request and its options.

    Attributes:
        limite: the most candidates of a line.
        version: the generation that must answer, None for the current one.
        colonnes: the company fields to return with each line that is `sur` or `probable`.
    """

    lines: tuple[ListedLine, ...]
    limite: int
    version: str | None
    colonnes: tuple[str, ...] = ()


def read(raw: bytes, names: PlaceNames) -> LineList:
    """Read the lines of a body.

    Raises:
        ApiError: 400: the body is not a list of lines, or two lines have the same key; 413: it has too many lines.
    """
    try:
        document = json_body.loads(raw, json_body.unique_members)
    except ValueError as error:
        raise ApiError("corps_invalide", json_body.why_unreadable(raw, error)) from error
    return read_document(document, names)


def read_document(document: Any, names: PlaceNames) -> LineList:
    """Read the lines of a body that is parsed already. Raises ApiError: 400, 413."""
    if not isinstance(document, dict) or not isinstance(document.get("lignes"), list):
        example = '{"lignes": [{"cle": "1", "nom": "Siemens"}]}'
        raise ApiError("corps_invalide", "lignes_absentes", example=example)
    if unknown := [name[:100] for name in document if name not in MEMBERS]:
        raise errors.unknown_parameters(unknown, MEMBERS, {})
    items = document["lignes"]
    if len(items) > MOST_LINES:
        raise ApiError("trop_de_lignes", count=len(items), most=MOST_LINES)
    lines = tuple(_list_line(item, names) for item in items)
    _check_keys(lines)
    version = document.get("version")
    if version is not None and not isinstance(version, str):
        why = json_body.why_other_type(version, errors.text("chaine"))
        raise errors.invalid_parameter("version", why)
    limit = _limit(document.get("limite", DEFAULT_CANDIDATES))
    return LineList(lines, limit, version or None, _columns(document.get("colonnes")))


def _columns(value: Any) -> tuple[str, ...]:
    """Read company fields from an array or a comma-separated text; each once, in the order given."""
    items = value.split(",") if isinstance(value, str) else [] if value is None else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        why = json_body.why_other_type(value, errors.text("noms_de_champs"))
        raise errors.invalid_parameter("colonnes", why)
    names = [item.strip() for item in items if item.strip()]
    if unknown := [name[:50] for name in names if name not in COMPANY_FIELDS]:
        field = repr(unknown[0])
        raise errors.invalid_parameter(
            "colonnes", "champ_inconnu_admis", shown=field, known=", ".join(COMPANY_FIELDS)
        )
    return tuple(dict.fromkeys(names))


def _limit(value: Any) -> int:
    """The most candidates of a line. Raises ApiError 400."""
    if isinstance(value, float) and value.is_integer():  # 3.0 is a whole number in JSON Schema
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_CANDIDATES:
        return value
    why = json_body.why_other_type(value, errors.text("entier_entre", most=MOST_CANDIDATES))
    raise errors.invalid_parameter("limite", why)


def _check_keys(lines: tuple[ListedLine, ...]) -> None:
    """Raise ApiError 400 if two lines have the same key."""
    keys = [line.cle for line in lines if line.cle is not None]
    earlier_keys: set[str] = set()
    for key in keys:
        if key in earlier_keys:
            raise errors.invalid_parameter("cle", "cle_double", shown=repr(key[:100]))
        earlier_keys.add(key)


def _list_line(item: Any, names: PlaceNames) -> ListedLine:
    """Read a line, or the error of a line that cannot be matched."""
    key = None
    try:
        if not isinstance(item, Mapping):
            raise ApiError("ligne_invalide", json_body.why_other_type(item, errors.text("objet")))
        key = _text(item, "cle")
        if unknown := [name[:50] for name in item if name not in FIELDS]:
            raise ApiError(
                "ligne_invalide", "membre_inconnu", shown=repr(unknown[0]), known=", ".join(FIELDS)
            )
        if key is None:
            raise ApiError("ligne_invalide", "cle_absente")
        return ListedLine(key, _line_to_match(item, names))
    except ApiError as error:
        return ListedLine(key, None, error)


def _line_to_match(members: Mapping[str, Any], names: PlaceNames) -> Line:
    """The values of a line, read and cleaned. Raises ApiError if the line has neither a number nor a name."""
    notation = seed_tables.number_notation()
    texts = {name: _text(members, name) for name in FIELDS}
    countries, unreadable = _countries(texts.pop("pays"), names)
    texts |= {name: None for name, text in texts.items() if _is_absent(name, text)}
    numbers = [name for name in _NUMBERS if texts[name]]
    readable = [name for name in numbers if notation.read(texts[name] or "").is_number]
    # An identifier may be any text, so unreadable numbers are looked up too, but are no evidence against a company.
    unreadable += [f"{name}_illisible" for name in numbers if name not in readable]
    if readable and _is_empty_value(texts["nom"]):
        texts["nom"] = None  # a company may have the name `n/a`, but a number is better evidence
    if not readable and not fold(texts["nom"] or ""):
        raise ApiError("ligne_invalide", _why_empty(members))
    if given_date := texts["date_creation"]:
        listed = listed_date(given_date)
        texts["date_creation"] = listed.iso if listed else None
        if listed is None or listed.is_ambiguous:
            unreadable.append("date_ambigue" if listed else "date_illisible")
    values = {name: texts[name] for name in FIELDS if name in texts and name != "cle"}
    return Line(pays=countries, illisibles=tuple(unreadable), **values)


def _is_absent(name: str, text: str | None) -> bool:
    """Whether a value is absent or a placeholder. A key or a name may be any text."""
    if name in ("cle", "nom") or text is None:
        return text is None
    if name in _NUMBERS:
        return seed_tables.number_notation().is_no_number(text)
    return _is_empty_value(text)


def _is_empty_value(text: str | None) -> bool:
    """Whether a text is absent or a placeholder such as `n/a`."""
    return text is None or seed_tables.number_notation().is_placeholder(text)


def _why_empty(members: Mapping[str, Any]) -> Text:
    """The error text of a line that names no company, with its unreadable number if it has one."""
    for name in _NUMBERS:
        text = _text(members, name)
        if text and not _is_absent(name, text):
            return errors.text("numero_illisible", name=name, shown=repr(text[:50]))
    return errors.text("ligne_vide")


def _countries(text: str | None, names: PlaceNames) -> tuple[tuple[str, ...], list[str]]:
    """The codes of countries, and `pays_illisible` if a country could not be read.

    A country without companies in the base is kept: a company of this name is then in another country.
    """
    codes: list[str] = []
    unreadable: list[str] = []
    # `country` reads the countries of the base as the API does, `find_country` all countries as people write them.
    is_one_name = text is None or _is_empty_value(text) or names.find_country(text) is not None
    for word in [text or ""] if is_one_name else re.split("[,;|/]", text or ""):
        code = names.country(word)
        if code is None and not _is_empty_value(word):  # `NA` is a placeholder, not Namibia
            code = names.find_country(word)
            unreadable += [] if code else ["pays_illisible"]
        codes += [code] if code else []
    return tuple(dict.fromkeys(codes)), unreadable[:1]


def _text(members: Mapping[str, Any], name: str) -> str | None:
    """A member as text: a number as its digits, null and blanks as None. Raises ApiError: another type, or too long."""
    value = members.get(name)
    # pandas writes whole numbers as floats if a cell of the column is empty.
    if isinstance(value, float) and value.is_integer():
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
