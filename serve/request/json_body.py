"""A JSON body as the parameters that a query string would carry (§4.7, F3), and strict JSON.

The rules for parameters stay in serve/request/reader.py. A member is a string or a number, and a
number counts as it was written: `50.0` and `1e6` mean what they mean in a query string. The same name
twice is the same parameter twice (B5).

JSON that two readers would understand differently is refused. The bytes are read by serve/http. Pure.
"""

import json
from collections.abc import Callable
from email.message import Message
from typing import Any, Final

import orjson

from serve.contract import errors
from serve.request.query_string import Pairs

LARGEST: Final = 64 * 1024  # bytes (F3)

_KIND: Final = "application/json"


def check_kind(content_type: str | None, coding: str | None) -> None:
    """Refuse a body that is not JSON by its Content-Type, or compressed by its Content-Encoding.

    Raises:
        ApiError: 415 `type_non_supporte`.
    """
    if coding is not None and coding.lower() != "identity":
        raise errors.type_non_supporte(coding[:100])
    message = Message()
    message["Content-Type"] = content_type or "?"
    charset = message.get_content_charset("utf-8")
    if message.get_content_type() != _KIND or charset != "utf-8":
        raise errors.type_non_supporte((content_type or "")[:100])


def pairs(raw: bytes) -> Pairs:
    """The members of the JSON object `raw`, in order.

    Raises:
        ApiError: 400 `corps_invalide`, or `parametre_invalide` for a member that is neither a
            string nor a number.
    """
    return [(name, text(name, value)) for name, value in members(raw)]


def members(raw: bytes) -> tuple[tuple[str, Any], ...]:
    """The members of the JSON object `raw`, in order; an object in it is such a tuple, an array is a list.

    Numbers are texts, as they were written.

    Raises:
        ApiError: 400 `corps_invalide`.
    """
    try:
        document = loads(raw, tuple, parse_int=str, parse_float=str)
    except ValueError as error:
        raise errors.corps_invalide(errors.why("pas_du_json_utf8")) from error
    if not isinstance(document, tuple):
        example = '{"pays": "FR"}'
        raise errors.corps_invalide(errors.why("pas_un_objet_json", example=example))
    return document


def loads(raw: bytes, members: Callable[[list[tuple[str, Any]]], Any], **numbers: Any) -> Any:
    """Parse `raw` strictly; `members` makes an object from its names and values, in order.

    Two parsers read it: orjson refuses NaN, lone surrogates and text after the end; only `json` shows
    duplicate names and, by the hooks in `numbers`, numbers as they were written.

    Raises:
        ValueError: the text is not JSON in UTF-8, or nested too deeply.
    """
    try:
        orjson.loads(raw)
        return json.loads(raw, object_pairs_hook=members, **numbers)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def unique_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object whose names are all different; a hook for `loads`.

    Raises:
        ValueError: a name occurs twice, and parsers differ on which of the two counts.
    """
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("a name is there twice in one object")
    return found


def text(name: str, value: Any) -> str:
    """A member that is a string or a number. Raises ApiError 400."""
    if not isinstance(value, str):
        why = errors.why("chaine_ou_nombre")
        raise errors.parametre_invalide(name[:100], why)
    return value
