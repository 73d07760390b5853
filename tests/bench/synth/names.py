"""Names of companies: patterns of words, an unlimited supply of rare words, legal forms.

A name is drawn in four steps: its language, its pattern, its words, its form and case. A rare word
joins the beginning of one word, some middles and the end of another. So the number of distinct
words grows with the number of companies, as in a register, and substrings of every length have
every selectivity.
"""

from collections.abc import Callable, Mapping
from string import Formatter
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator

from tests.bench.synth.lexicon import Lexicon, Profile
from tests.bench.synth.random_draws import (
    LETTERS,
    Choice,
    Indices,
    by_group,
    concat,
    null_unless,
    random_mask,
    zipf,
)

REPEATED: Final = 0.03  # share of names that another company has too
_LOWER_CASE: Final = 0.01
# Rare words have Lomax ranks: the first _EVEN are about equally frequent, then frequency falls with
# a tail so long that n companies have about n^_TAIL different words (Estonia: 0.65 at 300 000).
_EVEN: Final = 5_000
_TAIL: Final = 0.45
_LAST: Final = 2.0**52
_NUMBERS: Final = zipf([str(number) for number in (*range(1, 1000), *range(1990, 2030))])


def draw(
    profile: Profile, gabarits: Choice, rng: Generator, count: int
) -> tuple[pl.Series, dict[str, pl.Series]]:
    """Draw names.

    Returns:
        The names without their legal form, and the columns `nom` and `forme`.
    """
    bodies = _bodies(profile, gabarits, rng, count)
    forms = profile.forms.places(rng, count)
    name = concat([profile.before[forms], bodies, profile.after[forms]])
    case = rng.random(count)
    upper = null_unless(case < profile.majuscules, name.str.to_uppercase())
    lower = null_unless(case > 1 - _LOWER_CASE, name.str.to_lowercase())
    columns = {
        "nom": pl.select(pl.coalesce(upper, lower, name)).to_series(),
        "forme": profile.forms.values[forms],
    }
    others = rng.integers(0, count, count)
    kept = np.where(random_mask(rng, count, REPEATED), others, np.arange(count))
    return bodies[kept], {key: column[kept] for key, column in columns.items()}


def _bodies(profile: Profile, gabarits: Choice, rng: Generator, count: int) -> pl.Series:
    languages = profile.languages.places(rng, count)

    def of_language(language: int, rows: Indices) -> pl.Series:
        patterns = gabarits.places(rng, len(rows))
        words = _words(profile.lexicons[language], profile.villes)

        def of_pattern(pattern: int, rows: Indices) -> pl.Series:
            return _fill_pattern(gabarits.values[pattern], words, rng, len(rows))

        return by_group(patterns, of_pattern)

    return by_group(languages, of_language)


Word = Callable[[Generator, int], pl.Series]


def _words(lexicon: Lexicon, villes: Choice) -> Mapping[str, Word]:
    """The generator of each field of a pattern."""
    return {
        "courant": lexicon.courant.draw,
        "nom": lexicon.nom.draw,
        "rare": lambda rng, count: draw_rare(lexicon, rng, count),
        "ville": villes.draw,
        "lettre": lambda rng, count: LETTERS[rng.integers(0, len(LETTERS), count)],
        "nombre": _NUMBERS.draw,
    }


def draw_rare(lexicon: Lexicon, rng: Generator, count: int) -> pl.Series:
    """Draw rare words: the digits of k select the fragments of the k-th word of a language."""
    drawn = _EVEN * (rng.random(count) ** (-1 / _TAIL) - 1)
    rank = np.minimum(drawn, _LAST).astype(np.int64)
    rank, start = np.divmod(rank, len(lexicon.starts))
    rank, end = np.divmod(rank, len(lexicon.ends))
    second, first = np.divmod(rank, len(lexicon.middles))
    middles = (
        null_unless(some, lexicon.middles[part % len(lexicon.middles)]).fill_null("")
        for part, some in ((first, rank > 0), (second, second > 0))
    )
    return concat([lexicon.starts[start], *middles, lexicon.ends[end]])


def _fill_pattern(pattern: str, words: Mapping[str, Word], rng: Generator, count: int) -> pl.Series:
    parts: list[str | pl.Series] = []
    for literal, field, _, _ in Formatter().parse(pattern):
        if literal:
            parts.append(literal)
        if field:
            parts.append(words[field](rng, count))
    return concat(parts)
