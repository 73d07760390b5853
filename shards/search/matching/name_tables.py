"""Names without what is written differently everywhere: legal forms, abbreviations, words like "and".

All of it is data (`seeds/formes_juridiques.csv`, `seeds/abreviations.csv`). A form is a sequence of folded words;
"S.à r.l." is the words s, a, r, l, and a form of up to five letters is also known with its letters apart.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shards.codec.folding import fold

Words = tuple[str, ...]

# A form of fewer letters is only taken for one at an end of the name: `sa`, `as` and `kg` are also words.
_ANYWHERE: Final = 3
_SPACED: Final = 5
# Where an umlaut may be written as two letters.
UMLAUTS: Final = frozenset(("AT", "CH", "DE", "DK", "EE", "FI", "LU", "NO", "SE"))
_DIGRAPHS: Final = (("ae", "a"), ("oe", "o"), ("ue", "u"), ("aa", "a"))


@dataclass(frozen=True, slots=True)
class BareName:
    """A name without its legal forms.

    Attributes:
        words: the folded words, in order; runs of single letters are one word.
        classes: the classes of the legal forms that were taken out.
    """

    words: Words
    classes: frozenset[str]


class NameTables:
    """Legal forms by country, and abbreviations."""

    def __init__(
        self, forms: Iterable[Mapping[str, str]], abbreviations: Iterable[Mapping[str, str]]
    ) -> None:
        """Read rows of the two tables, by column."""
        self._forms: dict[str, dict[Words, str]] = {"": {}}
        for row in forms:
            known = self._forms.setdefault(row["iso2"], {})
            for words in _spellings(row["forme"]):
                known.setdefault(words, row["classe"])
                self._forms[""].setdefault(words, row["classe"])
        # Most words begin no form: the words of the longest one that each word begins.
        self._longest = {iso2: _longest(known) for iso2, known in self._forms.items()}
        self._full: dict[str, str] = {}
        self._short: dict[str, list[str]] = {}
        for row in abbreviations:
            short, full = fold(row["abreviation"]), fold(row["mot"])
            self._full[short] = full
            if full:
                self._short.setdefault(full, []).append(short)

    def bare(self, folded: Words, iso2: str) -> BareName:
        """A folded name without the legal forms of a country; `""` means those of all countries.

        At least one word stays.
        """
        iso2 = iso2 if iso2 in self._forms else ""
        known, longest = self._forms[iso2], self._longest[iso2]
        words = list(folded)
        classes: set[str] = set()
        at = 0
        while at < len(words):
            most = longest.get(words[at], 0)
            size = _form_at(known, words, at, most) if most else 0
            if size and size < len(words):
                classes.add(known[tuple(words[at : at + size])])
                del words[at : at + size]
                at = 0 if at < size else at
            else:
                at += 1
        content = tuple(word for word in words if self._full.get(word, word))
        return BareName(joined_letters(content or tuple(words)), frozenset(classes))

    def full(self, word: str) -> str:
        """The word that an abbreviation stands for, else the word itself."""
        return self._full.get(word) or word

    def others(self, word: str, *, umlauts: bool) -> list[str]:
        """Other spellings under which a word may be in the index of words."""
        full = self.full(word)
        found = {full, *self._short.get(full, ())}
        if umlauts:
            found.add(plain(word))
        return sorted(found - {word})


def _form_at(known: Mapping[Words, str], words: list[str], at: int, most: int) -> int:
    """The number of words of the longest form that begins at `at`, at most `most`; 0 if none does."""
    for size in range(min(most, len(words) - at), 0, -1):
        if tuple(words[at : at + size]) not in known:
            continue
        letters = sum(map(len, words[at : at + size]))
        if letters >= _ANYWHERE or at == 0 or at + size == len(words):
            return size
    return 0


def _longest(known: Mapping[Words, str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for words in known:
        found[words[0]] = max(found.get(words[0], 0), len(words))
    return found


def _spellings(form: str) -> set[Words]:
    words = tuple(fold(form).split())
    whole = "".join(words)
    found = {words}
    if len(whole) <= _SPACED:
        found |= {tuple(whole), (whole,)}
    return found - {()}


def joined_letters(words: Words) -> Words:
    """The words with each run of two or more single letters as one word: initials.

    >>> joined_letters(("a", "b", "c", "trading", "7"))
    ('abc', 'trading', '7')
    """
    found: list[str] = []
    run = ""
    for word in (*words, ""):
        if len(word) == 1 and word.isalpha():
            run += word
            continue
        if run:
            found.append(run)
        run = ""
        if word:
            found.append(word)
    return tuple(found)


def plain(word: str) -> str:
    """A folded word with ae, oe and ue as the fold of ä, ö and ü.

    >>> plain("mueller")
    'muller'
    """
    for two, one in _DIGRAPHS:
        word = word.replace(two, one)
    return word
