"""One chunk of a country: its companies and their statement lines, as frames."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from pipeline.canonical import COMPANIES
from tests.bench.synth import activities, amounts, contacts, identifiers, names, places, statements
from tests.bench.synth.lexicon import Profile, World
from tests.bench.synth.random_draws import generator, null_unless, random_mask

_DESCRIBED: Final = 0.02  # share of companies with a description
_SUBJECTS: Final = (
    "names", "activities", "places", "figures", "contacts", "further identifiers",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows `start` to `start + rows - 1` of the `total` of a country; `number` counts its chunks."""

    iso2: str
    number: int
    start: int
    rows: int
    total: int
    seed: int
    comptes: float  # share of the companies with statements


def companies(chunk: Chunk, world: World) -> pl.DataFrame:
    """Draw the companies, in canonical columns; columns that are not drawn are left out."""
    profile = world.profile(chunk.iso2)
    draw = {
        subject: generator(chunk.seed, profile.place, chunk.number, subject)
        for subject in _SUBJECTS
    }
    rows = np.arange(chunk.start, chunk.start + chunk.rows)
    bodies, named = names.draw(profile, world.gabarits, draw["names"], chunk.rows)
    ids = identifiers.ids(
        chunk.iso2, profile.segments, rows, chunk.total, _shift(chunk.seed, profile)
    )
    columns = {
        "iso2": pl.repeat(chunk.iso2, chunk.rows, eager=True),
        "id": ids,
        **named,
        "statut": profile.statuts.draw(draw["figures"], chunk.rows),
        **activities.draw(profile.codes, draw["activities"], chunk.rows),
        **places.draw(profile, draw["places"], chunk.rows),
        **amounts.draw(profile, draw["figures"], chunk.rows),
        **contacts.draw(profile, bodies, draw["contacts"]),
        **identifiers.draw_further(chunk.iso2, ids, draw["further identifiers"]),
    }
    columns["description"] = null_unless(
        random_mask(draw["contacts"], chunk.rows, _DESCRIBED), columns["activite"]
    )
    return pl.DataFrame({name: columns[name] for name in COMPANIES if name in columns})


def lines(chunk: Chunk, part: int, companies: pl.DataFrame, world: World) -> pl.DataFrame:
    """Draw the statement lines of a share `chunk.comptes` of `companies`.

    Args:
        part: the number of this slice of the chunk, which seeds its generator.
    """
    profile = world.profile(chunk.iso2)
    rng = generator(chunk.seed, profile.place, chunk.number, "statements", part)
    kept = companies.filter(pl.Series(random_mask(rng, companies.height, chunk.comptes)))
    return statements.draw(kept, profile, world.lines, rng)


def _shift(seed: int, profile: Profile) -> int:
    """The offset of the identifiers of a country, the same in all its chunks."""
    return int(generator(seed, profile.place, 0, "identifiers").integers(0, 2**31))
