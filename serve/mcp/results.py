"""What a tool gives back, before the protocol wraps it up."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from serve.answer import Answer
from serve.codes import CODES
from serve.doors import Call
from serve.errors import ApiError
from serve.mcp import refusals
from serve.metrics import REFUSALS
from serve.params import Pairs
from serve.site import Site
from serve.trace import Trace

# Of the headers of a route's answer, these are as true of a tool's; a tag or a place are not.
_KEPT = ("X-Quota-", "X-Credits-", "X-Plafond-", "RateLimit", "Retry-After")


class Use(NamedTuple):
    """A tool that is called: by whom, and with which arguments."""

    site: Site
    authorization: Sequence[str]
    trace: Trace
    call: Call


class Result(NamedTuple):
    """`document` is JSON that fits the tool's schema; `refused` is the text of an error instead."""

    document: Mapping[str, Any] | None
    headers: Mapping[str, str]
    refused: str = ""
    outcome: str = ""


def of_answer(answer: Answer, found: Mapping[str, Any], shown: Mapping[str, Any] | None) -> Result:
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
    return Result(shown, headers, refusals.text(error), answer.outcome)


def of_error(error: ApiError, shown: Mapping[str, Any] | None = None) -> Result:
    """A call that was refused; `shown` is what the caller sees all the same."""
    outcome = error.code if error.code in REFUSALS else ""
    return Result(shown, _kept(error.headers), refusals.text(error), outcome)


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.startswith(_KEPT)}


def first(pairs: Pairs, name: str) -> str:
    """The value of an argument that is no list, trimmed; "" if it was not given."""
    return dict(pairs).get(name, "").strip()
