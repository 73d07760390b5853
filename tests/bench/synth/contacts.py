"""Contacts: a town with its postal code and region, a street, a website, an e-mail address, a telephone number.

The towns of `villes.csv` have the postal codes of their pattern. Small towns, which most companies
are in, have rare words as names, one postal code each, and sizes by a Zipf law. The domain of a website and of an
e-mail address is made of the name.
"""

from collections.abc import Mapping
from functools import cache
from string import Formatter
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.random import Generator

from tests.bench.synth import lexicon as lexicons
from tests.bench.synth import names
from tests.bench.synth.lexicon import Profile
from tests.bench.synth.random_draws import (
    Choice,
    Indices,
    Mask,
    by_group,
    choice,
    concat,
    fill_pattern,
    generator,
    null_unless,
    random_mask,
    zipf,
)

# Shares of companies.
_TOWN: Final = 0.97
_REGION: Final = 0.7
_STREET: Final = 0.8
_SMALL: Final = 0.6  # in a small town
_SITE: Final = 0.14
_EMAIL: Final = 0.08
_TELEPHONE: Final = 0.09
_DOMAIN: Final = 0.3  # of those with a site: the domain is given too
_HIGHEST: Final = 250  # house number
# Small towns of a country: one for so many companies, within these bounds.
_COMPANIES: Final = 300
_FEWEST, _MOST = 40, 8_000
_SLOPE: Final = 0.8  # of their Zipf law
_LONGEST: Final = 40  # characters of a label, at most 63 by RFC 1035
_BEFORE: Final[Choice] = choice(
    ["https://www.", "http://www.", "www.", "https://", ""], [45, 25, 15, 12, 3]
)
_BOX: Final[Choice] = choice(
    ["info@", "contact@", "office@", "mail@", "bureau@"], [50, 25, 12, 9, 4]
)
_OTHER_DOMAINS: Final = ("com", "eu")
# Letters that NFKD does not decompose: with a stroke, ligatures, Cyrillic.
_LATIN: Final[Mapping[str, str]] = {
    "ß": "ss", "œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "þ": "th", "ı": "i",
    **dict(zip("абвгдезийклмнопрстуфхъьыэ", "abvgdeziyklmnoprstufhayye", strict=True)),
    "ж": "zh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sht", "ю": "yu", "я": "ya",
}  # fmt: skip


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


def draw_places(profile: Profile, rng: Generator, count: int) -> dict[str, pl.Series]:
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


def draw_contacts(profile: Profile, bodies: pl.Series, rng: Generator) -> dict[str, pl.Series]:
    """Draw `site_web`, `domaine`, `email` and `telephone`.

    Args:
        bodies: the names without their legal form.
    """
    count = len(bodies)
    site, email = random_mask(rng, count, _SITE), random_mask(rng, count, _EMAIL)
    domains = _domains(profile, bodies, site | email, rng)
    numbered = random_mask(rng, count, _TELEPHONE)
    return {
        "site_web": null_unless(site, concat([_BEFORE.draw(rng, count), domains])),
        "domaine": null_unless(site & random_mask(rng, count, _DOMAIN), domains),
        "email": null_unless(email, concat([_BOX.draw(rng, count), domains])),
        "telephone": null_unless(numbered, fill_pattern(profile.telephone, rng, count)),
    }


def _domains(profile: Profile, bodies: pl.Series, wanted: Mask, rng: Generator) -> pl.Series:
    """Domains of the wanted rows; null for other rows and for names without a Latin letter."""
    ends = choice([profile.domaine, *_OTHER_DOMAINS], [70, 25, 5]).draw(rng, len(bodies))
    chosen = pl.Series(np.flatnonzero(wanted))
    labels = (
        bodies[chosen]
        .str.to_lowercase()
        .str.normalize("NFKD")
        .str.replace_many(list(_LATIN), list(_LATIN.values()))
        .str.replace_all(r"[^a-z0-9]+", "")
        .str.head(_LONGEST)
        .replace("", None)
    )
    rank = null_unless(wanted, np.cumsum(wanted) - 1)
    return concat([labels.gather(rank), ".", ends])
