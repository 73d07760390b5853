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
    concat,
    make_by_group,
    null_unless,
    random_mask,
    zipf,
)

REPEATED: Final = 0.03  # share of names that another company has too
_LOWER_CASE: Final = 0.01  # share of names in lower case
# Rare words have Lomax ranks: the first _EVEN are about equally frequent, then frequency falls with
# a tail so long that n companies have about n^_TAIL different words (Estonia: 0.65 at 300 000).
_EVEN: Final = 5_000
_TAIL: Final = 0.45
_LAST: Final = 2.0**52  # the greatest rank of a word, exact in a float
# The numbers in names: small numbers and years.
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
    case_draw = rng.random(count)
    upper = null_unless(case_draw < profile.majuscules, name.str.to_uppercase())
    lower = null_unless(case_draw > 1 - _LOWER_CASE, name.str.to_lowercase())
    columns = {
        "nom": pl.select(pl.coalesce(upper, lower, name)).to_series(),
        "forme": profile.forms.values[forms],
    }
    other_rows = rng.integers(0, count, count)
    sources = np.where(random_mask(rng, count, REPEATED), other_rows, np.arange(count))
    return bodies[sources], {key: column[sources] for key, column in columns.items()}


def _bodies(profile: Profile, gabarits: Choice, rng: Generator, count: int) -> pl.Series:
    """Draw `count` names without their legal form; each row draws a language, a pattern, then words for its gaps."""
    languages = profile.languages.places(rng, count)

    def draw_language(language: int, rows: Indices) -> pl.Series:
        """The names of the rows of one language."""
        patterns = gabarits.places(rng, len(rows))
        words = _words(profile.lexicons[language], profile.villes)

        def draw_pattern(pattern: int, rows: Indices) -> pl.Series:
            """The names of the rows of one pattern of the language."""
            return _fill_pattern(gabarits.values[pattern], words, rng, len(rows))

        return make_by_group(patterns, draw_pattern)

    return make_by_group(languages, draw_language)


Word = Callable[[Generator, int], pl.Series]  # draws a number of words


def _words(lexicon: Lexicon, villes: Choice) -> Mapping[str, Word]:
    """For each field of a name pattern, such as `ville`: the function that draws `count` words for it."""
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
    ranks = _EVEN * (rng.random(count) ** (-1 / _TAIL) - 1)
    rank = np.minimum(ranks, _LAST).astype(np.int64)
    rank, start = np.divmod(rank, len(lexicon.starts))
    rank, end = np.divmod(rank, len(lexicon.ends))
    second_middle, first_middle = np.divmod(rank, len(lexicon.middles))
    middles = (
        null_unless(is_present, lexicon.middles[digit % len(lexicon.middles)]).fill_null("")
        for digit, is_present in ((first_middle, rank > 0), (second_middle, second_middle > 0))
    )
    return concat([lexicon.starts[start], *middles, lexicon.ends[end]])


def _fill_pattern(pattern: str, words: Mapping[str, Word], rng: Generator, count: int) -> pl.Series:
    """Draw the fields of a pattern such as `{nom} {courant}`, `count` times."""
    parts: list[str | pl.Series] = []
    for literal, field, _, _ in Formatter().parse(pattern):
        if literal:
            parts.append(literal)
        if field:
            parts.append(words[field](rng, count))
    return concat(parts)
