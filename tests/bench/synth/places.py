"""Places: a town with its postal code and region, and a street.

The towns of `seeds/villes.csv` have the postal codes of their pattern. Small towns, which most companies
are in, have rare words as names, one postal code each, and sizes by a Zipf law.
"""

from functools import cache
from string import Formatter
from typing import Final, NamedTuple

import polars as pl
from numpy.random import Generator

from tests.bench.synth import lexicon as lexicons
from tests.bench.synth import names
from tests.bench.synth.lexicon import Profile
from tests.bench.synth.random_draws import (
    Choice,
    Indices,
    by_group,
    concat,
    fill_pattern,
    generator,
    null_unless,
    random_mask,
    zipf,
)

_TOWN: Final = 0.97  # shares of companies with a town, region, street
_REGION: Final = 0.7
_STREET: Final = 0.8
_HIGHEST: Final = 250  # house number
_SMALL: Final = 0.6  # share of companies in a small town
# Small towns of a country: one for so many companies, within these bounds.
_COMPANIES: Final = 300
_FEWEST, _MOST = 40, 8_000
_SLOPE: Final = 0.8  # of their Zipf law


class SmallTowns(NamedTuple):
    """The small towns of a country by descending size, and the postal code of each."""

    towns: Choice
    codes: pl.Series


@cache
def small_towns(iso2: str) -> SmallTowns:
    """The small towns of a country, always the same."""
    profile = lexicons.load().profile(iso2)
    count = min(_MOST, max(_FEWEST, profile.synthetic_n // _COMPANIES))
    rng = generator(0, profile.place, 0, "places", 1)
    found = (
        names.draw_rare(profile.lexicons[0], rng, 2 * count).unique(maintain_order=True).head(count)
    )
    near = rng.integers(0, len(profile.codes_postaux), len(found))

    def code(town: int, rows: Indices) -> pl.Series:
        return fill_pattern(profile.codes_postaux[town], rng, len(rows))

    return SmallTowns(zipf(found.to_list(), _SLOPE), by_group(near, code))


def draw(profile: Profile, rng: Generator, count: int) -> dict[str, pl.Series]:
    """Draw `ville`, `code_postal`, `region` and `adresse`."""
    towns = profile.villes.places(rng, count)
    known = random_mask(rng, count, _TOWN)

    def code(town: int, rows: Indices) -> pl.Series:
        return fill_pattern(profile.codes_postaux[town], rng, len(rows))

    small = random_mask(rng, count, _SMALL)
    others = small_towns(profile.iso2)
    ranks = others.towns.places(rng, count)
    is_small = pl.Series(small)
    ville = others.towns.values[ranks].zip_with(is_small, profile.villes.values[towns])
    code_postal = others.codes[ranks].zip_with(is_small, by_group(towns, code))
    return {
        "ville": null_unless(known, ville),
        "code_postal": null_unless(known, code_postal),
        "region": null_unless(known & random_mask(rng, count, _REGION), profile.regions[towns]),
        "adresse": null_unless(
            known & random_mask(rng, count, _STREET), _streets(profile, rng, count)
        ),
    }


def _streets(profile: Profile, rng: Generator, count: int) -> pl.Series:
    # The square makes low house numbers the most common.
    numbers = 1 + (rng.random(count) ** 2 * _HIGHEST).astype("int64")
    lexicon = profile.lexicons[0]
    known, odd = lexicon.nom.draw(rng, count), names.draw_rare(lexicon, rng, count)
    fields = {
        "n": pl.Series(numbers).cast(pl.String),
        "x": pl.select(
            pl.when(pl.Series(random_mask(rng, count, 0.5))).then(known).otherwise(odd)
        ).to_series(),
    }
    parts: list[str | pl.Series] = []
    for literal, field, _, _ in Formatter().parse(profile.rue):
        parts += [literal] if literal else []
        parts += [fields[field]] if field else []
    return concat(parts)
