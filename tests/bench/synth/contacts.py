"""Contacts: a town with its postal code and region, a street, a website, an e-mail address, a telephone number.

The towns of `villes.csv` have the postal codes of their pattern. Most companies are in small towns, which have rare
words as names, one postal code each, and sizes by a Zipf law. The domain of websites and e-mail addresses is made from
the name.
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
    choice,
    concat,
    fill_pattern,
    generator,
    make_by_group,
    null_unless,
    random_mask,
    zipf,
)

# The shares of companies that have each field.
_TOWN: Final = 0.97
_REGION: Final = 0.7
_STREET: Final = 0.8
_SMALL: Final = 0.6  # in a small town
_SITE: Final = 0.14
_EMAIL: Final = 0.08
_TELEPHONE: Final = 0.09
_DOMAIN: Final = 0.3  # of companies with a website: `domaine` too
_HIGHEST: Final = 250  # house number
# A country has one small town for so many companies, but at least _FEWEST and at most _MOST small towns.
_COMPANIES_PER_TOWN: Final = 300
_FEWEST, _MOST = 40, 8_000
_SLOPE: Final = 0.8  # of the Zipf law of the sizes of small towns
_LONGEST: Final = 40  # characters of a domain before its dot (RFC 1035 allows 63)
# The beginnings of websites, before the domain, with their weights.
_SITE_PREFIX: Final[Choice] = choice(
    ["https://www.", "http://www.", "www.", "https://", ""], [45, 25, 15, 12, 3]
)
# The beginnings of e-mail addresses, before the domain, with their weights.
_MAILBOX: Final[Choice] = choice(
    ["info@", "contact@", "office@", "mail@", "bureau@"], [50, 25, 12, 9, 4]
)
_OTHER_DOMAINS: Final = ("com", "eu")  # top-level domains, besides that of the country
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
    count = min(_MOST, max(_FEWEST, profile.synthetic_n // _COMPANIES_PER_TOWN))
    # The seed of the run is not used, so all runs have these towns.
    rng = generator(0, profile.place, 0, "places", 1)
    towns = (
        names.draw_rare(profile.lexicons[0], rng, 2 * count).unique(maintain_order=True).head(count)
    )
    model_towns = rng.integers(0, len(profile.codes_postaux), len(towns))

    def draw_codes(model_town: int, rows: Indices) -> pl.Series:
        """The postal codes of the small towns that have the pattern of this larger town."""
        return fill_pattern(profile.codes_postaux[model_town], rng, len(rows))

    return SmallTowns(zipf(towns.to_list(), _SLOPE), make_by_group(model_towns, draw_codes))


def draw_places(profile: Profile, rng: Generator, count: int) -> dict[str, pl.Series]:
    """Draw `ville`, `code_postal`, `region` and `adresse`."""
    towns = profile.villes.places(rng, count)
    has_town = random_mask(rng, count, _TOWN)

    def draw_codes(town: int, rows: Indices) -> pl.Series:
        """The postal codes of the companies of one town."""
        return fill_pattern(profile.codes_postaux[town], rng, len(rows))

    small = random_mask(rng, count, _SMALL)
    small_choice = small_towns(profile.iso2)
    ranks = small_choice.towns.places(rng, count)
    is_small = pl.Series(small)
    ville = small_choice.towns.values[ranks].zip_with(is_small, profile.villes.values[towns])
    code_postal = small_choice.codes[ranks].zip_with(is_small, make_by_group(towns, draw_codes))
    return {
        "ville": null_unless(has_town, ville),
        "code_postal": null_unless(has_town, code_postal),
        "region": null_unless(has_town & random_mask(rng, count, _REGION), profile.regions[towns]),
        "adresse": null_unless(
            has_town & random_mask(rng, count, _STREET), _streets(profile, rng, count)
        ),
    }


def _streets(profile: Profile, rng: Generator, count: int) -> pl.Series:
    """Addresses in the pattern of the country: a number, and a surname or a rare word."""
    # The square makes low house numbers the most common.
    numbers = 1 + (rng.random(count) ** 2 * _HIGHEST).astype("int64")
    lexicon = profile.lexicons[0]
    surnames, rare = lexicon.nom.draw(rng, count), names.draw_rare(lexicon, rng, count)
    fields = {
        "n": pl.Series(numbers).cast(pl.String),
        "x": pl.select(
            pl.when(pl.Series(random_mask(rng, count, 0.5))).then(surnames).otherwise(rare)
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
    has_telephone = random_mask(rng, count, _TELEPHONE)
    return {
        "site_web": null_unless(site, concat([_SITE_PREFIX.draw(rng, count), domains])),
        "domaine": null_unless(site & random_mask(rng, count, _DOMAIN), domains),
        "email": null_unless(email, concat([_MAILBOX.draw(rng, count), domains])),
        "telephone": null_unless(has_telephone, fill_pattern(profile.telephone, rng, count)),
    }


def _domains(profile: Profile, bodies: pl.Series, mask: Mask, rng: Generator) -> pl.Series:
    """Domains made of the names `bodies` (without legal form) of the rows in `mask`.

    Null for other rows, and for names without a Latin letter or digit.
    """
    ends = choice([profile.domaine, *_OTHER_DOMAINS], [70, 25, 5]).draw(rng, len(bodies))
    rows_in_mask = pl.Series(np.flatnonzero(mask))
    # The part of a domain before its dot; null for a name without a Latin letter or digit.
    labels = (
        bodies[rows_in_mask]
        .str.to_lowercase()
        .str.normalize("NFKD")
        .str.replace_many(list(_LATIN), list(_LATIN.values()))
        .str.replace_all(r"[^a-z0-9]+", "")
        .str.head(_LONGEST)
        .replace("", None)
    )
    # The first row in `mask` takes the first label, the second takes the second; null for other rows.
    label_of_row = null_unless(mask, np.cumsum(mask) - 1)
    return concat([labels.gather(label_of_row), ".", ends])
