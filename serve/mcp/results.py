"""What a tool gives back, before the protocol wraps it up."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import orjson

from quota import plans
from serve.access import quota_headers
from serve.access.admission import Call
from serve.access.context import ServerContext
from serve.access.result import Response
from serve.contract.error_codes import CODES
from serve.contract.errors import ApiError
from serve.observe.metrics import REFUSALS
from serve.observe.request_trace import RequestTrace
from serve.request.params import Pairs

# MERGED serve/mcp/refusals.py
# What a model is told when a call is refused: what was wrong, in English, and what to do about it.
#
# The errors are those of the routes; their messages name the values and stay French, like the data.
# What a caller sent is shown in part only, so that an answer stays small.

_MOST_VALUES: Final = 10  # values of a list
_LONGEST: Final = 200  # characters of a value
_MESSAGE: Final = 1_500  # characters of a message, which has such values in it

# By code, in the words of the tools.
_REMEDIES: Final[Mapping[str, str]] = {
    "pays_inconnu": "Call list_countries for the codes.",
    "secteur_inconnu": "Call list_sectors for the slugs of sectors, list_subsectors for the labels "
    "of the sub-sectors of a sector.",
    "identifiant_invalide": "Take `id` as search_companies gives it.",
    "societe_introuvable": "Find it with search_companies: q takes a part of the name, or the "
    "first characters of the identifier.",
    "cle_invalide": "Tell the user to correct the key in the Authorization header of this MCP "
    "server's configuration, or to remove the header. What a visitor sees is below.",
    "credits_epuises": "Without etats_financiers the same company costs no credits.",
    "quota_api": "explain_plan tells when the counters begin again.",
    "trop_de_requetes": "Wait, then call again.",
}


def text(error: ApiError) -> str:
    """An error in a few lines: its meaning and remedy, its message, and what stands beside it."""
    first = f"{error.code}: {CODES[error.code].meaning}. {_remedy(error)}".strip()
    beside = {name: _short(value) for name, value in error.extra.items()}
    lines = [first, _cut(error.message, _MESSAGE)]
    return "\n".join(lines + ([orjson.dumps(beside).decode()] if beside else []))


@cache
def _tomorrow() -> str:
    """What a visitor can do whose address has had its calls of the day (D7)."""
    free = plans.load()["free"]
    return (
        "Without a key there are no more until midnight UTC. A key has calls of its own: "
        f"{free.appels_api_par_jour} a day on the free plan, {free.nom_en} (`{free.slug}`)."
    )


def _remedy(error: ApiError) -> str:
    if error.code == "trop_de_requetes" and quota_headers.is_of_day(error.headers):
        return _tomorrow()
    allowed = error.extra.get("parametres_admis")
    if allowed is None:
        return _REMEDIES.get(error.code, "")
    if not allowed:
        return "No arguments are expected: call the tool again with {}."
    return f"Call it again with these only: {', '.join(allowed)}."


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_cut(str(name)): _short(part) for name, part in list(value.items())[:_MOST_VALUES]}
    if isinstance(value, (list, tuple)):
        return [_short(part) for part in value[:_MOST_VALUES]]
    return _cut(value) if isinstance(value, str) else value


def _cut(text: str, longest: int = _LONGEST) -> str:
    return f"{text[:longest]}…" if len(text) > longest else text


# Of the headers of a route's answer, these are as true of a tool's; a tag or a place are not.
_KEPT = ("X-Quota-", "X-Credits-", "X-Plafond-", "RateLimit", "Retry-After")


class Use(NamedTuple):
    """A tool that is called: by whom, and with which arguments."""

    site: ServerContext
    authorization: Sequence[str]
    trace: RequestTrace
    call: Call


class Result(NamedTuple):
    """`document` is JSON that fits the tool's schema; `refused` is the text of an error instead."""

    document: Mapping[str, Any] | None
    headers: Mapping[str, str]
    refused: str = ""
    outcome: str = ""


def of_answer(
    answer: Response, found: Mapping[str, Any], shown: Mapping[str, Any] | None
) -> Result:
    """The result that is made of a route's answer.

    Args:
        found: its body. With `erreur` in it, the call was refused and something is seen all the
            same: with a key that is not valid (A1), or without credits (D10).
        shown: what the tool shows of it, if there is something.
    """
    refused = found.get("erreur")
    headers = _kept(answer.headers)
    if refused is None:
        return Result(shown, headers, outcome=answer.outcome)
    code = refused["code"]
    beside = {name: found[name] for name in CODES[code].extra if name in found}
    error = ApiError(code, refused["message"], **beside)
    return Result(shown, headers, text(error), answer.outcome)


def of_error(error: ApiError, shown: Mapping[str, Any] | None = None) -> Result:
    """A call that was refused; `shown` is what the caller sees all the same."""
    outcome = error.code if error.code in REFUSALS else ""
    return Result(shown, _kept(error.headers), text(error), outcome)


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.startswith(_KEPT)}


def first(pairs: Pairs, name: str) -> str:
    """The value of an argument that is no list, trimmed; "" if it was not given."""
    return dict(pairs).get(name, "").strip()
