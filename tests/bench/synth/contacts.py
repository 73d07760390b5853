"""Contacts: a website and an e-mail address with a domain made of the name, a telephone number."""

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator

from tests.bench.synth.lexicon import Profile
from tests.bench.synth.random_draws import (
    Choice,
    Mask,
    choice,
    concat,
    fill_pattern,
    null_unless,
    random_mask,
)

# Shares of companies.
_SITE: Final = 0.14
_EMAIL: Final = 0.08
_TELEPHONE: Final = 0.09
_DOMAIN: Final = 0.3  # of those with a site: the domain is given too
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


def draw(profile: Profile, bodies: pl.Series, rng: Generator) -> dict[str, pl.Series]:
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
