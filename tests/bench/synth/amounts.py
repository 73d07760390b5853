"""Figures and dates: headcount, turnover, capital, assets, correlated as in published accounts.

Shares and shapes are as observed: almost half of the companies state no headcount, few have over 250 persons (Pareto
tail), turnover is lognormal around a median that grows with the headcount, most companies are young. Amounts are in the
currency of the country in the year, as published.
"""

from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator

from pipeline.stages.derived_fields import band
from tests.bench.synth.lexicon import YEARS, Profile
from tests.bench.synth.random_draws import Indices, Mask, Numbers, choice, null_unless, random_mask

_LAST_DAY: Final = np.datetime64("2026-10-31")  # the date of the newest companies
_YEAR_DAYS: Final = 365.25
_MEAN_AGE: Final = 9.5  # years
_OLD: Final = 0.06  # share of companies older than 25 years
# The precision of dates of creation ("": no date), with the weights in percent.
_DATED: Final = choice(["YYYY-MM-DD", "YYYY-MM", "YYYY", ""], [95, 1, 2, 2])

# Classes of headcount, named by their lowest value; _LOWEST and _HIGHEST are their bounds.
_CLASSES: Final = choice(["unknown", "0", "1", "10", "50", "250"], [45, 22, 29, 3.2, 0.64, 0.16])
_LOWEST: Final = np.array([0, 0, 1, 10, 50, 250])
_HIGHEST: Final = np.array([0, 0, 9, 49, 249, 150_000])
_PARETO: Final = 1.22  # exponent of headcounts within a class
_BAND_ONLY: Final = 0.2  # share of stated headcounts with only a band

# The fiscal years of turnovers.
_OF_YEARS: Final = choice([str(year) for year in YEARS], [45, 35, 12, 5, 3])
_SIGMA: Final = 1.9  # standard deviation of the logarithm of turnovers
# Medians of turnovers in euros: of an unknown headcount, of no persons, and for each person.
_MEDIANS: Final = (60_000.0, 40_000.0, 35_000.0)
_MOST: Final = 4e11  # euros of turnover
_NO_TURNOVER: Final = 0.06  # share of turnovers that are 0
_NEGATIVE: Final = 0.0005  # share of negative turnovers
_IN_EUROS: Final = 0.03  # share with `ca_eur` as published
_EUROS_ALONE: Final = 0.5  # share of these without another amount
# The units in which turnovers are published (1, thousands, millions), with the weights in percent.
_MULTIPLIERS: Final = choice(["1", "1000", "1000000"], [85, 13, 2])
_MILLIONS: Final = 5e6  # smallest amount published in millions
_CENTS: Final = 0.3  # share of amounts with cents

_ASSETS: Final = (0.26, 0.84)  # share with total assets, without and with turnover
_CAPITAL: Final = 0.4  # share with a capital
# The capital as a multiple of the usual capital of the country, with the weights.
_TIMES: Final = choice(
    ["1", "2", "5", "10", "0.1", "20", "50", "100", "3", "1000", "0"],
    [55, 9, 8, 8, 6, 4, 3, 3, 2.5, 1, 0.5],
)
_TIMES_NUMBERS: Final = _TIMES.values.cast(pl.Float64).to_numpy()
_MULTIPLIER_NUMBERS: Final = 10 ** np.array([0, 3, 6])
_LISTED: Final = 0.0004  # share on a stock exchange
_LISTING_UNKNOWN: Final = 0.3  # share without `est_cotee`


def draw(profile: Profile, rng: Generator, count: int) -> dict[str, pl.Series]:
    """Draw dates, headcount, turnover, assets, capital and `est_cotee`."""
    staff, stated = _staff(rng, count)
    years = _OF_YEARS.places(rng, count)
    has_turnover = random_mask(rng, count, profile.avec_ca)
    euros = _turnover(rng, staff, stated)
    return {
        "date_creation": _dates(rng, count),
        **_headcount(rng, staff, stated),
        **_amounts(profile, rng, euros, has_turnover, years),
        **_assets(profile, rng, euros, has_turnover, years),
        **_capital(profile, rng, count),
        "est_cotee": null_unless(
            ~random_mask(rng, count, _LISTING_UNKNOWN), random_mask(rng, count, _LISTED)
        ),
    }


def _dates(rng: Generator, count: int) -> pl.Series:
    """Creation dates; some lack the day or the month, or are null."""
    old = random_mask(rng, count, _OLD)
    age = np.where(old, 25 + rng.exponential(18, count), rng.exponential(_MEAN_AGE, count))
    days = _LAST_DAY - (np.minimum(age, 220) * _YEAR_DAYS).astype("timedelta64[D]")
    lengths = _DATED.values.str.len_bytes()[_DATED.places(rng, count)]
    text = pl.Series(days).cast(pl.Date).dt.to_string("iso")
    return pl.select(pl.lit(text).str.head(pl.lit(lengths)).replace("", None)).to_series()


