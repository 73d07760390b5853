"""The body of POST /api/v1/export as parameters (§4.7, F3): what a query string would have said.

So all that is known of parameters stays in serve/params.py. A member is a string or a number, which
counts as it was written: `50.0` and `1e6` are what they are in a query string. Twice the same name
is twice the same parameter (B5). Pure: serve/exporting.py reads the bytes.
"""

from email.message import Message
from typing import Any, Final

from serve import errors, strict
from serve.params import Pairs

LARGEST: Final = 64 * 1024  # bytes (F3)

_KIND: Final = "application/json"


def check_kind(content_type: str | None, coding: str | None) -> None:
    """Is the body JSON, by its Content-Type, and as it is, by its Content-Encoding?

    Raises:
        ApiError: 415.
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
    try:
        document = strict.loads(raw, tuple, parse_int=str, parse_float=str)
    except ValueError as error:
        raise errors.corps_invalide("ce n'est pas du JSON (UTF-8)") from error
    if not isinstance(document, tuple):
        raise errors.corps_invalide('ce n\'est pas un objet JSON ; exemple : {"pays": "FR"}')
    return [(name, _text(name, value)) for name, value in document]


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        shown = name[:100]
        raise errors.parametre_invalide(shown, "une chaîne ou un nombre est attendu")
    return value
