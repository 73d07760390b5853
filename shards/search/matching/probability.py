"""Notes and a verdict from evidence: a conditional logit with an alternative "none of them".

The strength of a candidate is the sum of its evidence times the weights of `seeds/rapprochement.csv`, in log odds
against "none". Its note is exp(strength) / (1 + the sum over all candidates): so two candidates that are alike share
the probability, and the notes add up to less than 1. The weights are fitted by tests/bench/matching, which shows how
often a note comes true.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import exp
from typing import Final

from shards.search.matching.evidence import Evidence
from shards.search.matching.line import AMBIGUOUS, LIKELY, NONE, SURE

SURE_FROM: Final = "seuil_sur"
LIKELY_FROM: Final = 0.5
_MOST: Final = 60.0


class Weights(dict[str, float]):
    """The weight of each piece of evidence."""

    @classmethod
    def of_rows(cls, rows: Iterable[Mapping[str, str]]) -> "Weights":
        """The weights in rows of `seeds/rapprochement.csv`."""
        return cls((row["indice"], float(row["poids"])) for row in rows)

    def strength(self, evidence: Evidence) -> float:
        """The log odds of a candidate with this evidence, against none."""
        return self["constante"] + sum(self[name] * value for name, value in evidence.items())

    def notes(self, candidates: Sequence[Evidence]) -> list[float]:
        """The probability of each candidate."""
        odds = [exp(min(_MOST, self.strength(evidence))) for evidence in candidates]
        whole = 1 + sum(odds)
        return [odd / whole for odd in odds]

    def verdict(self, notes: Sequence[float]) -> str:
        """The verdict on candidates with these notes, the best first."""
        best, whole = max(notes, default=0.0), sum(notes)
        if best >= self[SURE_FROM]:
            return SURE
        if best >= LIKELY_FROM:
            return LIKELY
        return AMBIGUOUS if whole >= LIKELY_FROM else NONE