def _staff(rng: Generator, count: int) -> tuple[Indices, Mask]:
    """Draw headcounts (0 if not stated), and a mask of the stated headcounts."""
    classes = _CLASSES.places(rng, count)
    low, high = _LOWEST[classes], _HIGHEST[classes]
    # Inverse transform of a Pareto distribution truncated at both ends.
    lowest = np.maximum(low, 1.0)
    tail = 1 - (lowest / (high + 1.0)) ** _PARETO
    headcounts = lowest * (1 - rng.random(count) * tail) ** (-1 / _PARETO)
    return np.clip(headcounts.astype(np.int64), low, high), classes > 0


def _headcount(rng: Generator, staff: Indices, stated: Mask) -> dict[str, pl.Series]:
    """The columns of the headcount: a number, or only its band."""
    band_only = stated & random_mask(rng, len(staff), _BAND_ONLY)
    bands = pl.select(band(pl.lit(pl.Series(staff)))).to_series()
    return {
        "effectif": null_unless(stated & ~band_only, staff),
        "tranche_effectif": null_unless(band_only, bands),
    }


def _turnover(rng: Generator, staff: Indices, stated: Mask) -> Numbers:
    """Turnovers in euros, lognormal around a median that grows with the headcount."""
    unknown, nobody, per_person = _MEDIANS
    median = np.where(stated, np.where(staff == 0, nobody, per_person * staff), unknown)
    count = len(staff)
    euros = np.minimum(median * np.exp(_SIGMA * rng.standard_normal(count)), _MOST)
    euros[random_mask(rng, count, _NO_TURNOVER)] = 0
    signed: Numbers = np.where(random_mask(rng, count, _NEGATIVE), -euros, euros)
    return signed


def _amounts(
    profile: Profile, rng: Generator, euros: Numbers, has_turnover: Mask, years: Indices
) -> dict[str, pl.Series]:
    """The columns of the turnovers `euros`, as published: amount, multiple (1, 1 000 ...), currency and year.

    Some companies also have the euros, some have only these; `years` are places in YEARS.
    """
    count = len(euros)
    local = euros * np.array(profile.taux)[years]
    scale = _MULTIPLIER_NUMBERS[_MULTIPLIERS.places(rng, count)]
    scale[(scale > 1000) & (np.abs(local) < _MILLIONS)] = 1
    precision = np.where(random_mask(rng, count, _CENTS), 100.0, 1.0)
    amounts = np.round(local / scale * precision) / precision + 0.0  # + 0.0 makes -0.0 a 0
    in_euros = has_turnover & random_mask(rng, count, _IN_EUROS)
    published = has_turnover & ~(in_euros & random_mask(rng, count, _EUROS_ALONE))
    exact_euros = np.round(amounts * scale / np.array(profile.taux)[years], 2)
    return {
        "ca_eur": null_unless(in_euros, exact_euros),
        "ca_last": null_unless(published, amounts),
        "ca_mult": null_unless(published, scale),
        "ca_devise": null_unless(published, pl.Series(profile.devises)[years]),
        "ca_year": null_unless(has_turnover, np.array(YEARS)[years]),
    }


def _assets(
    profile: Profile, rng: Generator, euros: Numbers, has_turnover: Mask, years: Indices
) -> dict[str, pl.Series]:
    """The columns of total assets, in proportion to the turnover; a company with a turnover states them more often."""
    count = len(euros)
    without_turnover, with_turnover = _ASSETS
    stated = rng.random(count) < np.where(has_turnover, with_turnover, without_turnover)
    total = (np.abs(euros) + 2000) * np.exp(rng.normal(-0.2, 0.9, count))
    scale = np.where(random_mask(rng, count, 0.1), 1000, 1)
    return {
        "total_actif_last": null_unless(
            stated, np.round(total * np.array(profile.taux)[years] / scale)
        ),
        "exercice_actif": null_unless(stated, np.array(YEARS)[years]),
        "devise": null_unless(stated, pl.Series(profile.devises)[years]),
        "unite_mult": null_unless(stated, scale),
    }


def _capital(profile: Profile, rng: Generator, count: int) -> dict[str, pl.Series]:
    """The columns of the capital."""
    stated = random_mask(rng, count, _CAPITAL)
    amount = np.round(profile.capital * _TIMES_NUMBERS[_TIMES.places(rng, count)], 2)
    return {
        "capital_social": null_unless(stated, amount),
        "capital_devise": null_unless(stated, pl.repeat(profile.devise, count, eager=True)),
    }
