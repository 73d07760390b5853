"""The result of a tool before the protocol wraps it: the text of refusals, and the limits of size.

A refusal is written for a model, in English: the meaning of the error and its remedy, then the message of the route,
which names the values. Values sent by the caller are cut, so that a response stays small.
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
AROUND: Final = 1_024  # bytes reserved for the message around a result
LONGEST_TEXT: Final = 1_000  # characters of a text in an answer; a longer text is cut
# The limits that are tried one after the other until a value fits: characters of a text, and items of a list.
_LENGTHS_TO_TRY: Final = (LONGEST_TEXT, 200, 50, 10)
_CUT: Final = "Long texts and lists are cut, so that the answer fits; the API returns them whole."
# The headers of a route's response that a tool repeats. Other headers, such as ETag, do not apply.
_REPEATED_HEADERS: Final = ("X-Quota-", "X-Credits-", "X-Plafond-", "RateLimit", "Retry-After")

_MOST_VALUES: Final = 10  # values of a list that a refusal repeats
_LONGEST_VALUE: Final = 200  # characters of a value
_LONGEST_MESSAGE: Final = 1_500  # characters of a message, which contains such values

# Remedies by error code, with the names of the tools.
_REMEDIES: Final[Mapping[str, str]] = {
    "pays_inconnu": "Call list_countries for the codes.",
    "secteur_inconnu": "Call list_sectors for the slugs of sectors, list_subsectors for the labels "
    "of the sub-sectors of a sector.",
    "identifiant_invalide": "Use an `id` that search_companies returned.",
    "societe_introuvable": "Try one of `proches`, or search with search_companies: q takes "
    "a part of the name, or the first characters of the identifier.",
    "cle_invalide": "Tell the user to correct the key in the Authorization header of this MCP "
    "server's configuration, or to remove the header.",
    "credits_epuises": "Without etats_financiers the same company costs no credits.",
    "quota_api": "explain_plan says when the counters are reset.",
    "trop_de_requetes": "Wait, then call again.",
}


class ToolResult(NamedTuple):
    """The result of a tool.

    Attributes:
        document: JSON that fits the schema of the tool; None if there is none.
        refusal: the text of an error, or "".
        outcome: as in `Response`.
    """

    document: Mapping[str, Any] | None
    headers: Mapping[str, str]
    refusal: str = ""
    outcome: str = ""


def tool_result(result: Result[Content], document: Mapping[str, Any] | None) -> ToolResult:
    """The result of a tool, from the result of its route and the `document` to show.

    A refusal may have a document: for an invalid key (A1), or without credits (D10).
    """
    refusal = refusal_text(result.error) if result.error else ""
    return ToolResult(document, _counter_headers(result.headers), refusal, result.outcome)


def refusal_result(error: ApiError, document: Mapping[str, Any] | None = None) -> ToolResult:
    """The result of a refused call; `document` is shown in spite of the refusal."""
    outcome = error.code if error.code in REFUSALS else ""
    return ToolResult(document, _counter_headers(error.headers), refusal_text(error), outcome)


def refusal_text(error: ApiError) -> str:
    """An error in a few lines: its meaning and remedy, its message, its values."""
    meaning = f"{error.code}: {CODES[error.code].meaning.en}. {_remedy(error)}".strip()
    # The names of the allowed arguments come from this server and are few, so they are not cut.
    quoted = {
        name: value if name == "parametres_admis" else _shorten_value(value)
        for name, value in error.extra.items()
    }
    lines = [meaning, shorten(error.texts[1], _LONGEST_MESSAGE)]
    return "\n".join(lines + ([orjson.dumps(quoted).decode()] if quoted else []))


def credits(headers: Mapping[str, str]) -> dict[str, int]:
    """The credits charged and left, if the route reports them."""
    names = {"credits_debites": "X-Credits-Debites", "credits_restants": "X-Credits-Restants"}
    return {name: int(headers[header]) for name, header in names.items() if header in headers}


def argument_value(pairs: Pairs, name: str) -> str:
    """The trimmed value of an argument that is not a list; "" if absent."""
    return dict(pairs).get(name, "").strip()


def _remedy(error: ApiError) -> str:
    """The advice to a model for an error; "" if there is none."""
    if "supprimee_le" in error.extra:
        return "It was deleted: tell the user."
    if error.code == "trop_de_requetes" and counter_headers.is_daily_limit_reached(error.headers):
        return _tomorrow_remedy()
    allowed = error.extra.get("parametres_admis")
    if allowed is None:
        return _REMEDIES.get(error.code, "")
    if not allowed:
        return "The tool takes no arguments: call it again with {}."
    return f"Call it again with these arguments only: {', '.join(allowed)}."


@cache
def _tomorrow_remedy() -> str:
    """The remedy for a visitor whose address has used up the calls of the day (D7)."""
    free = plans.load()["free"]
    return (
        "Without a key no more calls are possible until midnight UTC. A key has its own calls: "
        f"{free.appels_api_par_jour} a day on the free plan, {free.nom_en} (`{free.slug}`)."
    )


def _counter_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a route's response that a tool repeats (`_REPEATED_HEADERS`)."""
    return {name: value for name, value in headers.items() if name.startswith(_REPEATED_HEADERS)}


