"""Check digits of the registers, over whole columns: from a stem, the digits before, to its check.

A rule takes the stems as int64 and returns the check digit of each, or 10 where a stem has none and
the register never gives it out. The rules are those of python-stdnum, to which the tests hold them;
Slovakia and Lithuania, which it does not know, follow `id_check_digit` of `seeds/pays.csv`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

Stems = NDArray[np.int64]
Rule = Callable[[Stems], Stems]


def _digit(stems: Stems, from_right: int) -> Stems:
    digits: Stems = stems // 10**from_right % 10
    return digits


def _weighted(stems: Stems, weights: tuple[int, ...]) -> Stems:
    """The sum of the digits times `weights`; the last weight is of the last digit."""
    total = np.zeros_like(stems)
    for place, weight in enumerate(reversed(weights)):
        total += weight * _digit(stems, place)
    return total


def _complement(*weights: int) -> Rule:
    """What is missing to a multiple of 11; 10 is never given out."""
    return lambda stems: -_weighted(stems, weights) % 11


def _complement_or_zero(*weights: int) -> Rule:
    """The same, 10 written 0."""
    return lambda stems: -_weighted(stems, weights) % 11 % 10


def _twice(first: tuple[int, ...], second: tuple[int, ...]) -> Rule:
    """The remainder by 11; where that is 10, by other weights; where it is 10 again, 0."""

    def rule(stems: Stems) -> Stems:
        once = _weighted(stems, first) % 11
        return np.where(once == 10, _weighted(stems, second) % 11 % 10, once)

    return rule


def _luhn(digits: int) -> Rule:
    def rule(stems: Stems) -> Stems:
        total = np.zeros_like(stems)
        for place in range(digits):
            doubled = _digit(stems, place) * (2 if place % 2 == 0 else 1)
            total += doubled // 10 + doubled % 10
        return -total % 10

    return rule


def _iso_7064(digits: int) -> Rule:
    """ISO 7064 MOD 11,10."""

    def rule(stems: Stems) -> Stems:
        product = np.full_like(stems, 10)
        for place in reversed(range(digits)):
            total = (product + _digit(stems, place)) % 10
            product = np.where(total == 0, 10, total) * 2 % 11
        return (11 - product) % 10

    return rule


def _ico(stems: Stems) -> Stems:
    """The common rule of the Czech and Slovak IČO."""
    check = -_weighted(stems, (8, 7, 6, 5, 4, 3, 2)) % 11
    return np.where(check == 0, 1, check) % 10


def _latvian(stems: Stems) -> Stems:
    return (3 - _weighted(stems, (9, 1, 4, 8, 3, 10, 2, 5, 7, 6))) % 11


def _belgian(stems: Stems) -> Stems:
    """Two digits."""
    return 97 - stems % 97


RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "BE": _belgian,
        "BG": _twice((1, 2, 3, 4, 5, 6, 7, 8), (3, 4, 5, 6, 7, 8, 9, 10)),
        "CH": _complement(5, 4, 3, 2, 7, 6, 5, 4),
        "CZ": _ico,
        "DK": _complement(2, 7, 6, 5, 4, 3, 2),
        "EE": _twice((1, 2, 3, 4, 5, 6, 7), (3, 4, 5, 6, 7, 8, 9)),
        "ES": _luhn(7),
        "FI": _complement(7, 9, 10, 5, 8, 4, 2),
        "FR": _luhn(8),
        "HR": _iso_7064(10),
        "IT": _luhn(10),
        "LT": _twice((1, 2, 3, 4, 5, 6, 7, 8), (3, 4, 5, 6, 7, 8, 9, 1)),
        "LV": _latvian,
        "NO": _complement(3, 2, 7, 6, 5, 4, 3, 2),
        "PT": _complement_or_zero(9, 8, 7, 6, 5, 4, 3, 2),
        "RO": _complement_or_zero(7, 5, 3, 2, 1, 7, 5, 3, 2),
        "SE": _luhn(9),
        "SK": _ico,
    }
)
# Rules by which some stems have no check digit: of ten stems that differ in the last digit only,
# at most one, because the weight of that digit has an inverse modulo 11.
GAPPED: Final = frozenset({"CH", "DK", "FI", "LV", "NO"})
PER_TEN: Final = 9  # stems of ten that surely have one


def valid_stems(counters: Stems, rule: Rule) -> Stems:
    """The stems of a GAPPED register by number: nine of each ten, none without a check."""
    tens, last = np.divmod(counters, PER_TEN)
    missing = np.full_like(counters, 10)
    for digit in range(10):
        missing[rule(tens * 10 + digit) == 10] = digit
    return tens * 10 + last + (last >= missing)
