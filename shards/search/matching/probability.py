"""Notes and a verdict from evidence: a conditional logit with an alternative "none of them".

The strength of a candidate is the sum of its evidence times the weights of `seeds/rapprochement.csv`, in log odds
against "none". Its probability is exp(strength) / (1 + the sum over all candidates): so two candidates that are alike
share it, and all add up to less than 1. Its note is how often such a probability came true, by a rising curve
(`seeds/rapprochement_notes.csv`). Weights and curve are fitted by tests/bench/matching, which shows how often a note
comes true.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from math import exp
from typing import Final

from shards.search.matching.evidence import Evidence
from shards.search.matching.line import AMBIGUOUS, LIKELY, NONE, SURE

SURE_FROM: Final = "seuil_sur"
LIKELY_FROM: Final = 0.5
_MOST: Final = 60.0


class Weights(dict[str, float]):
    """The weight of each piece of evidence, and the curve from probabilities to notes.

    Attributes:
        curve: probabilities with their notes, both rising from 0 to 1; between two of them the curve is straight.
    """

    curve: Sequence[tuple[float, float]] = ((0.0, 0.0), (1.0, 1.0))

    @classmethod
    def of_rows(
        cls, rows: Iterable[Mapping[str, str]], curve: Iterable[Mapping[str, str]] = ()
    ) -> "Weights":
        """The weights in rows of `seeds/rapprochement.csv`, and the curve of `seeds/rapprochement_notes.csv`."""
        found = cls((row["indice"], float(row["poids"])) for row in rows)
        points = tuple((float(row["probabilite"]), float(row["note"])) for row in curve)
        found.curve = points or cls.curve
        return found

    def strength(self, evidence: Evidence) -> float:
        """The log odds of a candidate with this evidence, against none."""
        return self["constante"] + sum(
            [self[name] * value for name, value in evidence.items() if value]
        )

    def probabilities(self, candidates: Sequence[Evidence]) -> list[float]:
        """The probability of each candidate, as the weights have it."""
        odds = [exp(min(_MOST, self.strength(evidence))) for evidence in candidates]
        whole = 1 + sum(odds)
        return [odd / whole for odd in odds]

    def notes(self, candidates: Sequence[Evidence]) -> list[float]:
        """The note of each candidate: its probability, calibrated; they add up to 1 at most."""
        notes = list(map(self.note, self.probabilities(candidates)))
        whole = sum(notes)
        return [note / whole for note in notes] if whole > 1 else notes

    def note(self, probability: float) -> float:
        """How often a probability comes true."""
        at = min(bisect_right(self.curve, (probability, 2.0)), len(self.curve) - 1)
        (low, least), (high, most) = self.curve[at - 1 : at + 1]
        return least + (most - least) * (probability - low) / (high - low)

    def verdict(self, notes: Sequence[float]) -> str:
        """The verdict on candidates with these notes, the best first."""
        best, whole = max(notes, default=0.0), sum(notes)
        if best >= self[SURE_FROM]:
            return SURE
        if best > LIKELY_FROM:  # of two that are alike, each has a half
            return LIKELY
        return AMBIGUOUS if whole >= LIKELY_FROM else NONE
