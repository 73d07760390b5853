"""Notes and a verdict from evidence: a conditional logit with an alternative "none of them", and its limits.

The strength of a candidate is the sum of its evidence times the weights of `seeds/rapprochement.csv`, in log odds
against "none". Its share is exp(strength) / (1 + the sum over all candidates): equal candidates have equal shares, and
all shares add up to less than 1. Its probability depends on its share and on its lead over the best other candidate: a
candidate without a near rival is right more often than its share suggests. Its note is the observed frequency of
correct matches at this probability, read from a rising curve (`seeds/rapprochement_notes.csv`). Weights and curve are
fitted by tests/bench/matching, which compares notes with the frequency of correct matches.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import exp, log
from typing import Final

from shards.matching.evidence import Evidence
from shards.matching.line import AMBIGUOUS, LIKELY, NONE, SURE
from shards.matching.name_comparison import NameComparison, is_number

# The row of `seeds/rapprochement.csv` with the least note of the verdict `sur`.
SURE_FROM: Final = "seuil_sur"
# The row with the least note of `sur` where the name of the line is the complete name of a single candidate.
SURE_BY_NAME: Final = "seuil_sur_nom"
# The terms of a probability: a constant, the weight of the log odds of the share, the weight of the lead.
PROBABILITY_WEIGHTS: Final = ("part_constante", "part", "part_avance")
# A best note above this makes the verdict `probable`.
LIKELY_FROM: Final = 0.5
# The least sum of notes for a verdict other than `aucun`.
_POSSIBLE_FROM: Final = 0.2
# The limits, in log odds, of a strength, of a share and of a lead.
_MOST_STRENGTH: Final = 60.0
_MOST_SHARE: Final = 11.5
_MOST_LEAD: Final = 12.0


class Weights(dict[str, float]):
    """The weight of each piece of evidence, and the curve from probabilities to notes.

    Attributes:
        curve: pairs of a probability and its note, both rising from 0 to 1; the curve is linear between two pairs.
    """

    curve: Sequence[tuple[float, float]] = ((0.0, 0.0), (1.0, 1.0))

    @classmethod
    def load_rows(
        cls, rows: Iterable[Mapping[str, str]], curve: Iterable[Mapping[str, str]] = ()
    ) -> "Weights":
        """Read weights from rows of `seeds/rapprochement.csv`, and the curve from `seeds/rapprochement_notes.csv`."""
        weights = cls((row["indice"], float(row["poids"])) for row in rows)
        points = tuple((float(row["probabilite"]), float(row["note"])) for row in curve)
        weights.curve = points or cls.curve
        return weights

    def strength(self, evidence: Evidence) -> float:
        """The log odds of a candidate with this evidence, against "none"."""
        return self["constante"] + sum(
            [self[name] * value for name, value in evidence.items() if value]
        )

    def probabilities(self, candidates: Sequence[Evidence]) -> list[float]:
        """The probability of each candidate, not calibrated."""
        constant, share_weight, lead_weight = (self[name] for name in PROBABILITY_WEIGHTS)
        return [
            1 / (1 + exp(-(constant + share_weight * share + lead_weight * lead)))
            for share, lead in shares([self.strength(evidence) for evidence in candidates])
        ]

    def notes(self, candidates: Sequence[Evidence]) -> list[float]:
        """The note of each candidate: its calibrated probability. The sum of all notes is at most 1."""
        notes = list(map(self.note, self.probabilities(candidates)))
        total = sum(notes)
        return [note / total for note in notes] if total > 1 else notes

    def note(self, probability: float) -> float:
        """The observed frequency of correct matches at a probability."""
        # 2.0 is above every note, so a point of the curve with exactly this probability is the point before.
        point = min(bisect_right(self.curve, (probability, 2.0)), len(self.curve) - 1)
        # Each point is unpacked on its own line, because Cython cannot compile a slice that is unpacked.
        probability_before, note_before = self.curve[point - 1]
        probability_after, note_after = self.curve[point]
        return note_before + (note_after - note_before) * (probability - probability_before) / (
            probability_after - probability_before
        )

    def verdict(self, notes: Sequence[float], sure_from: str = SURE_FROM) -> str:
        """The verdict on candidates with these notes, the best first; `sure_from` is the threshold of `sur`."""
        best_note, total = max(notes, default=0.0), sum(notes)
        if best_note >= self[sure_from]:
            return SURE
        if best_note > LIKELY_FROM:  # two equal candidates have at most 0.5 each
            return LIKELY
        return AMBIGUOUS if total >= _POSSIBLE_FROM else NONE


def shares(strengths: Sequence[float]) -> list[tuple[float, float]]:
    """The log odds of the share of each candidate, and its lead over the strongest other candidate.

    >>> shares([0.0]), shares([1.0, 1.0])[0][1]
    ([(0.0, 12.0)], 0.0)
    """
    if not strengths:
        return []
    odds = [exp(max(-_MOST_STRENGTH, min(_MOST_STRENGTH, strength))) for strength in strengths]
    strongest = max(range(len(odds)), key=strengths.__getitem__)
    # The odds of all but the best candidate; 1 is those of "none of them".
    odds_without_best = 1 + sum(odds[:strongest]) + sum(odds[strongest + 1 :])
    runner_up = max(
        (*strengths[:strongest], *strengths[strongest + 1 :]),
        default=strengths[strongest] - _MOST_LEAD,
    )
    pairs = []
    for place, candidate_odds in enumerate(odds):
        other_odds, rival = (
            (odds_without_best, runner_up)
            if place == strongest
            else (odds_without_best + odds[strongest] - candidate_odds, strengths[strongest])
        )
        share = max(-_MOST_SHARE, min(_MOST_SHARE, log(candidate_odds / other_odds)))
        lead = max(-_MOST_LEAD, min(_MOST_LEAD, strengths[place] - rival))
        pairs.append((share, lead))
    return pairs


# -- names that alone do not make a verdict `sur` (extension X19) ---------------------------------

# A bare name may mean a company or one of its siblings: its group or holding, a branch, the same name with a town or a
# number. A single common word, or initials, may mean many companies. Then the verdict is at most `probable`, whatever
# the note, unless other evidence than the name supports the company and not its sibling. The words that mark a sibling
# are data (`seeds/parentes.csv`).

# Evidence other than the name that a line and a company agree.
_OTHER_AGREEMENTS: Final = frozenset((
    "id_identique", "id_corrige", "tva_identique", "lei_identique", "ville_identique",
    "ville_dans_le_nom", "code_postal_identique", "date_identique", "adresse_identique", "site_identique",
))  # fmt: skip
# Those of this evidence that siblings often share: a group and its branches are often in one town.
SHARED: Final = frozenset(("ville_identique", "ville_dans_le_nom", "code_postal_identique"))
# A word of at least this many names is common.
COMMON: Final = 5
# Words of up to _INITIALS letters, or of up to _CONSONANTS letters without a vowel, are read as initials.
_INITIALS: Final = 4
_CONSONANTS: Final = 6
_VOWELS: Final = frozenset("aeiouy")


# Evidence that a number of the line is a number of the company.
_NUMBER_EVIDENCE: Final = frozenset(
    ("id_identique", "id_corrige", "tva_identique", "lei_identique")
)
# The verdicts, ascending.
_VERDICTS: Final = (NONE, AMBIGUOUS, LIKELY, SURE)


def highest(evidence: Evidence) -> str:
    """The highest verdict on a company with this evidence.

    A number whose company has another name is `probable`; with zeros added, or in another country, it is `ambigu`.
    """
    is_other = bool(evidence.get("nom_different"))
    is_elsewhere = bool(evidence.get("pays_different"))
    if is_other and (is_elsewhere or evidence.get("id_zeros")):
        return AMBIGUOUS
    return LIKELY if is_other or is_elsewhere else SURE


def number_verdict(evidence: Evidence, notes: Sequence[float]) -> str:
    """The verdict on a company that ranks first by its number, with a different name.

    Args:
        notes: the notes of all candidates, the best first.
    """
    has_rival = len(notes) > 1 and notes[1] >= notes[0] / 2
    return AMBIGUOUS if has_rival else highest(evidence)


def is_unique_by_name(ranked: Sequence[Evidence]) -> bool:
    """Whether the first company, and no other candidate, has the name of the line, legal forms aside.

    False if the legal form has a typing error: the misspelt form can be another word.
    """
    if not ranked or ranked[0].get("faute_de_forme") or not _has_the_name(ranked[0]):
        return False
    return not any(map(_has_the_name, ranked[1:]))


def _has_the_name(evidence: Evidence) -> bool:
    """Whether the present name of a company is the name of the line."""
    return bool(evidence.get("nom_identique")) and not evidence.get("ancien_nom")


def lower(verdict: str, highest_verdict: str) -> str:
    """The lower of two verdicts."""
    return min(verdict, highest_verdict, key=_VERDICTS.index)


def is_numbered(evidence: Evidence) -> bool:
    """Whether a number of the line is a number of the company."""
    return any(evidence.get(name) for name in _NUMBER_EVIDENCE)


def other_agreements(evidence: Evidence) -> frozenset[str]:
    """The agreements other than the name."""
    return frozenset(name for name in _OTHER_AGREEMENTS if evidence.get(name))


def are_initials(word: str) -> bool:
    """Whether a name of one word is initials, or is as short as initials.

    >>> are_initials("hfma"), are_initials("bdswr"), are_initials("zipfel")
    (True, True, False)
    """
    return len(word) <= _INITIALS or (len(word) <= _CONSONANTS and not _VOWELS & set(word))


def is_sibling(
    compared: NameComparison, kin: Collection[str], is_town: Callable[[str], bool]
) -> bool:
    """Whether a company has the complete name of a line, and else only words of a sibling: group, town, number."""
    if compared.lacking_words or compared.errors or not compared.extra_words:
        return False
    return all(_is_kin(word, kin, is_town) for word in compared.extra_words)


def names_a_sibling(
    compared: NameComparison, kin: Collection[str], is_town: Callable[[str], bool]
) -> bool:
    """Whether a line has words that the company lacks, and all are words of a sibling, such as `group` or a town.

    Then the line may mean the sibling: another company of the same group.
    """
    lacking = compared.lacking_words
    return bool(lacking) and all(_is_kin(word, kin, is_town) for word in lacking)


def _is_kin(word: str, kin: Collection[str], is_town: Callable[[str], bool]) -> bool:
    """Whether a word marks a sibling: a word such as `group`, a number or a town."""
    return word in kin or is_number(word) or is_town(word)
