"""Numbers as people type them: `1 000 000`, `1,5 M€`, `250k`. Pure.

The API takes one spelling (contract B22); the form of the pages is lenient, and its addresses have the spelling of the
API. A text that is no number in any of these manners stays as it is, so that the API's error names it.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from serve.contract.parameters import SEARCH
from serve.request.numbers import NumberError, parse_decimal
from serve.request.query_string import Pairs

# The parameters that bound a number.
BOUNDS: Final = frozenset(
    one.name for one in SEARCH if one.bound and one.kind in ("number", "integer")
)

_TYPED: Final = re.compile(r"(?P<digits>[+-]?[0-9][0-9.,]*)(?P<unit>[a-z]*)")
_SPACES: Final = re.compile(r"[\s'’_€$£]+")  # between thousands, and signs of currencies
_UNITS: Final[Mapping[str, int]] = MappingProxyType({
    "": 0, "eur": 0, "euro": 0, "euros": 0, "k": 3, "mille": 3, "keur": 3, "m": 6, "mio": 6, "mn": 6,
    "million": 6, "millions": 6, "meur": 6, "md": 9, "mds": 9, "mrd": 9, "bn": 9, "b": 9, "milliard": 9,
    "milliards": 9, "billion": 9,
})  # fmt: skip
_THOUSANDS: Final = re.compile(r"[+-]?[0-9]{1,3}([.,][0-9]{3})+")


def respell(pairs: Pairs, lang: str) -> Pairs:
    """The parameters of a search with its bounds in the spelling of the API."""
    return tuple(
        (name, plain_number(value, lang) if name in BOUNDS else value) for name, value in pairs
    )


def plain_number(text: str, lang: str) -> str:
    """A typed number in the spelling of the API; any other text as it is.

    One comma before three digits separates thousands in English and decimals in French.

    >>> [plain_number(text, "fr") for text in ("1 000 000", "1,5 M€", "1,000", "2.500.000,50", "1e6", "beaucoup")]
    ['1000000', '1500000', '1', '2500000.5', '1e6', 'beaucoup']
    >>> plain_number("1,000", "en"), plain_number("250k", "en")
    ('1000', '250000')
    """
    try:
        parse_decimal(text.strip())
    except NumberError:
        pass
    else:
        return text.strip()
    match = _TYPED.fullmatch(_SPACES.sub("", text).lower())
    if match is None or match["unit"] not in _UNITS:
        return text
    digits = _decimal(match["digits"], lang)
    if digits is None:
        return text
    number = Decimal(digits).scaleb(_UNITS[match["unit"]])
    whole = number.to_integral_value()
    return f"{whole:f}" if number == whole else f"{number.normalize():f}"


def _decimal(digits: str, lang: str) -> str | None:
    """The digits with a point before the decimals, and nothing between thousands."""
    marks = {mark for mark in ".," if mark in digits}
    last = max(digits.rfind("."), digits.rfind(","))
    if len(marks) == 2:
        head, tail = digits[:last], digits[last + 1 :]
        return re.sub(r"[.,]", "", head) + "." + tail if digits.count(digits[last]) == 1 else None
    mark = marks.pop() if marks else ""
    is_grouped = digits.count(mark) > 1 or (mark == "," and lang == "en") if mark else False
    if is_grouped and _THOUSANDS.fullmatch(digits):
        return digits.replace(mark, "")
    return digits.replace(",", ".") if digits.count(mark or " ") <= 1 else None
