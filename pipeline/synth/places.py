"""Places: a town with its postal code and region, and a street."""

from string import Formatter
from typing import Final

import polars as pl
from numpy.random import Generator

from pipeline.synth import names
from pipeline.synth.lexicon import Profile
from pipeline.synth.random_draws import (
    Indices,
    by_group,
    concat,
    fill_pattern,
    null_unless,
    random_mask,
)

_TOWN: Final = 0.97  # shares of companies with a town, region, street
_REGION: Final = 0.7
_STREET: Final = 0.8
_HIGHEST: Final = 250  # house number


def draw(profile: Profile, rng: Generator, count: int) -> dict[str, pl.Series]:
    """Draw `ville`, `code_postal`, `region` and `adresse`."""
    towns = profile.villes.places(rng, count)
    known = random_mask(rng, count, _TOWN)

    def code(town: int, rows: Indices) -> pl.Series:
        return fill_pattern(profile.codes_postaux[town], rng, len(rows))

    return {
        "ville": null_unless(known, profile.villes.values[towns]),
        "code_postal": null_unless(known, by_group(towns, code)),
        "region": null_unless(known & random_mask(rng, count, _REGION), profile.regions[towns]),
        "adresse": null_unless(
            known & random_mask(rng, count, _STREET), _streets(profile, rng, count)
        ),
    }


def _streets(profile: Profile, rng: Generator, count: int) -> pl.Series:
    # The square makes low house numbers the most common.
    numbers = 1 + (rng.random(count) ** 2 * _HIGHEST).astype("int64")
    lexicon = profile.lexicons[0]
    known, odd = lexicon.nom.draw(rng, count), names.rare(lexicon, rng, count)
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
