"""The result of a tool, before the protocol wraps it: the text of a refusal, and the size of a result.

A refusal is written for a model, in English: the meaning of the error and its remedy, then the message
of the route, which names the values. Values that a caller sent are cut, so that a response stays small.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

import orjson

from quota import plans
from serve.access import counter_headers
from serve.access.call import Content, Result
from serve.contract.errors import CODES, ApiError
from serve.observe.metrics import REFUSALS
from serve.request.reader import Pairs

LARGEST: Final = 64 * 1024  # bytes of the response of any tool, in total
AROUND: Final = 1_024  # bytes of the message around a result
LONGEST_TEXT: Final = 1_000  # characters of a text of an answer
_LENGTHS: Final = (LONGEST_TEXT, 200, 50, 10)  # characters of a text, items of a list
# The headers of a route's response that are also true of a tool: a tag or a location is not.
_KEPT_HEADERS: Final = ("X-Quota-", "X-Credits-", "X-Plafond-", "RateLimit", "Retry-After")

_MOST_VALUES: Final = 10  # values of a list
_LONGEST_VALUE: Final = 200  # characters of a value
_LONGEST_MESSAGE: Final = 1_500  # characters of a message, which contains such values

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


def tool_result(result: Result[Content], document: Mapping[str, Any] | None) -> ToolResult:
    """The result of a tool from that of its route, showing `document`.

    A refused result may show something all the same: for an invalid key (A1), or without credits (D10).
    """
    refusal = text(result.error) if result.error else ""
    return ToolResult(document, _counter_headers(result.headers), refusal, result.outcome)


def refusal_result(error: ApiError, document: Mapping[str, Any] | None = None) -> ToolResult:
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
    lines = [meaning, shorten(error.texts[1], _LONGEST_MESSAGE)]
    return "\n".join(lines + ([orjson.dumps(beside).decode()] if beside else []))


def credits(headers: Mapping[str, str]) -> dict[str, int]:
    """What a call cost, and what is left, where its route says so."""
    names = {"credits_debites": "X-Credits-Debites", "credits_restants": "X-Credits-Restants"}
    return {name: int(headers[header]) for name, header in names.items() if header in headers}


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
    """A value that a caller sent, or a proposal for it: its texts, lists and keys have an end."""
    if isinstance(value, Mapping):
        return {
            shorten(str(name), _LONGEST_VALUE): _shorten_value(part)
            for name, part in list(value.items())[:_MOST_VALUES]
        }
    if isinstance(value, (list, tuple)):
        return [_shorten_value(part) for part in first(list(value), _MOST_VALUES)]
    return shorten(value, _LONGEST_VALUE)


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


def fit_rows(document: dict[str, Any], rows: str, advice: str) -> dict[str, Any]:
    """A document with as many items of its list `rows` as fit; a note says so if there are others."""
    items = document.get(rows) or []
    shown = longest_fitting(items, lambda some: {**document, rows: some})
    if len(shown) == len(items):
        return document
    return {
        **document,
        rows: shown,
        "note": f"Only the first {len(shown)} of `{rows}` fit. {advice}",
    }


def shorten_to_fit(value: Any, room: int = LARGEST - AROUND) -> Any:
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
        return first([shorten(part, longest) for part in value], longest)
    return value


def first(items: list[Any], most: int) -> list[Any]:
    """The first of `items`; a list of texts ends with the number of the others."""
    more = len(items) - most
    if more <= 0:
        return items
    return [*items[:most], *([f"… and {more} more"] if isinstance(items[0], str) else [])]
