"""A JSON body as the parameters that a query string would carry (§4.7, F3), and strict JSON.

The rules for parameters stay in serve/request/reader.py. A member is a string or a number, and a
number counts as it was written: `50.0` and `1e6` mean what they mean in a query string. The same name
twice is the same parameter twice (B5), and so is an array.

JSON that two readers would understand differently is refused. The bytes are read by serve/http. Pure.
"""

import json
import re
from collections.abc import Callable, Iterable
from email.message import Message
from typing import Any, Final

import orjson

from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.parameters import IDS
from serve.contract.text import Text
from serve.request.reader import Pairs

LARGEST: Final = 64 * 1024  # bytes (F3)
# Members and items of a document. A thousand lines of a list have some 15 000, a batch of a thousand queries 35 000.
MOST_VALUES: Final = 65_536
_SHOWN: Final = 50  # characters of a value in a message
# A string, which may be without its end, or a character that begins or follows a member or an item. Possessive
# quantifiers: the time is linear, whatever the text is.
_TOKEN: Final = re.compile(rb'(?s)"(?:[^"\\]++|\\.)*+"?|[,\[{]')

_KIND: Final = "application/json"
_QUOTE: Final = ord('"')


def check_kind(content_type: str | None, coding: str | None) -> None:
    """Refuse a body that is not JSON by its Content-Type, or compressed by its Content-Encoding.

    Raises:
        ApiError: 415 `type_non_supporte`.
    """
    if coding is not None and coding.lower() != "identity":
        raise ApiError("codage_non_supporte", coding=coding[:100])
    message = Message()
    message["Content-Type"] = content_type or "?"
    charset = message.get_content_charset("utf-8")
    if message.get_content_type() != _KIND or charset != "utf-8":
        raise ApiError(
            "type_non_supporte", media_type=(content_type or "")[:100], wanted="application/json"
        )


def pairs(raw: bytes) -> Pairs:
    """The members of the JSON object `raw`, in order.

    Raises:
        ApiError: 400 `corps_invalide`, or as `parameters` does.
    """
    return parameters(members(raw))


def parameters(given: Iterable[tuple[str, Any]]) -> Pairs:
    """Members as parameters; an array is its parameter once for each item, an empty one is absent (§4.4).

    Raises:
        ApiError: 400 `parametre_invalide` for a value that is neither a string nor a number, nor an array of these, or
            as `require_company` does.
    """
    found: list[tuple[str, str]] = []
    for name, value in given:
        require_company(name, value)
        several = value if isinstance(value, list) else [value]
        found += [(name, text(name, one)) for one in several]
    return found


def require_company(name: str, value: Any) -> None:
    """Check that `ids` is no empty array, and none of blanks: who names no company does not want the whole base.

    Raises:
        ApiError: 400 `parametre_invalide`.
    """
    if name != IDS.name or not isinstance(value, list) or any(str(one).strip() for one in value):
        return
    shown = json.dumps(value)[:_SHOWN]
    raise errors.invalid_parameter(name, "sans_societe", shown=shown)


def members(raw: bytes) -> tuple[tuple[str, Any], ...]:
    """The members of the JSON object `raw`, in order; an object in it is such a tuple, an array is a list.

    Numbers are texts, as they were written.

    Raises:
        ApiError: 400 `corps_invalide`.
    """
    try:
        document = loads(raw, tuple, parse_int=str, parse_float=str)
    except ValueError as error:
        raise ApiError("corps_invalide", why_unreadable(raw, error)) from error
    if not isinstance(document, tuple):
        example = '{"pays": "FR"}'
        raise ApiError(
            "corps_invalide", "pas_un_objet_json", shown=shown_value(document), example=example
        )
    return document


def loads(raw: bytes, members: Callable[[list[tuple[str, Any]]], Any], **numbers: Any) -> Any:
    """Parse `raw` strictly; `members` makes an object from its names and values, in order.

    Two parsers read it: orjson refuses NaN, lone surrogates and text after the end; only `json` shows
    duplicate names and, by the hooks in `numbers`, numbers as they were written.

    Both keep Python's lock for as long as they parse, so the text is counted before.

    Raises:
        ValueError: the text is not JSON in UTF-8, is nested too deeply, or has too many values; `why_unreadable` says
            it to the caller.
    """
    if _has_too_many_values(raw):
        raise _TooManyValuesError
    try:
        orjson.loads(raw)
        return json.loads(raw, object_pairs_hook=members, **numbers)
    except RecursionError as error:
        raise _NestedError from error


class _NestedError(ValueError):
    pass


class _TooManyValuesError(ValueError):
    pass


class _RepeatedNameError(ValueError):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def why_unreadable(raw: bytes, error: ValueError) -> Text:
    """Why `loads` could not read `raw`: where it is no JSON, or which name is there twice."""
    if isinstance(error, _RepeatedNameError):
        return errors.text("nom_double", shown=repr(error.name[:_SHOWN]))
    if isinstance(error, _NestedError):
        return errors.text("trop_imbrique")
    if isinstance(error, _TooManyValuesError):
        return errors.text("trop_de_membres", most=MOST_VALUES)
    try:
        text, start = raw.decode(), getattr(error, "pos", 0)
        found = repr(text[start : start + _SHOWN])
    except UnicodeDecodeError as wrong:
        start, found = len(raw[: wrong.start].decode()), repr(raw[wrong.start : wrong.end])
    return errors.text("pas_du_json", place=start + 1, shown=found)


def _has_too_many_values(raw: bytes) -> bool:
    """Whether a text has more than MOST_VALUES members and items.

    Most texts do not even if the commas and brackets in their strings are counted too, which is fast.
    """
    if raw.count(b",") + raw.count(b"[") + raw.count(b"{") <= MOST_VALUES:
        return False
    count = 0
    for token in _TOKEN.finditer(raw):
        if raw[token.start()] != _QUOTE:
            count += 1
            if count > MOST_VALUES:
                return True
    return False


def unique_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object whose names are all different; a hook for `loads`.

    Raises:
        ValueError: a name occurs twice, and parsers differ on which of the two counts.
    """
    found: dict[str, Any] = {}
    for name, value in members:
        if name in found:
            raise _RepeatedNameError(name)
        found[name] = value
    return found


def shown_value(value: Any) -> Text:
    """A value as it is named in a message: as JSON, or by its kind where it holds others."""
    if isinstance(value, (dict, tuple)):
        return Text("un objet", "an object")
    if isinstance(value, list):
        return Text("un tableau", "an array")
    text = json.dumps(value, ensure_ascii=False)[:_SHOWN]
    return Text(text, text)


def why_other_type(value: Any, wanted: Text) -> Text:
    """Why a value of this type cannot be used; `wanted` says what to send."""
    return errors.text("autre_type", shown=shown_value(value), wanted=wanted)


def text(name: str, value: Any) -> str:
    """A member that is a string or a number. Raises ApiError 400."""
    if not isinstance(value, str):
        why = why_other_type(value, errors.text("chaine_ou_nombre"))
        raise errors.invalid_parameter(name[:100], why)
    return value
