"""Activity codes: divisions by weight, classes within them, in the notations of registers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator

from pipeline.seeds import Seeds, Table
from tests.bench.synth.random_draws import Choice, choice, null_unless, random_mask

_ABSENT: Final = 0.05  # share of companies without a code
_LABELLED: Final = 0.5  # share with the activity in words
_UNVERSIONED: Final = 0.2  # share of the codes of Rev. 2 without `nace_version`
# The level of a code: a class, group or division of Rev. 2, or a class of Rev. 2.1.
_LEVELS: Final = choice(["class", "group", "division", "rev21"], [91.5, 4, 1.5, 3])
_REV21: Final = 3  # the position of "rev21" in _LEVELS


@dataclass(frozen=True, slots=True)
class Codes:
    """Classes by weight; `texts` lists every class at each of _LEVELS, level after level."""

    classes: Choice
    texts: pl.Series
    labels: pl.Series


class Coder:
    """The classes of NACE with their weights, for the notation of each country."""

    def __init__(self, base: Seeds, weights: Table, naf: Table) -> None:
        """Index the tables of NACE; `weights` are those of divisions, `naf` are the classes of France."""
        self._rows = base.tables["nace_classes"]
        self._naf = {row["code_nace"]: row["code_naf"] for row in reversed(naf)}
        crosswalk = reversed(base.tables["nace_crosswalk"])
        self._rev21 = {row["nace_rev2"]: row["nace_rev21"] for row in crosswalk}
        division_weights = {row["nace_division"]: float(row["poids"]) for row in weights}
        self._weights = self._class_weights(division_weights)

    def _class_weights(self, division_weights: Mapping[str, float]) -> list[float]:
        """Spread the weight of a division over its classes, most on the first."""
        ranks: dict[str, int] = {}
        shares = []
        for row in self._rows:
            rank = ranks[row["division"]] = ranks.get(row["division"], 0) + 1
            shares.append(1 / rank)
        sums = dict.fromkeys(ranks, 0.0)
        for row, share in zip(self._rows, shares, strict=True):
            sums[row["division"]] += share
        return [
            division_weights.get(row["division"], 0.0) * share / sums[row["division"]]
            for row, share in zip(self._rows, shares, strict=True)
        ]

    def notation_codes(self, notation: str, *, french: bool) -> Codes:
        """The codes in a notation of `profils.csv`: `naf`, `cinq`, `nu` or `pointe`."""
        codes = [row["code"] for row in self._rows]
        bare = [code.replace(".", "") for code in codes]
        class_codes = {
            "naf": [self._naf[code] for code in codes],
            "cinq": [code + "0" for code in bare],
            "nu": bare,
            "pointe": codes,
        }[notation]
        groups = [row["group"] for row in self._rows]
        divisions = [row["division"] for row in self._rows]
        rev21 = [self._rev21[code] for code in codes]
        labels = [row["label_fr" if french else "label_en"] for row in self._rows]
        texts = pl.Series(class_codes + groups + divisions + rev21)
        return Codes(choice(codes, self._weights), texts, pl.Series(labels))


def draw(codes: Codes, rng: Generator, count: int) -> dict[str, pl.Series]:
    """Draw `nace_code`, `nace_version` and `activite`."""
    places = codes.classes.places(rng, count)
    levels = _LEVELS.places(rng, count)
    coded = ~random_mask(rng, count, _ABSENT)
    versioned = coded & ((levels == _REV21) | ~random_mask(rng, count, _UNVERSIONED))
    versions = pl.Series(["2", "2.1"])[(levels == _REV21).astype(np.int64)]
    return {
        "nace_code": null_unless(coded, codes.texts[levels * len(codes.labels) + places]),
        "nace_version": null_unless(versioned, versions),
        "activite": null_unless(coded & random_mask(rng, count, _LABELLED), codes.labels[places]),
    }
