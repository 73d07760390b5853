"""Parameters with a single value: numbers, choices, texts of a pattern, flags.

An empty value counts as an absent one. Limits, choices and names are those of
serve/contract/parameters.py. Every function that takes a Parameter raises ApiError 400
`parametre_invalide`, which names the parameter and the value.

Numbers are accepted as JSON and HTTP clients print them, in ASCII: `1000000`, `1e6`, `-0.5`. Refused
are texts that a reader could take for another number, or for none: a decimal comma (`1,5`), `1_000`,
`0x10`, digits of other scripts, `NaN` and infinities (contract B22), and numbers too large for a float.
"""

import datetime
import math
import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from typing import Final

from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.parameters import Parameter

Values = Mapping[str, Sequence[str]]

_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# `50.0` is an integer in JSON Schema, and generated clients send it.
_INTEGER: Final = re.compile(r"([+-]?)([0-9]+)(?:\.0*)?")

_DATE: Final = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}")

# Python's own limit on the digits of an int made from text. A longer number is cut to that many
# digits, which is still beyond every limit; nothing else matters about it (contract B21).
_DIGITS: Final = 4_300

# `effectif` is an int32: a bound beyond that range excludes the same companies as its end.
_INT32: Final = 2**31 - 1


class NumberError(ValueError):
    """A text that is not a number of the kind wanted; `texts` say so in French and in English."""

    def __init__(self, french: str, english: str) -> None:
        super().__init__(french)
        self.texts = (french, english)


def scalar(values: Values, name: str) -> str:
    """The value of `name`, "" if absent; if repeated, all values must be equal (B5)."""
    given = values.get(name)
    if given is None:
        return ""
    if len(given) == 1:
        return given[0]
    different = list(dict.fromkeys(given))
    if len(different) > 1:
        shown = ", ".join(repr(value[:100]) for value in different[:5])
        why = (
            f"plusieurs valeurs ({shown}) ; n'en gardez qu'une",
            f"several values ({shown}); keep one of them",
        )
        raise errors.parametre_invalide(name, why)
    return different[0]


def one_of(values: Values, parameter: Parameter) -> str:
    """A value of the parameter's enum, whose first value is the default."""
    allowed = parameter.enum
    value = scalar(values, parameter.name) or allowed[0]
    if value not in allowed:
        raise unknown_value(parameter, value, allowed)
    return value


def unknown_value(parameter: Parameter, value: str, allowed: Sequence[str]) -> ApiError:
    """The error for a value that is none of those allowed."""
    shown, known = value[:100], ", ".join(allowed)
    why = (f"{shown!r} est inconnu. Valeurs : {known}", f"{shown!r} is unknown. Values: {known}")
    return errors.parametre_invalide(parameter.name, why, valeurs=allowed)


def matching(values: Values, parameter: Parameter) -> str | None:
    """A text that matches the parameter's pattern, None if absent."""
    text = scalar(values, parameter.name)
    if not text:
        return None
    if not re.fullmatch(parameter.pattern, text):
        why = (
            f"{text[:100]!r} n'en est pas une valeur, comme l'est {parameter.example}",
            f"{text[:100]!r} is no value of it, as {parameter.example} is",
        )
        raise errors.parametre_invalide(parameter.name, why)
    return text


def integer(values: Values, parameter: Parameter) -> int | None:
    """An integer not below the minimum, None if absent; the caller clamps to a maximum (B18)."""
    text = scalar(values, parameter.name)
    if not text:
        return None
    try:
        number = parse_integer(text)
    except NumberError as error:
        raise errors.parametre_invalide(parameter.name, error.texts) from error
    least = parameter.minimum
    if least is not None and number < least:
        why = (f"{text[:100]} est inférieur à {least}", f"{text[:100]} is less than {least}")
        raise errors.parametre_invalide(parameter.name, why)
    return number


def decimal(values: Values, parameter: Parameter) -> float | None:
    """A finite number, None if absent."""
    text = scalar(values, parameter.name)
    if not text:
        return None
    try:
        return parse_decimal(text)
    except NumberError as error:
        raise errors.parametre_invalide(parameter.name, error.texts) from error


def first_day(values: Values, parameter: Parameter) -> int | None:
    """The first day of a year, a month or a day, as yyyymmdd; None if absent."""
    date = _date(values, parameter)
    return None if date is None else 10_000 * date[0] + 100 * (date[1] or 1) + (date[2] or 1)


def last_day(values: Values, parameter: Parameter) -> int | None:
    """The last day of a year, a month or a day, as yyyymmdd; None if absent."""
    date = _date(values, parameter)
    if date is None:
        return None
    year, month = date[0], date[1] or 12
    return 10_000 * year + 100 * month + (date[2] or monthrange(year, month)[1])


def _date(values: Values, parameter: Parameter) -> tuple[int, int, int] | None:
    """Year, month and day; those that were not given are 0."""
    text = scalar(values, parameter.name)
    if not text:
        return None
    year, month, day = (
        (*map(int, text.split("-")), 0, 0)[:3] if _DATE.fullmatch(text) else (0, 0, 0)
    )
    try:
        datetime.date(year, month or 1, day or 1)
    except ValueError as error:
        shown, examples = repr(text[:100]), "2024, 2024-06, 2024-06-30"
        why = (
            f"{shown} n'est pas une date (exemples : {examples})",
            f"{shown} is no date (examples: {examples})",
        )
        raise errors.parametre_invalide(parameter.name, why) from error
    return year, month, day


def check_bounds(
    values: Values,
    least: Parameter,
    low: float | None,
    greatest: Parameter,
    high: float | None,
) -> None:
    """Refuse a lower bound above the upper one."""
    if low is not None and high is not None and low > high:
        low_text = scalar(values, least.name)[:100]
        bound = f"{greatest.name} ({scalar(values, greatest.name)[:100]})"
        why = (f"{low_text} dépasse {bound}", f"{low_text} is above {bound}")
        raise errors.parametre_invalide(least.name, why)


def int32(number: int | None) -> int | None:
    """`number`, moved into the range of an int32."""
    return None if number is None else max(-_INT32, min(number, _INT32))


def flag(values: Values, parameter: Parameter) -> bool:
    """True if it has its only value; an empty value counts as absent (B23)."""
    text = scalar(values, parameter.name)
    if text and text not in parameter.enum:
        only = parameter.enum[0]
        why = (
            f"{text[:100]!r} : seule la valeur {only} est admise ; sinon omettez le paramètre",
            f"{text[:100]!r}: only the value {only} may be sent; else leave the parameter out",
        )
        raise errors.parametre_invalide(parameter.name, why)
    return bool(text)


def parse_decimal(text: str) -> float:
    """Parse a finite float; `-0` becomes 0. Raises NumberError.

    >>> parse_decimal("1e6"), parse_decimal("-.5")
    (1000000.0, -0.5)
    """
    if not _DECIMAL.fullmatch(text):
        shown, examples = repr(text[:100]), "1000000, 0.5, 1e6"
        raise NumberError(
            f"{shown} n'est pas un nombre (exemples : {examples})",
            f"{shown} is not a number (examples: {examples})",
        )
    number = float(text)
    if not math.isfinite(number):
        raise NumberError(
            f"{text[:100]!r} dépasse les nombres représentables",
            f"{text[:100]!r} is beyond the numbers that can be represented",
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
            f"{text[:100]!r} n'est pas un nombre entier (exemple : 50)",
            f"{text[:100]!r} is not a whole number (example: 50)",
        )
    sign, digits = match.groups()
    return int(sign + (digits.lstrip("0") or "0")[:_DIGITS])
