"""Check digits of the registers, computed over whole columns.

A rule takes stems (the digits before the check digit) as int64 and returns their check digits, or
10 for a stem without one, which the register never issues. The rules are those of python-stdnum,
and the tests compare the two; Slovakia and Lithuania, which it lacks, follow `id_check_digit` of
`seeds/pays.csv`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

Stems = NDArray[np.int64]
Rule = Callable[[Stems], Stems]


def _digit(stems: Stems, from_right: int) -> Stems:
    """A digit of each stem, by its position from the right."""
    digits: Stems = stems // 10**from_right % 10
    return digits


def _weighted_sum(stems: Stems, weights: tuple[int, ...]) -> Stems:
    """The sum of digits times `weights`; the last weight belongs to the last digit."""
    total = np.zeros_like(stems)
    for position, weight in enumerate(reversed(weights)):
        total += weight * _digit(stems, position)
    return total


def _complement(*weights: int) -> Rule:
    """The complement to a multiple of 11; a stem with 10 is never issued."""
    return lambda stems: -_weighted_sum(stems, weights) % 11


def _complement_or_zero(*weights: int) -> Rule:
    """The complement to a multiple of 11, with 10 written as 0."""
    return lambda stems: -_weighted_sum(stems, weights) % 11 % 10


def _two_rounds(weights: tuple[int, ...], second_weights: tuple[int, ...]) -> Rule:
    """The remainder modulo 11; where it is 10, by `second_weights`; where it is 10 again, 0."""

    def check_digits(stems: Stems) -> Stems:
        first_check = _weighted_sum(stems, weights) % 11
        return np.where(
            first_check == 10, _weighted_sum(stems, second_weights) % 11 % 10, first_check
        )

    return check_digits


def _luhn(digits: int) -> Rule:
    """The Luhn rule for stems of `digits` digits; the last digit counts twice."""

    def check_digits(stems: Stems) -> Stems:
        total = np.zeros_like(stems)
        for position in range(digits):
            product = _digit(stems, position) * (2 if position % 2 == 0 else 1)
            total += product // 10 + product % 10
        return -total % 10

    return check_digits


def _iso_7064(digits: int) -> Rule:
    """The rule ISO 7064 MOD 11,10 for stems of `digits` digits."""

    def check_digits(stems: Stems) -> Stems:
        product = np.full_like(stems, 10)
        for position in reversed(range(digits)):
            total = (product + _digit(stems, position)) % 10
            product = np.where(total == 0, 10, total) * 2 % 11
        return (11 - product) % 10

    return check_digits


def _ico(stems: Stems) -> Stems:
    """The rule of the Czech and Slovak IČO."""
    check = -_weighted_sum(stems, (8, 7, 6, 5, 4, 3, 2)) % 11
    return np.where(check == 0, 1, check) % 10


def _latvian_digit(stems: Stems) -> Stems:
    """The Latvian rule; a stem with 10 is never issued."""
    return (3 - _weighted_sum(stems, (9, 1, 4, 8, 3, 10, 2, 5, 7, 6))) % 11


def _belgian_digits(stems: Stems) -> Stems:
    """The Belgian check of two digits: 97 minus the remainder modulo 97."""
    return 97 - stems % 97


# The rule of each country whose identifiers have a check digit.
RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "BE": _belgian_digits,
        "BG": _two_rounds((1, 2, 3, 4, 5, 6, 7, 8), (3, 4, 5, 6, 7, 8, 9, 10)),
        "CH": _complement(5, 4, 3, 2, 7, 6, 5, 4),
        "CZ": _ico,
        "DK": _complement(2, 7, 6, 5, 4, 3, 2),
        "EE": _two_rounds((1, 2, 3, 4, 5, 6, 7), (3, 4, 5, 6, 7, 8, 9)),
        "ES": _luhn(7),
        "FI": _complement(7, 9, 10, 5, 8, 4, 2),
        "FR": _luhn(8),
        "HR": _iso_7064(10),
        "IT": _luhn(10),
        "LT": _two_rounds((1, 2, 3, 4, 5, 6, 7, 8), (3, 4, 5, 6, 7, 8, 9, 1)),
        "LV": _latvian_digit,
        "NO": _complement(3, 2, 7, 6, 5, 4, 3, 2),
        "PT": _complement_or_zero(9, 8, 7, 6, 5, 4, 3, 2),
        "RO": _complement_or_zero(7, 5, 3, 2, 1, 7, 5, 3, 2),
        "SE": _luhn(9),
        "SK": _ico,
    }
)
# Rules under which some stems have no check digit: at most one of ten stems that differ only in the
# last digit, because the weight of that digit has an inverse modulo 11.
GAPPED: Final = frozenset({"CH", "DK", "FI", "LV", "NO"})
PER_TEN: Final = 9  # stems of ten that certainly have a check digit


def valid_stems(counters: Stems, rule: Rule) -> Stems:
    """The stems of a GAPPED register by number: nine of each ten, all with a check digit."""
    tens, digits = np.divmod(counters, PER_TEN)
    # The last digit, 0 to 9, for which each ten has no check digit; 10 if there is none.
    gaps = np.full_like(counters, 10)
    for digit in range(10):
        gaps[rule(tens * 10 + digit) == 10] = digit
    return tens * 10 + digits + (digits >= gaps)
