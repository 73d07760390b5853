"""Numbers of a query string, as JSON and HTTP clients print them, in ASCII.

`1000000`, `1e6`, `-0.5`. Refused are texts that a reader could take for another number, or for none: a decimal comma
(`1,5`), `1_000`, `0x10`, digits of other scripts, `NaN` and infinities (contract B22), and numbers too large for a
float.
"""

import math
import re
from typing import Final

from serve.contract import errors
from serve.contract.text import Text

_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# `50.0` is an integer in JSON Schema, and generated clients send it.
_INTEGER: Final = re.compile(r"([+-]?)([0-9]+)(?:\.0*)?")
# Python's own limit on the digits of an int made from text. A longer number is cut to that many
# digits, which is still beyond every limit; nothing else matters about it (contract B21).
_DIGITS: Final = 4_300


class NumberError(ValueError):
    """A text that is not a number or a date; `texts` say so in French and in English."""

    def __init__(self, texts: Text) -> None:
        super().__init__(texts.fr)
        self.texts = texts


def parse_decimal(text: str) -> float:
    """Parse a finite float; `-0` becomes 0. Raises NumberError.

    >>> parse_decimal("1e6"), parse_decimal("-.5")
    (1000000.0, -0.5)
    """
    if not _DECIMAL.fullmatch(text):
        shown, examples = repr(text[:100]), "1000000, 0.5, 1e6"
        raise NumberError(
            errors.why("pas_un_nombre", shown=shown, examples=examples),
        )
    number = float(text)
    if not math.isfinite(number):
        raise NumberError(
            errors.why("nombre_demesure", shown=repr(text[:100])),
        )
    return number + 0.0


def parse_integer(text: str) -> int:
    """Parse an integer of any size. Raises NumberError.

    >>> parse_integer("0050.0"), parse_integer("-3")
    (50, -3)
    """
    match = _INTEGER.fullmatch(text)
    if not match:
        raise NumberError(
            errors.why("pas_un_entier", shown=repr(text[:100])),
        )
    sign, digits = match.groups()
    return int(sign + (digits.lstrip("0") or "0")[:_DIGITS])
