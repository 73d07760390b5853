"""Names that alone do not make a verdict `sur` (extension X19).

A bare name may mean a company or one of its siblings: its group or holding, a branch, the same name with a town or a
number. One common word and initials mean many. Then the verdict is `probable` at best, whatever the note, unless
something else than the name speaks for the company and not for its sibling. What words make a sibling is data
(`seeds/parentes.csv`).
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from shards.matching.evidence import Evidence
from shards.matching.line import AMBIGUOUS, LIKELY, NONE, SURE
from shards.matching.name_comparison import NameComparison, is_number

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
