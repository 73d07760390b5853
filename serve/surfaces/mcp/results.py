"""The call and the result of a tool, before the protocol wraps it: the text of a refusal, the size and the schema of a
result.

A refusal is written for a model, in English: the meaning of the error and its remedy, then the message
of the route, which names the values. Values that a caller sent are cut, so that a response stays small.

A schema (JSON Schema 2020-12) is that of the answer of the route, without texts and with the keys that the tool shows,
whose names are French as in the API. The tools leave out keys that are null there, so only keys that are always there
are required.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import orjson

from quota import plans
from serve.access import counter_headers
from serve.access.call import Content, Result
from serve.contract import company_fields, feature
from serve.contract.answers import Activite
from serve.contract.company_answers import TexteVoulu
from serve.contract.declaration import AbsentKey, Schema, component_schema
from serve.contract.errors import CODES, ApiError
from serve.observe.metrics import REFUSALS
from serve.request.reader import Pairs

LARGEST: Final = 64 * 1024  # bytes of the response of any tool, in total
AROUND: Final = 1_024  # bytes of the message around a result
_LONGEST_TEXT: Final = 1_000  # characters of one value of a company
_LENGTHS: Final = (_LONGEST_TEXT, 200, 50, 10)  # characters of a text, items of a list
# The headers of a route's response that are also true of a tool: a tag or a location is not.
_KEPT_HEADERS: Final = ("X-Quota-", "X-Credits-", "X-Plafond-", "RateLimit", "Retry-After")

_MOST_VALUES: Final = 10  # values of a list
_LONGEST_VALUE: Final = 200  # characters of a value
_LONGEST_MESSAGE: Final = 1_500  # characters of a message, which contains such values

# Items of `ids_inconnus` that are shown.
_MOST_UNKNOWN: Final = 50
# Classes of `activites_comprises` that are shown.
_MOST_CLASSES: Final = 20

# By code, in the words of the tools.
_REMEDIES: Final[Mapping[str, str]] = {
    "pays_inconnu": "Call list_countries for the codes.",
    "secteur_inconnu": "Call list_sectors for the slugs of sectors, list_subsectors for the labels "
    "of the sub-sectors of a sector.",
    "identifiant_invalide": "Take `id` as search_companies gives it.",
    "societe_introuvable": "Try one of `proches`, else find it with search_companies: q takes "
    "a part of the name, or the first characters of the identifier.",
    "cle_invalide": "Tell the user to correct the key in the Authorization header of this MCP "
    "server's configuration, or to remove the header.",
    "credits_epuises": "Without etats_financiers the same company costs no credits.",
    "quota_api": "explain_plan tells when the counters begin again.",
    "trop_de_requetes": "Wait, then call again.",
}


class ToolResult(NamedTuple):
    """The result of a tool.

    Attributes:
        document: JSON that fits the schema of the tool; None where there is nothing to show.
        refusal: the text of an error, or "".
        outcome: as in `Response`.
    """

    document: Mapping[str, Any] | None
    headers: Mapping[str, str]
    refusal: str = ""
    outcome: str = ""


def of_result(result: Result[Content], document: Mapping[str, Any] | None) -> ToolResult:
    """The result of a tool from that of its route, showing `document`.

    A refused result may show something all the same: for an invalid key (A1), or without credits (D10).
    """
    refusal = text(result.error) if result.error else ""
    return ToolResult(document, _counter_headers(result.headers), refusal, result.outcome)


def of_error(error: ApiError, document: Mapping[str, Any] | None = None) -> ToolResult:
    """A call that was refused; `document` is what the caller sees all the same."""
    outcome = error.code if error.code in REFUSALS else ""
    return ToolResult(document, _counter_headers(error.headers), text(error), outcome)


def text(error: ApiError) -> str:
    """An error in a few lines: its meaning and remedy, its message, its values."""
    meaning = f"{error.code}: {CODES[error.code].meaning.en}. {_remedy(error)}".strip()
    # The names of the arguments are ours, and few.
    beside = {
        name: value if name == "parametres_admis" else _shorten_value(value)
        for name, value in error.extra.items()
    }
    lines = [meaning, _shorten(error.texts[1], _LONGEST_MESSAGE)]
    return "\n".join(lines + ([orjson.dumps(beside).decode()] if beside else []))


def credits(headers: Mapping[str, str]) -> dict[str, int]:
    """What a call cost, and what is left, where its route says so."""
    names = {"credits_debites": "X-Credits-Debites", "credits_restants": "X-Credits-Restants"}
    return {name: int(headers[header]) for name, header in names.items() if header in headers}


def pick(answer: object, names: Sequence[str]) -> dict[str, Any]:
    """Some fields of an object of an answer."""
    return {name: getattr(answer, name) for name in names}


def unknown_part(items: Sequence[str]) -> dict[str, Any]:
    """Items of `ids` that name no company, if there are some."""
    return {"ids_inconnus": shorten(items, _MOST_UNKNOWN)} if items else {}


def understood_part(classes: Sequence[Activite] | AbsentKey) -> dict[str, Any]:
    """The classes that words name, if there are some."""
    some = () if isinstance(classes, AbsentKey) else classes[:_MOST_CLASSES]
    shown = [pick(one, ("nace", "libelle_en")) for one in some]
    return {"activites_comprises": shown} if shown else {}


def argument_value(pairs: Pairs, name: str) -> str:
    """The value of an argument that is no list, trimmed; "" if it was not given."""
    return dict(pairs).get(name, "").strip()


def _remedy(error: ApiError) -> str:
    if "supprimee_le" in error.extra:
        return "It is not there any more: tell the user so."
    if error.code == "trop_de_requetes" and counter_headers.is_of_day(error.headers):
        return _tomorrow_remedy()
    allowed = error.extra.get("parametres_admis")
    if allowed is None:
        return _REMEDIES.get(error.code, "")
    if not allowed:
        return "No arguments are expected: call the tool again with {}."
    return f"Call it again with these only: {', '.join(allowed)}."


@cache
def _tomorrow_remedy() -> str:
    """The remedy for a visitor whose address has used up the calls of the day (D7)."""
    free = plans.load()["free"]
    return (
        "Without a key there are no more until midnight UTC. A key has calls of its own: "
        f"{free.appels_api_par_jour} a day on the free plan, {free.nom_en} (`{free.slug}`)."
    )


def _counter_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.startswith(_KEPT_HEADERS)}


def _shorten_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            _shorten(str(name)): _shorten_value(part)
            for name, part in list(value.items())[:_MOST_VALUES]
        }
    if isinstance(value, (list, tuple)):
        more = len(value) - _MOST_VALUES
        shown = [_shorten_value(part) for part in value[:_MOST_VALUES]]
        return shown if more <= 0 else [*shown, f"… and {more} more"]
    return _shorten(value) if isinstance(value, str) else value


def _shorten(value: str, longest: int = _LONGEST_VALUE) -> str:
    return f"{value[:longest]}…" if len(value) > longest else value


# -- sizes: a result is sent twice, as JSON and as the text of that JSON (MCP, "Structured Content") --


def fits(document: Any, room: int = 0) -> bool:
    """Is a result with this document small enough to be sent, and `room` bytes more?"""
    return size(document) + room <= LARGEST - AROUND


def size(document: Any) -> int:
    """The bytes that a document takes in a response."""
    text = orjson.dumps(document)
    return len(text) + len(orjson.dumps(text.decode()))


def longest_fitting(items: list[Any], document: Callable[[list[Any]], Any]) -> list[Any]:
    """The first of `items`, as many as make a `document` that fits."""
    while items and not fits(document(items)):
        items = items[: len(items) * 3 // 4]
    return items


def shorten_to_fit(value: Any, room: int) -> Any:
    """A value, cut no further than it must be to take at most `room` bytes in a response."""
    for longest in _LENGTHS:
        shown = shorten(value, longest)
        if size(shown) <= room:
            return shown
    raise ValueError(f"{size(shown)} bytes are left of {size(value)}, {room} are allowed")


def shorten(value: Any, longest: int) -> Any:
    """A value with its texts cut at `longest` characters and its lists at as many items; what was cut says so."""
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]}…"
    if isinstance(value, Mapping):
        return {name: shorten(part, longest) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        more = len(value) - longest
        shown = [shorten(part, longest) for part in value[:longest]]
        return shown if more <= 0 else [*shown, f"… and {more} more"]
    return value


def known_values(company: dict[str, Any]) -> dict[str, Any]:
    """The values of a company that are known: no nulls, and no text longer than a paragraph."""
    return {name: _shorten_text(value) for name, value in company.items() if value is not None}


def _shorten_text(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]}…"
    return value


def in_words(document: Mapping[str, Any]) -> dict[str, Any]:
    """An object without nulls, and without the code of a reason: a model reads its words."""
    return {
        name: value for name, value in known_values(dict(document)).items() if name != "motif_code"
    }


# -- schemas of results -------------------------------------------------------------------

# The fields of a company in a search: enough to choose one, not to describe it.
COMPACT: Final = tuple(field.champ for field in company_fields.fields() if field.in_tools)
_COMPANY_KEYS: Final = ("iso2", "id", "nom")

TEXT: Final[Schema] = {"type": "string"}
OBJECT: Final[Schema] = {"type": "object"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
COMPANY_COUNT: Final[Schema] = {**COUNT, "description": "Companies."}
NOTE: Final = {"note": {**TEXT, "description": "What to do next, in English."}}
CREDITS: Final = {"credits_debites": COUNT, "credits_restants": COUNT}
# Keys of a caller's plan that a tool tells in its own way, or not at all.
_KEYS_OF_THE_PLAN: Final = ("module", "plan_souscrit", "outil_api", "offre_suivante", "motif_code")


def answer_schema(
    kind: Any, *names: str, further: Mapping[str, Schema] | None = None, **said: Schema
) -> Schema:
    """The schema of an answer, or of a part of one, with its fields `names`, or else all but those of the plan.

    Args:
        further: keys that the tool alone has, and may leave out.
        said: fields that a tool describes in words of its own, and keys that it alone has and always shows.
    """
    declared = component_schema(kind, "en")
    own = declared["properties"]
    shown = names or tuple(name for name in own if name not in _KEYS_OF_THE_PLAN)
    properties = {
        name: said[name] if name in said else _without_texts(own[name])
        for name in dict.fromkeys((*shown, *said))
    }
    always = [
        name
        for name, schema in properties.items()
        if name not in own
        or (name in declared["required"] and _allows_null(own[name]) <= _allows_null(schema))
    ]
    return object_of(properties | dict(further or {}), always)


def object_of(properties: Mapping[str, Schema], required: Sequence[str]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _allows_null(schema: Schema) -> bool:
    return "null" in schema.get("type", ()) or {"type": "null"} in schema.get("anyOf", ())


def _without_texts(schema: Schema) -> Schema:
    """A schema without texts and without null; an object has no more than its type."""
    if "anyOf" in schema:
        return _without_texts(schema["anyOf"][0])
    if "$ref" in schema:
        schema = _components().get(schema["$ref"].rpartition("/")[2], OBJECT)
    kind = schema["type"]
    kept = {"type": kind[0] if isinstance(kind, list) else kind}
    if "minimum" in schema:
        kept["minimum"] = schema["minimum"]
    return kept | ({"items": _without_texts(schema["items"])} if "items" in schema else {})


@cache
def _components() -> Mapping[str, Schema]:
    return feature.component_schemas("en")


def array_of(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def company_schema(names: Sequence[str], *, described: bool) -> Schema:
    known = {field.champ: field for field in company_fields.fields()}
    properties: dict[str, Schema] = {}
    for name in names:
        kind = known[name].json_type
        properties[name] = array_of(TEXT) if kind == "array" else {"type": kind}
        if described:
            properties[name]["description"] = known[name].definition["en"]
    return object_of(properties, _COMPANY_KEYS)


TOTAL: Final = {**COUNT, "description": "Companies that match in the whole base, exactly."}
# What an answer may say of the search that it was asked for; search_companies describes it.
ABOUT_SEARCH: Final[Mapping[str, Schema]] = {
    "pays_sans_donnees": array_of(TEXT),
    "ids_inconnus": array_of(TEXT),
    "activites_comprises": array_of(OBJECT),
}
PROPOSALS: Final[Mapping[str, Schema]] = {
    "vouliez_vous_dire": array_of(OBJECT),
    "recherches_proposees": array_of(OBJECT),
}
ABOUT_SEARCH_DESCRIBED: Final[Mapping[str, Schema]] = {
    "pays_sans_donnees": {**array_of(TEXT), "description": "Countries without any data."},
    "ids_inconnus": {**array_of(TEXT), "description": "Items of `ids` that name no company."},
    "activites_comprises": {**array_of(OBJECT), "description": "What activite names; at most 20."},
    "vouliez_vous_dire": {
        **array_of(answer_schema(TexteVoulu)),
        "description": "Nothing was found: what q may have meant, and how many companies that finds.",
    },
    "recherches_proposees": {
        **array_of(OBJECT),
        "description": "Nothing was found: activite, ville and q to send instead, and their total.",
    },
}
