"""The values a caller may have meant: what stands beside an error that names an unknown one.

Pure and bounded: a caller chooses the words, so only the first few of a reasonable length are
compared (difflib is quadratic in the length of a word).
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from shards.text import fold

_WORDS: Final = 3  # unknown values that get suggestions
_EACH: Final = 3  # suggestions for a value
_LONGEST: Final = 160  # characters; the longest label of a sector has 138
_ALIKE: Final = 0.6  # difflib's ratio, its own default


def suggestions(words: Iterable[str], known: Mapping[str, str]) -> dict[str, list[str]]:
    """For the first words of `words`, the values of `known` (folded spelling -> value) near them.

    >>> suggestions(["FRA"], {"fr": "FR", "france": "FR", "allemagne": "DE"})
    {'FRA': ['FR']}
    """
    return {word: nearest(word, known) for word in list(words)[:_WORDS]}


def nearest(word: str, known: Mapping[str, str]) -> list[str]:
    """At most three values: those whose spelling contains `word` first, then those alike.

    >>> nearest("paris", {"pays": "pays", "tri": "tri"})
    ['pays']
    """
    folded = fold(word[:_LONGEST])
    if not folded:
        return []
    if folded in known:
        return [known[folded]]
    within = [spelling for spelling in known if len(folded) > 2 and folded in spelling]
    alike = get_close_matches(folded, known, n=_EACH, cutoff=_ALIKE)
    return list(dict.fromkeys(known[spelling] for spelling in (*within, *alike)))[:_EACH]