def _shorten_value(value: Any) -> Any:
    """A value sent by a caller, or a suggestion for it, with texts and lists cut."""
    if isinstance(value, Mapping):
        return {
            shorten(str(name), _LONGEST_VALUE): _shorten_value(part)
            for name, part in list(value.items())[:_MOST_VALUES]
        }
    if isinstance(value, (list, tuple)):
        return [_shorten_value(part) for part in first_items(list(value), _MOST_VALUES)]
    return shorten(value, _LONGEST_VALUE)


# -- sizes: a result is sent twice, as JSON and as the text of that JSON (MCP, "Structured Content") --


def fits(document: Any, spare_bytes: int = 0) -> bool:
    """Whether a result with this document fits the limit of a response, with at least `spare_bytes` left."""
    return size(document) + spare_bytes <= LARGEST - AROUND


def size(document: Any) -> int:
    """The bytes of a document in a response, which has the document as JSON and as the text of that JSON."""
    text = orjson.dumps(document)
    return len(text) + len(orjson.dumps(text.decode()))


def longest_fitting(items: list[Any], document: Callable[[list[Any]], Any]) -> list[Any]:
    """The first of `items`, shortened until their `document` fits."""
    while items and not fits(document(items)):
        # A quarter at a time, because each step encodes the document.
        items = items[: len(items) * 3 // 4]
    return items


def fit_rows(document: dict[str, Any], rows: str, advice: str) -> dict[str, Any]:
    """The document with its list under the key `rows` shortened until it fits; a note says so, with `advice`."""
    items = document.get(rows) or []
    fitting = longest_fitting(items, lambda shown_items: {**document, rows: shown_items})
    if len(fitting) == len(items):
        return document
    return {
        **document,
        rows: fitting,
        "note": f"Only the first {len(fitting)} of `{rows}` fit. {advice}",
    }


def cut_to_fit(document: Mapping[str, Any], refusal: str) -> Mapping[str, Any]:
    """The document if it fits together with the text of the refusal; else with texts and lists cut, and a note."""
    most_bytes = LARGEST - AROUND - len(orjson.dumps(refusal))
    if size(document) <= most_bytes:
        return document
    note = f"{document.get('note', '')} {_CUT}".strip()
    short: dict[str, Any] = shorten_to_fit(document, most_bytes - size(note))
    return {**short, "note": note}


def shorten_to_fit(value: Any, most_bytes: int) -> Any:
    """The value, cut at the first of `_LENGTHS_TO_TRY` at which it takes at most `most_bytes` in a response.

    Raises ValueError if it is too large at each of these lengths.
    """
    for longest in _LENGTHS_TO_TRY:
        short = shorten(value, longest)
        if size(short) <= most_bytes:
            return short
    raise ValueError(f"{size(short)} bytes are left of {size(value)}, {most_bytes} are allowed")


def shorten(value: Any, longest: int) -> Any:
    """The value with texts cut at `longest` characters and lists at `longest` items (`first_items`)."""
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]}…"
    if isinstance(value, Mapping):
        return {name: shorten(part, longest) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return first_items([shorten(part, longest) for part in value], longest)
    return value


def first_items(items: list[Any], most: int) -> list[Any]:
    """The first `most` items; a list of texts ends with a text that states how many are left out."""
    left_out = len(items) - most
    if left_out <= 0:
        return items
    return [*items[:most], *([f"… and {left_out} more"] if isinstance(items[0], str) else [])]
