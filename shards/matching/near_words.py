"""Words that are nearly the same, of a line and of all companies that it is compared with, found at once.

Distances are those of rapidfuzz (optimal string alignment: two letters that change places are one error).
"""

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

# Shorter words may only lack a letter that the other one has, if that has _LACKING letters, or have two exchanged;
# longer ones differ by one error, and by two from the second length on.
_LACKING: Final = 3
_ONE_ERROR: Final = 4
_TWO_ERRORS: Final = 8
_MOST_ERRORS: Final = 2
_PREFIX: Final = 3
# The distance of a word from its first letters: more than one error, less than two.
BEGINNING: Final = 1.5
# The distance of two short words of which one lacks a letter, behind that of other errors.
SHORT: Final = 1.25
# A letter that is two of the Latin ones is lost where a list could not write it: œuvre is uvre.
_LIGATURES: Final = ("oe", "ae")

_NONE: Final[Mapping[str, float]] = {}

Near = Mapping[
    str, Mapping[str, float]
]  # by a word of the line and one of a company, how far they are apart


def near_words(left: Collection[str], right: Collection[str]) -> Near:
    """The number of errors between words that are near, BEGINNING where one begins the other."""
    ones = [word for word in left if not word.isdigit()]
    others = [word for word in right if not word.isdigit()]
    if not ones or not others:
        return {}
    errors = process.cdist(
        ones, others, scorer=OSA.distance, score_cutoff=_MOST_ERRORS, dtype=np.uint8
    )
    found: dict[str, dict[str, float]] = {}
    for i, j in np.argwhere(errors <= _MOST_ERRORS).tolist():
        cost = _cost(ones[i], others[j], int(errors[i, j]))
        if cost is not None:
            found.setdefault(ones[i], {})[others[j]] = cost
    beginning: dict[str, list[str]] = {}
    for word in others:
        beginning.setdefault(word[0], []).append(word)
    for one in ones:
        of_one = found.get(one, _NONE)
        for other in beginning.get(one[0], ()):
            if other not in of_one and _begins(one, other):
                found.setdefault(one, {})[other] = BEGINNING
    return found


def _cost(word: str, other: str, errors: int) -> float | None:
    """What `errors` between two words count, at most _MOST_ERRORS; None if they are too many for these words."""
    short, long = (other, word) if len(other) < len(word) else (word, other)
    if len(short) >= _ONE_ERROR:
        if errors <= (2 if len(short) >= _TWO_ERRORS else 1):
            return float(errors)
    elif errors == 1 and len(long) >= _LACKING and len(short) > 1 and _is_short_error(short, long):
        return SHORT
    return 1.0 if any(_without_ligature(long, two) == short for two in _LIGATURES) else None


def _begins(word: str, other: str) -> bool:
    """Whether one word is the first letters of the other."""
    short, long = (other, word) if len(other) < len(word) else (word, other)
    return (len(short) >= _PREFIX or len(short) == 1) and long.startswith(short)


def _is_short_error(short: str, long: str) -> bool:
    """Whether the error is a letter that a short word lacks, or two that changed places."""
    return len(long) == len(short) + 1 or sorted(long) == sorted(short)


def _without_ligature(word: str, two: str) -> str:
    head, _, tail = word.partition(two)
    return head + tail
