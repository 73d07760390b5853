"""Notes and a verdict from evidence: a conditional logit with an alternative "none of them", and what limits it.

The strength of a candidate is the sum of its evidence times the weights of `seeds/rapprochement.csv`, in log odds
against "none". Its share is exp(strength) / (1 + the sum over all candidates): so two candidates that are alike
share what there is, and all add up to less than 1. Its probability is made of its share and of its lead over the best
of the others, since one without a near rival is right more often than its share says. Its note is how often such a
probability came true, by a rising curve (`seeds/rapprochement_notes.csv`). Weights and curve are fitted by
tests/bench/matching, which shows how often a note comes true.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import exp, log
from typing import Final

from shards.matching.evidence import Evidence
from shards.matching.line import AMBIGUOUS, LIKELY, NONE, SURE
from shards.matching.name_comparison import NameComparison, is_number

SURE_FROM: Final = "seuil_sur"
# The same where the name of the line is the whole name of one company alone.
SURE_BY_NAME: Final = "seuil_sur_nom"
# The weights of what makes a probability: a constant, the log odds of the share, the lead.
OF_SHARE: Final = ("part_constante", "part", "part_avance")
LIKELY_FROM: Final = 0.5
# Where it is less likely that any of the companies is meant, none is.
_POSSIBLE_FROM: Final = 0.2
_MOST: Final = 60.0
_MOST_SHARE: Final = 11.5
_MOST_LEAD: Final = 12.0


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
        constant, of_share, of_lead = (self[name] for name in OF_SHARE)
        return [
            1 / (1 + exp(-(constant + of_share * share + of_lead * lead)))
            for share, lead in shares([self.strength(evidence) for evidence in candidates])
        ]

    def notes(self, candidates: Sequence[Evidence]) -> list[float]:
        """The note of each candidate: its probability, calibrated; they add up to 1 at most."""
        notes = list(map(self.note, self.probabilities(candidates)))
        whole = sum(notes)
        return [note / whole for note in notes] if whole > 1 else notes

    def note(self, probability: float) -> float:
        """How often a probability comes true."""
        at = min(bisect_right(self.curve, (probability, 2.0)), len(self.curve) - 1)
        low, least = self.curve[at - 1]  # two lines: Cython cannot compile a slice that is unpacked
        high, most = self.curve[at]
        return least + (most - least) * (probability - low) / (high - low)

    def verdict(self, notes: Sequence[float], sure_from: str = SURE_FROM) -> str:
        """The verdict on candidates with these notes, the best first; `sure_from` is the threshold of `sur`."""
        best, whole = max(notes, default=0.0), sum(notes)
        if best >= self[sure_from]:
            return SURE
        if best > LIKELY_FROM:  # of two that are alike, each has a half
            return LIKELY
        return AMBIGUOUS if whole >= _POSSIBLE_FROM else NONE


def shares(strengths: Sequence[float]) -> list[tuple[float, float]]:
    """The log odds of the share of each candidate, and its lead over the strongest of the others.

    >>> shares([0.0]), shares([1.0, 1.0])[0][1]
    ([(0.0, 12.0)], 0.0)
    """
    if not strengths:
        return []
    odds = [exp(max(-_MOST, min(_MOST, strength))) for strength in strengths]
    best = max(range(len(odds)), key=strengths.__getitem__)
    others = 1 + sum(odds[:best]) + sum(odds[best + 1 :])
    second = max((*strengths[:best], *strengths[best + 1 :]), default=strengths[best] - _MOST_LEAD)
    found = []
    for place, odd in enumerate(odds):
        rest, rival = (
            (others, second) if place == best else (others + odds[best] - odd, strengths[best])
        )
        share = max(-_MOST_SHARE, min(_MOST_SHARE, log(odd / rest)))
        lead = max(-_MOST_LEAD, min(_MOST_LEAD, strengths[place] - rival))
        found.append((share, lead))
    return found


# -- names that alone do not make a verdict `sur` (extension X19) ---------------------------------

# A bare name may mean a company or one of its siblings: its group or holding, a branch, the same name with a town or a
# number. One common word and initials mean many. Then the verdict is `probable` at best, whatever the note, unless
# something else than the name speaks for the company and not for its sibling. What words make a sibling is data
# (`seeds/parentes.csv`).

# What agrees besides the name.
_FURTHER: Final = frozenset((
    "id_identique", "id_corrige", "tva_identique", "lei_identique", "ville_identique",
    "ville_dans_le_nom", "code_postal_identique", "date_identique", "adresse_identique", "site_identique",
))  # fmt: skip
# What siblings often share.
SHARED: Final = frozenset(("ville_identique", "ville_dans_le_nom", "code_postal_identique"))
# A word that so many names have is a common one.
COMMON: Final = 5
_INITIALS: Final = 4
_CONSONANTS: Final = 6
_VOWELS: Final = frozenset("aeiouy")


# A number of the line is a number of the company.
_NUMBERS: Final = frozenset(("id_identique", "id_corrige", "tva_identique", "lei_identique"))
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


def of_number(evidence: Evidence, notes: Sequence[float]) -> str:
    """The verdict on a company that is first by its number alone, whatever its name.

    Args:
        notes: those of all candidates, the best first.
    """
    has_rival = len(notes) > 1 and notes[1] >= notes[0] / 2
    return AMBIGUOUS if has_rival else highest(evidence)


def is_one_of_its_name(ranked: Sequence[Evidence]) -> bool:
    """Whether the first of the companies, and no other, has the name of the line, its legal form aside.

    A legal form that may be another word is none to leave aside.
    """
    if not ranked or ranked[0].get("faute_de_forme") or not _has_the_name(ranked[0]):
        return False
    return not any(map(_has_the_name, ranked[1:]))


def _has_the_name(evidence: Evidence) -> bool:
    return bool(evidence.get("nom_identique")) and not evidence.get("ancien_nom")


def lower(verdict: str, highest_verdict: str) -> str:
    """The verdict, at most the highest one."""
    return min(verdict, highest_verdict, key=_VERDICTS.index)


def is_numbered(evidence: Evidence) -> bool:
    """Whether a number of the line is a number of the company."""
    return any(evidence.get(name) for name in _NUMBERS)


def beyond_the_name(evidence: Evidence) -> frozenset[str]:
    """What agrees besides the name."""
    return frozenset(name for name in _FURTHER if evidence.get(name))


def are_initials(word: str) -> bool:
    """Whether a name of one word is initials, or as short as some.

    >>> are_initials("hfma"), are_initials("bdswr"), are_initials("zipfel")
    (True, True, False)
    """
    return len(word) <= _INITIALS or (len(word) <= _CONSONANTS and not _VOWELS & set(word))


def is_sibling(
    compared: NameComparison, kin: Collection[str], is_town: Callable[[str], bool]
) -> bool:
    """Whether a company has the whole name of a line and words of a sibling besides: group, holding, town, number."""
    if compared.lacking_words or compared.errors or not compared.extra_words:
        return False
    return all(_is_kin(word, kin, is_town) for word in compared.extra_words)


def names_a_sibling(
    compared: NameComparison, kin: Collection[str], is_town: Callable[[str], bool]
) -> bool:
    """Whether a line has the whole name of a company and words of a sibling besides."""
    lacking = compared.lacking_words
    return bool(lacking) and all(_is_kin(word, kin, is_town) for word in lacking)


def _is_kin(word: str, kin: Collection[str], is_town: Callable[[str], bool]) -> bool:
    return word in kin or is_number(word) or is_town(word)
