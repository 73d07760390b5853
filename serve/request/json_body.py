"""A JSON body as parameters, in the form of a query string (§4.7, F3); strict parsing of JSON.

serve/request/reader.py has the rules for parameters. A member is a string or a number. A number is passed on as
written, so `50.0` and `1e6` mean the same as in a query string. A repeated name, or an array, repeats the parameter
(B5).

JSON that parsers may read differently is refused. serve/http reads the bytes. Pure.
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
# The most members and items of a document. A thousand lines of a list have about 15 000, a batch of a thousand queries
# 35 000.
MOST_VALUES: Final = 65_536
_SHOWN: Final = 50  # characters of a value in a message
# A string, perhaps unterminated, or a character before a member or an item. Possessive quantifiers keep the time linear
# for any text.
_TOKEN: Final = re.compile(rb'(?s)"(?:[^"\\]++|\\.)*+"?|[,\[{]')

_KIND: Final = "application/json"  # the only Content-Type of a body
_QUOTE: Final = ord('"')


def check_kind(content_type: str | None, content_encoding: str | None) -> None:
    """Refuse a Content-Type other than JSON in UTF-8, and a compressed body.

    Raises:
        ApiError: 415 `type_non_supporte`, for a compressed body with the message `codage_non_supporte`.
    """
    if content_encoding is not None and content_encoding.lower() != "identity":
        raise ApiError("codage_non_supporte", coding=content_encoding[:100])
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
    """Turn members into parameters. An array repeats its parameter for each item; an empty array is absent (§4.4).

    Raises:
        ApiError: 400 `parametre_invalide` for a value that is not a string, a number or an array of these; and as
            `refuse_empty_ids` does.
    """
    pairs: list[tuple[str, str]] = []
    for name, value in given:
        refuse_empty_ids(name, value)
        items = value if isinstance(value, list) else [value]
        pairs += [(name, text(name, item)) for item in items]
    return pairs


def refuse_empty_ids(name: str, value: Any) -> None:
    """Refuse `ids` as an empty array, or an array of blanks: such a list must not mean all companies.

    Raises:
        ApiError: 400 `parametre_invalide`.
    """
    if name != IDS.name or not isinstance(value, list) or any(str(item).strip() for item in value):
        return
    shown = json.dumps(value)[:_SHOWN]
    raise errors.invalid_parameter(name, "sans_societe", shown=shown)


def members(raw: bytes) -> tuple[tuple[str, Any], ...]:
    """The members of the JSON object `raw`, in order. A nested object is a tuple of members too, an array is a list.

    Numbers are strings, as written.

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
            "corps_invalide", "pas_un_objet_json", shown=display_value(document), example=example
        )
    return document


def loads(raw: bytes, members: Callable[[list[tuple[str, Any]]], Any], **numbers: Any) -> Any:
    """Parse `raw` strictly; `members` makes an object from its names and values, in order.

    Two parsers are used: orjson refuses NaN, lone surrogates and text after the end; `json` gives duplicate names and,
    by the hooks in `numbers`, numbers as written. Both parsers hold Python's lock while they parse, so the number of
    values is checked first.

    Raises:
        ValueError: the text is not JSON in UTF-8, is nested too deeply, or has too many values; `why_unreadable` makes
            the message.
    """
    if _has_too_many_values(raw):
        raise _TooManyValuesError
    try:
        orjson.loads(raw)
        return json.loads(raw, object_pairs_hook=members, **numbers)
    except RecursionError as error:
        raise _NestedError from error


class _NestedError(ValueError):
    """The text is nested too deeply."""


class _TooManyValuesError(ValueError):
    """The text has more than MOST_VALUES values."""


class _RepeatedNameError(ValueError):
    """An object has the name twice."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def why_unreadable(raw: bytes, error: ValueError) -> Text:
    """The reason why `loads` failed: the position of the error, the repeated name, or the limit."""
    if isinstance(error, _RepeatedNameError):
        return errors.text("nom_double", shown=repr(error.name[:_SHOWN]))
    if isinstance(error, _NestedError):
        return errors.text("trop_imbrique")
    if isinstance(error, _TooManyValuesError):
        return errors.text("trop_de_membres", most=MOST_VALUES)
    try:
        text, start = raw.decode(), getattr(error, "pos", 0)
        shown = repr(text[start : start + _SHOWN])
    except UnicodeDecodeError as decode_error:
        start, shown = (
            len(raw[: decode_error.start].decode()),
            repr(raw[decode_error.start : decode_error.end]),
        )
    return errors.text("pas_du_json", place=start + 1, shown=shown)


def _has_too_many_values(raw: bytes) -> bool:
    """Whether a text has more than MOST_VALUES members and items.

    The fast count includes commas and brackets in strings; for most texts this count is below the limit.
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
    """The members of an object as a dictionary; a hook for `loads`.

    Raises:
        ValueError: a name occurs twice. Parsers do not agree on the value to use.
    """
    unique: dict[str, Any] = {}
    for name, value in members:
        if name in unique:
            raise _RepeatedNameError(name)
        unique[name] = value
    return unique


def display_value(value: Any) -> Text:
    """A value for a message: as JSON, or the words for an object or an array."""
    if isinstance(value, (dict, tuple)):
        return Text("un objet", "an object")
    if isinstance(value, list):
        return Text("un tableau", "an array")
    text = json.dumps(value, ensure_ascii=False)[:_SHOWN]
    return Text(text, text)


def why_other_type(value: Any, wanted: Text) -> Text:
    """The reason why a value of this type cannot be used; `wanted` describes a valid value."""
    return errors.text("autre_type", shown=display_value(value), wanted=wanted)


def text(name: str, value: Any) -> str:
    """The value of a member that is a string or a number. Raises ApiError 400."""
    if not isinstance(value, str):
        why = why_other_type(value, errors.text("chaine_ou_nombre"))
        raise errors.invalid_parameter(name[:100], why)
    return value
