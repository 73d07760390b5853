"""Identifiers of a register: unique by construction, in its format, with its check digit.

The rows of a country are distributed over the segments of `identifiants.csv` (prefix, range,
share). Within a segment, an affine permutation of the range gives the number. So two rows never
share an identifier, a row needs no other one, and prefixes find from one to very many companies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator

from pipeline.errors import BuildError
from pipeline.seeds import Row
from tests.bench.synth.check_digits import GAPPED, PER_TEN, RULES, valid_stems
from tests.bench.synth.random_draws import (
    Indices,
    by_group,
    concat,
    null_unless,
    random_mask,
    zero_padded,
)

_GOLDEN: Final = 0.6180339887498949
# Spanish control letters, for kinds of organisations that have a letter instead of a digit.
_SPANISH_LETTERS: Final = pl.Series(list("JABCDEFGHI"))
_SPANISH_LETTERED: Final = frozenset("NPQRSW")
# The rule of the Austrian check letter is not public; these are the letters in use.
_AUSTRIAN_LETTERS: Final = pl.Series(list("abdfghikmpstvwxyz"))
_BEFORE_CHECK: Final[Mapping[str, str]] = {"FI": "-"}
_CHECK_WIDTH: Final[Mapping[str, int]] = {"BE": 2}
# Shares of companies.
_WITH_LEI: Final = 0.02
_WITH_VAT: Final = 0.4
_LOU: Final = "9695"  # the prefix of one issuer of LEIs
# What stands before and after the identifier in a VAT number; France has a key of two digits.
_VAT: Final[Mapping[str, tuple[str, str]]] = {
    **{
        iso2: (iso2, "")
        for iso2 in ("BE", "BG", "CZ", "DK", "ES", "FI", "HR", "IT", "LV", "PT", "RO")
    },
    "CH": ("", "MWST"),
    "NO": ("NO", "MVA"),
    "SE": ("SE", "01"),
}


@dataclass(frozen=True, slots=True)
class Segment:
    """A row of `identifiants.csv`: numbers `bas` to `haut` between `debut` and `fin`.

    The numbers have `largeur` digits (0: as many as they need).
    """

    debut: str
    bas: int
    haut: int
    largeur: int
    fin: str
    poids: float

    @property
    def size(self) -> int:
        return self.haut - self.bas + 1


def segments(rows: Sequence[Row], iso2: str) -> tuple[Segment, ...]:
    """The segments of a country; in a GAPPED register, nine of ten numbers count."""
    found = tuple(
        Segment(
            row["debut"],
            int(row["bas"]),
            int(row["haut"]),
            int(row["largeur"]),
            row["fin"],
            float(row["poids"]),
        )
        for row in rows
    )
    if iso2 not in GAPPED:
        return found
    return tuple(
        Segment(
            part.debut,
            part.bas // 10 * PER_TEN,
            (part.haut + 1) // 10 * PER_TEN - 1,
            part.largeur,
            part.fin,
            part.poids,
        )
        for part in found
    )


def share_out(parts: Sequence[Segment], total: int, iso2: str) -> Indices:
    """Share `total` identifiers out to the segments, by weight and within their sizes.

    Raises:
        BuildError: more companies than the register has identifiers.
    """
    sizes = np.array([part.size for part in parts], dtype=np.int64)
    if total > sizes.sum():
        raise BuildError(
            f"{total} companies of {iso2} are more than the {sizes.sum()} identifiers of "
            "identifiants.csv; ask for fewer --companies or add a range there"
        )
    weights = np.array([part.poids for part in parts])
    bounds = np.round(np.cumsum(weights) / weights.sum() * total).astype(np.int64)
    counts: Indices = np.minimum(np.diff(bounds, prepend=0), sizes)
    for place in range(len(parts)):  # the rest of full segments goes to the first with room
        counts[place] += min(total - counts.sum(), sizes[place] - counts[place])
    return counts


def ids(iso2: str, parts: Sequence[Segment], rows: Indices, total: int, shift: int) -> pl.Series:
    """The identifiers of `rows` (numbers below `total`) of a country.

    Args:
        shift: the offset of the permutation; another one gives the same rows other identifiers.
    """
    ends = np.cumsum(share_out(parts, total, iso2))
    places = _permute(rows, total, shift)
    of_segment = np.searchsorted(ends, places, side="right")

    def make(segment: int, at: Indices) -> pl.Series:
        first = ends[segment - 1] if segment else 0
        return _write_numbers(iso2, parts[segment], places[at] - first, shift)

    return by_group(of_segment, make)


def draw_further(iso2: str, ids: pl.Series, rng: Generator) -> dict[str, pl.Series]:
    """Draw `lei`, and `tva` in countries whose VAT number contains the identifier."""
    count = len(ids)
    listed, liable = random_mask(rng, count, _WITH_LEI), random_mask(rng, count, _WITH_VAT)
    bodies = [f"{_LOU}00{number:012}" for number in rng.integers(0, 10**12, int(listed.sum()))]
    rank = null_unless(listed, np.cumsum(listed) - 1)
    leis = pl.Series([body + _lei_check(body) for body in bodies], dtype=pl.String).gather(rank)
    return {"lei": leis, "tva": null_unless(liable, _vat(iso2, ids))}


def _vat(iso2: str, ids: pl.Series) -> pl.Series:
    if iso2 == "FR":
        keys = (12 + 3 * (ids.cast(pl.Int64) % 97)) % 97
        return concat(["FR", zero_padded(keys, 2), ids])
    if iso2 not in _VAT:
        return pl.Series([None], dtype=pl.String).new_from_index(0, len(ids))
    before, after = _VAT[iso2]
    return concat([before, ids.str.replace("-", "", literal=True), after])


def _lei_check(body: str) -> str:
    """The check digits of an LEI (ISO 17442, ISO 7064 MOD 97-10).

    >>> _lei_check("213800WAVVOPS85N22")
    '05'
    """
    digits = "".join(str(int(char, 36)) for char in body)
    return f"{98 - int(digits + '00') % 97:02}"


def _write_numbers(iso2: str, part: Segment, inside: Indices, shift: int) -> pl.Series:
    numbers = part.bas + _permute(inside, part.size, shift)
    rule = RULES.get(iso2)
    digits = "".join(filter(str.isdigit, part.debut))
    if rule is None:
        text = concat([part.debut, zero_padded(numbers, part.largeur), part.fin])
        return concat([text, _AUSTRIAN_LETTERS[numbers * 5 % 17]]) if iso2 == "AT" else text
    if iso2 in GAPPED:
        head = int(digits or 0) * 10**part.largeur
        stems = valid_stems(numbers + head // 10 * PER_TEN, rule)
        numbers = stems - head
    stems = _stems(digits, part, numbers)
    return concat(
        [part.debut, zero_padded(numbers, part.largeur), part.fin, *_check(iso2, part, rule(stems))]
    )


def _stems(digits: str, part: Segment, numbers: Indices) -> Indices:
    whole = int(digits or 0) * 10**part.largeur + numbers
    stems: Indices = whole * 10 ** len(part.fin) + int(part.fin or 0)
    return stems


def _check(iso2: str, part: Segment, checks: Indices) -> Sequence[str | pl.Series]:
    if iso2 == "ES" and part.debut[0] in _SPANISH_LETTERED:
        return [_SPANISH_LETTERS[checks]]
    return [_BEFORE_CHECK.get(iso2, ""), zero_padded(checks, _CHECK_WIDTH.get(iso2, 1))]


def _permute(numbers: Indices, size: int, shift: int) -> Indices:
    """An affine permutation of 0 … size - 1, applied to `numbers`."""
    step = max(1, int(size * _GOLDEN))
    while gcd(step, size) != 1:
        step += 1
    permuted: Indices = (numbers * step + shift % size) % size
    return permuted
