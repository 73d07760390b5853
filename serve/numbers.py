"""Numbers as callers write them in a URL: `1000000`, `1e6`, `-0.5`.

Accepted is what JSON and every HTTP client print, in ASCII. Refused is what a reader could take for
another number or for none: a decimal comma (`1,5`), `1_000`, `0x10`, digits of other scripts,
`NaN` and infinities (contract B22), and a number that a float cannot hold. Errors are ValueError;
serve/params.py names the parameter.
"""

import math
import re
from typing import Final

_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# `50.0` is an integer in JSON Schema, and generated clients do send it.
_INTEGER: Final = re.compile(r"([+-]?)([0-9]+)(?:\.0*)?")

# Python's own limit on the digits of an int made of text. A longer number is cut to that many
# digits: it stays past every cap, which is all that is asked of it (contract B21).
_DIGITS: Final = 4_300


def parse_decimal(text: str) -> float:
    """A finite float; `-0` is 0.

    >>> decimal("1e6"), decimal("-.5")
    (1000000.0, -0.5)
    """
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text[:100]!r} n'est pas un nombre (exemples : 1000000, 0.5, 1e6)")
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:100]!r} dépasse les nombres représentables")
    return number + 0.0


def parse_integer(text: str) -> int:
    """An integer of any size.

    >>> integer("0050.0"), integer("-3")
    (50, -3)
    """
    match = _INTEGER.fullmatch(text)
    if not match:
        raise ValueError(f"{text[:100]!r} n'est pas un nombre entier (exemple : 50)")
    sign, digits = match.groups()
    return int(sign + (digits.lstrip("0") or "0")[:_DIGITS])
