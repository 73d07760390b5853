"""Identifiers of a register: unique by construction, in its format, with its check digit.

The rows of a country are distributed over the segments of `identifiants.csv` (prefix, range,
share). Within a segment, an affine permutation of the range gives the number. So two rows never
share an identifier, rows do not depend on each other, and prefixes match one to very many companies.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator

from pipeline.errors import BuildError
from pipeline.seeds import TableRow
from tests.bench.synth.check_digits import GAPPED, PER_TEN, RULES, valid_stems
from tests.bench.synth.random_draws import (
    Indices,
    concat,
    make_by_group,
    null_unless,
    random_mask,
    zero_padded,
)

_GOLDEN: Final = 0.6180339887498949  # a step of this share of a range spreads numbers evenly
# Spanish control letters, for kinds of organisations that have a letter instead of a digit.
_SPANISH_LETTERS: Final = pl.Series(list("JABCDEFGHI"))
# First letters of identifiers that end with a letter.
_SPANISH_LETTERED: Final = frozenset("NPQRSW")
# The rule of the Austrian check letter is not public; these are the letters in use.
_AUSTRIAN_LETTERS: Final = pl.Series(list("abdfghikmpstvwxyz"))
_BEFORE_CHECK: Final[Mapping[str, str]] = {"FI": "-"}  # the text before the check digit
_CHECK_WIDTH: Final[Mapping[str, int]] = {"BE": 2}  # digits of the check, elsewhere 1
# Shares of companies.
_WITH_LEI: Final = 0.02
_WITH_VAT: Final = 0.4
_LEI_PREFIX: Final = "9695"  # the prefix of one issuer of LEIs
# The text before and after the identifier in a VAT number; France has a key of two digits.
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
        """The number of identifiers of the segment."""
        return self.haut - self.bas + 1


def segments(rows: Sequence[TableRow], iso2: str) -> tuple[Segment, ...]:
    """The segments of a country, with bounds that count identifiers.

    In a GAPPED register one number in ten has no check digit, so it is no identifier: ten numbers are nine identifiers.
    """
    ranges = tuple(
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
        return ranges
    return tuple(
        Segment(
            part.debut,
            part.bas // 10 * PER_TEN,
            (part.haut + 1) // 10 * PER_TEN - 1,
            part.largeur,
            part.fin,
            part.poids,
        )
        for part in ranges
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
            "identifiants.csv; use fewer --companies or add a range there"
        )
    weights = np.array([part.poids for part in parts])
    bounds = np.round(np.cumsum(weights) / weights.sum() * total).astype(np.int64)
    counts: Indices = np.minimum(np.diff(bounds, prepend=0), sizes)
    for number in range(len(parts)):  # companies that do not fit go to the first segment with room
        counts[number] += min(total - counts.sum(), sizes[number] - counts[number])
    return counts


def ids(iso2: str, parts: Sequence[Segment], rows: Indices, total: int, shift: int) -> pl.Series:
    """The identifiers of `rows` (numbers below `total`) of a country.

    Args:
        shift: the offset of the permutation; with another offset the rows get other identifiers.
    """
    ends = np.cumsum(share_out(parts, total, iso2))
    positions = _permute(rows, total, shift)
    segment_of_row = np.searchsorted(ends, positions, side="right")

    def write_segment(segment: int, group_rows: Indices) -> pl.Series:
        """The identifiers of the rows of one segment; their numbers begin at 0 in each segment."""
        first_position = ends[segment - 1] if segment else 0
        return _write_numbers(iso2, parts[segment], positions[group_rows] - first_position, shift)

    return make_by_group(segment_of_row, write_segment)


def draw_lei_and_vat(iso2: str, ids: pl.Series, rng: Generator) -> dict[str, pl.Series]:
    """Draw `lei`, and `tva` in countries whose VAT number contains the identifier."""
    count = len(ids)
    has_lei, has_vat = random_mask(rng, count, _WITH_LEI), random_mask(rng, count, _WITH_VAT)
    bodies = [
        f"{_LEI_PREFIX}00{number:012}" for number in rng.integers(0, 10**12, int(has_lei.sum()))
    ]
    # The first company with an LEI takes the first body, the second takes the second; null for the others.
    body_of_row = null_unless(has_lei, np.cumsum(has_lei) - 1)
    leis = pl.Series([body + _lei_check(body) for body in bodies], dtype=pl.String)
    return {"lei": leis.gather(body_of_row), "tva": null_unless(has_vat, _vat(iso2, ids))}


def _vat(iso2: str, ids: pl.Series) -> pl.Series:
    """VAT numbers from identifiers; null in countries where they are not related."""
    if iso2 == "FR":
        vat_keys = (12 + 3 * (ids.cast(pl.Int64) % 97)) % 97
        return concat(["FR", zero_padded(vat_keys, 2), ids])
    if iso2 not in _VAT:
        return pl.Series([None], dtype=pl.String).new_from_index(0, len(ids))
    prefix, suffix = _VAT[iso2]
    return concat([prefix, ids.str.replace("-", "", literal=True), suffix])


def _lei_check(body: str) -> str:
    """The check digits of an LEI (ISO 17442, ISO 7064 MOD 97-10).

    >>> _lei_check("213800WAVVOPS85N22")
    '05'
    """
    digits = "".join(str(int(char, 36)) for char in body)
    return f"{98 - int(digits + '00') % 97:02}"


def _write_numbers(iso2: str, segment: Segment, positions: Indices, shift: int) -> pl.Series:
    """The identifiers at `positions` of a segment, with their check digits."""
    numbers = segment.bas + _permute(positions, segment.size, shift)
    rule = RULES.get(iso2)
    digits = "".join(filter(str.isdigit, segment.debut))
    if rule is None:
        text = concat([segment.debut, zero_padded(numbers, segment.largeur), segment.fin])
        # Neighbouring numbers get different ones of the 17 Austrian letters.
        return concat([text, _AUSTRIAN_LETTERS[numbers * 5 % 17]]) if iso2 == "AT" else text
    if iso2 in GAPPED:
        # The numbers count only stems with a check digit; `valid_stems` gives the stem of each number.
        prefix = int(digits or 0) * 10**segment.largeur
        stems = valid_stems(numbers + prefix // 10 * PER_TEN, rule)
        numbers = stems - prefix
    stems = _stems(digits, segment, numbers)
    return concat(
        [
            segment.debut,
            zero_padded(numbers, segment.largeur),
            segment.fin,
            *_check_texts(iso2, segment, rule(stems)),
        ]
    )


def _stems(digits: str, segment: Segment, numbers: Indices) -> Indices:
    """The digits before the check digit: prefix, number, suffix."""
    number = int(digits or 0) * 10**segment.largeur + numbers
    stems: Indices = number * 10 ** len(segment.fin) + int(segment.fin or 0)
    return stems


def _check_texts(iso2: str, segment: Segment, checks: Indices) -> Sequence[str | pl.Series]:
    """The texts of the check digits or letters."""
    if iso2 == "ES" and segment.debut[0] in _SPANISH_LETTERED:
        return [_SPANISH_LETTERS[checks]]
    return [_BEFORE_CHECK.get(iso2, ""), zero_padded(checks, _CHECK_WIDTH.get(iso2, 1))]


def _permute(numbers: Indices, size: int, shift: int) -> Indices:
    """An affine permutation of 0 … size - 1, applied to `numbers`."""
    step = max(1, int(size * _GOLDEN))
    while gcd(step, size) != 1:
        step += 1
    permuted: Indices = (numbers * step + shift % size) % size
    return permuted
