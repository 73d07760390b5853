"""Names without what is written differently everywhere: legal forms, abbreviations, words like "and".

All of it is data of `seeds/`. Legal forms are in `legal_forms.py`; here are words: abbreviations, numbers in words, and
Greek and Cyrillic letters.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from shards.codec.folding import fold
from shards.matching.legal_forms import LegalForm, LegalForms, Row, Words

# Where an umlaut may be written as two letters.
UMLAUTS: Final = frozenset(("AT", "CH", "DE", "DK", "EE", "FI", "LU", "NO", "SE"))
# Where names are registered in Cyrillic letters.
CYRILLIC: Final = frozenset(("BG",))
# Where an article or a preposition loses its vowel before another one: l'escale, d'Antony, folded to two words.
ELIDING: Final = frozenset(("BE", "CH", "FR", "IT", "LU"))
ELIDED: Final = frozenset("dl")
# Where one letter between two words is a short `und` or `für`.
_SHORTENING: Final = frozenset(("AT", "CH", "DE"))
_SHORT_WORDS: Final = frozenset("uf")
_VOWELS: Final = frozenset("aeiouyh")
_STE: Final = "ste"
_TOUCHED: Final = ELIDED | {_STE}
_TENS: Final = re.compile(r"[2-9]0")
_UNITS: Final = re.compile(r"[1-9](?:st|nd|rd|th)?")
_DIGRAPHS: Final = (("ae", "a"), ("oe", "o"), ("ue", "u"), ("aa", "a"))


class BareName(NamedTuple):
    """A name without its legal forms.

    Attributes:
        words: the folded words, in order; runs of single letters are one word.
        forms: the legal forms that were taken out.
    """

    words: Words
    forms: frozenset[LegalForm]


class NameTables:
    """Legal forms by country, abbreviations, numbers in words, letters of other alphabets."""

    def __init__(
        self,
        forms: LegalForms,
        abbreviations: Iterable[Row],
        numbers: Iterable[Row] = (),
        letters: Sequence[Row] = (),
        kin: Sequence[Row] = (),
        mail_providers: Iterable[Row] = (),
        remarks: Iterable[Row] = (),
    ) -> None:
        """Take the legal forms, and read rows of the other tables, by column."""
        self.forms = forms
        self._full: dict[str, str] = {}
        self._short: dict[str, list[str]] = {}
        pairs = [(row["abreviation"], row["mot"]) for row in abbreviations]
        pairs += [(row["ecriture"], row["nombre"]) for row in numbers]
        for one, other in pairs:
            short, full = fold(one), fold(other)
            self._full[short] = full
            if full:
                self._short.setdefault(full, []).append(short)
        self._dropped = {word for word, full in self._full.items() if not full}
        self._latin = [(row["lettre"], row["latin"]) for row in letters]
        self._variant = [(row["lettre"], row["autre"] or row["latin"]) for row in letters]
        self._cyrillic = [_cyrillic_letters(pairs) for pairs in (self._latin, self._variant)]
        self._tens = {word for word, full in self._full.items() if _TENS.fullmatch(full)}
        # Words by which a sibling of a company is named: group, holding, branch.
        self.kin = frozenset(fold(row["mot"]) for row in kin)
        # Names of countries behind the name of a company: of its own and of any.
        countries = [(row["iso2"], fold(row["mot"])) for row in kin if row["genre"] == "pays"]
        self.countries = {
            iso2: {word for of, word in countries if of == iso2} for iso2, _ in countries
        }
        self.countries[""] = {word for _, word in countries}
        # Words that whoever keeps a list writes behind a name: closed, branch, supplier.
        self.remarks = frozenset(fold(row["mot"]) for row in remarks)
        self.mail_providers = frozenset(row["domaine"] for row in mail_providers)

    def bare_name(self, folded: Words, iso2: str) -> BareName:
        """A folded name without the legal forms of a country; `""` means those of all countries.

        At least one word stays.
        """
        words, forms = self.forms.without_forms(folded, iso2)
        if not forms and not "".join(folded).isascii():
            latin = {self.latin_word(word): word for word in folded}  # γμβχ, ооо
            rest, forms = self.forms.without_forms(tuple(latin), iso2)
            if forms:
                words = tuple(map(latin.__getitem__, rest))
        if iso2 in ELIDING and not _TOUCHED.isdisjoint(words):
            words = self._without_articles(words)
        if iso2 in _SHORTENING and not _SHORT_WORDS.isdisjoint(words):
            words = _without_short_words(words)
        content = words
        if not self._dropped.isdisjoint(words):
            content = tuple(word for word in words if word not in self._dropped) or words
        if not self._tens.isdisjoint(content):
            content = self._with_compounds(content)
        return BareName(joined_letters(content) if 1 in map(len, content) else content, forms)

    def _without_articles(self, words: Words) -> Words:
        """The words without l' and d'; "ste" is no saint before a preposition, but a company."""
        found: list[str] = []
        for word, after in zip(words, (*words[1:], ""), strict=True):
            if word == _STE and (after in self._dropped or after in ELIDED):
                word = "societe"
            if not is_elided(word, after):
                found.append(word)
        return tuple(found)

    def _with_compounds(self, words: Words) -> Words:
        """The words with tens and units as one number: twenty first is 21st."""
        found: list[str] = []
        for word in words:
            unit = self.full_word(word)
            if found and found[-1] in self._tens and unit != word and _UNITS.fullmatch(unit):
                found[-1] = self.full_word(found[-1])[0] + unit
            else:
                found.append(word)
        return tuple(found)

    def full_word(self, word: str) -> str:
        """The word that an abbreviation stands for, else the word itself."""
        return self._full.get(word) or word

    def key(self, word: str, *, umlauts: bool) -> str:
        """What words that are the same have in common: the full word, in Latin letters, with plain umlauts."""
        full = self.full_word(word)
        if not full.isascii():
            full = self.full_word(self.latin_word(full))
        return plain_word(full) if umlauts else full

    def latin_word(self, word: str) -> str:
        """A word in Latin letters."""
        return word if word.isascii() else _replace_all(word, self._latin)

    def latin_spellings(self, word: str) -> tuple[str, str]:
        """A word in Latin letters, in two ways: viktoriya, viktoria."""
        return self.latin_word(word), word if word.isascii() else _replace_all(word, self._variant)

    def other_spellings(self, word: str, *, umlauts: bool, cyrillic: bool = False) -> list[str]:
        """Other spellings under which a word may be in the index of words."""
        full = self.full_word(word)
        found = {full, *self._short.get(full, ())}
        if umlauts:
            found.add(plain_word(word))
        if not word.isascii():
            found |= set(self.latin_spellings(word))
        elif cyrillic:
            found |= {_replace_all(word, letters) for letters in self._cyrillic}
        return sorted(found - {word})


def _cyrillic_letters(latin: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Latin letters and the first Cyrillic ones that they stand for, the longest first."""
    found: dict[str, str] = {}
    for letter, letters in latin:
        if letters and unicodedata.name(letter[0]).startswith("CYRILLIC"):
            found.setdefault(letters, letter)
    return sorted(found.items(), key=lambda pair: -len(pair[0]))


def _replace_all(word: str, pairs: Sequence[tuple[str, str]]) -> str:
    for one, other in pairs:
        word = word.replace(one, other)
    return word


def _without_short_words(words: Words) -> Words:
    """The words without u. and f. between two longer ones: Druck u. Medien.

    >>> _without_short_words(("druck", "u", "medien", "u", "s"))
    ('druck', 'medien', 'u', 's')
    """
    around = zip(("", *words), words, (*words[1:], ""), strict=False)
    return tuple(
        word
        for before, word, after in around
        if word not in _SHORT_WORDS or len(before) < 2 or len(after) < 2
    )


def is_elided(word: str, after: str) -> bool:
    """Whether a word is an article or a preposition that lost its vowel before another word, not one of two initials.

    >>> is_elided("l", "oeuvre"), is_elided("l", "a"), is_elided("d", "leroy")
    (True, False, False)
    """
    return word in ELIDED and len(after) > 1 and after[0] in _VOWELS


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


def plain_word(word: str) -> str:
    """A folded word with ae, oe and ue as the fold of ä, ö and ü.

    >>> plain_word("mueller")
    'muller'
    """
    for two, one in _DIGRAPHS:
        word = word.replace(two, one)
    return word
