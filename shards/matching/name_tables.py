"""Names in a common spelling, without the parts that lists write differently: legal forms, words like "and".

All tables are data of `seeds/`. Legal forms are in `legal_forms.py`; this file has abbreviations, numbers in words, and
Greek and Cyrillic letters.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from shards.codec.folding import fold
from shards.matching.legal_forms import LegalForm, LegalForms, TableRow, Words

# Countries where an umlaut can be written as two letters.
UMLAUTS: Final = frozenset(("AT", "CH", "DE", "DK", "EE", "FI", "LU", "NO", "SE"))
# Countries with names in Cyrillic letters.
CYRILLIC: Final = frozenset(("BG",))
# Countries where articles and prepositions lose their vowel before a vowel: l'escale, d'Antony, folded to two words.
ELIDING: Final = frozenset(("BE", "CH", "FR", "IT", "LU"))
# The letters that remain of these articles and prepositions.
ELIDED: Final = frozenset("dl")
# Countries where a single letter between two words is a short `und` or `für`.
_SHORTENING: Final = frozenset(("AT", "CH", "DE"))
_SHORT_WORDS: Final = frozenset("uf")
# Letters before which articles lose their vowel; `h` is mostly silent.
_VOWELS: Final = frozenset("aeiouyh")
# An abbreviation of "sainte", and of "société" before a preposition.
_STE: Final = "ste"
# The words that `_remove_articles` removes or replaces.
_ARTICLE_WORDS: Final = ELIDED | {_STE}
# Numbers that words stand for: twenty is 20, first is 1st.
_TENS: Final = re.compile(r"[2-9]0")
_UNITS: Final = re.compile(r"[1-9](?:st|nd|rd|th)?")
# An umlaut written as two letters, and its folded letter.
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
        abbreviations: Iterable[TableRow],
        numbers: Iterable[TableRow] = (),
        letters: Sequence[TableRow] = (),
        kin: Sequence[TableRow] = (),
        mail_providers: Iterable[TableRow] = (),
        remarks: Iterable[TableRow] = (),
    ) -> None:
        """Keep the legal forms, and read rows of the other tables; a row is a dict by column."""
        self.forms = forms
        # By abbreviation: the full word; "" if the word is left out of names.
        self._full: dict[str, str] = {}
        self._short: dict[str, list[str]] = {}  # by full word: its abbreviations
        pairs = [(row["abreviation"], row["mot"]) for row in abbreviations]
        pairs += [(row["ecriture"], row["nombre"]) for row in numbers]
        for text, word in pairs:
            short, full = fold(text), fold(word)
            self._full[short] = full
            if full:
                self._short.setdefault(full, []).append(short)
        self._dropped = {word for word, full in self._full.items() if not full}
        self._latin = [(row["lettre"], row["latin"]) for row in letters]
        self._other_latin = [(row["lettre"], row["autre"] or row["latin"]) for row in letters]
        self._cyrillic = [_cyrillic_letters(pairs) for pairs in (self._latin, self._other_latin)]
        self._tens = {word for word, full in self._full.items() if _TENS.fullmatch(full)}
        # Words in the names of siblings: group, holding, branch.
        self.kin = frozenset(fold(row["mot"]) for row in kin)
        # Names of countries after the name of a company: by country; `""` has those of all countries.
        countries = [(row["iso2"], fold(row["mot"])) for row in kin if row["genre"] == "pays"]
        self.countries = {
            iso2: {word for country, word in countries if country == iso2} for iso2, _ in countries
        }
        self.countries[""] = {word for _, word in countries}
        # Remarks that the owner of a list writes after a name: closed, branch, supplier.
        self.remarks = frozenset(fold(row["mot"]) for row in remarks)
        self.mail_providers = frozenset(row["domaine"] for row in mail_providers)

    def bare_name(self, folded: Words, iso2: str) -> BareName:
        """A folded name without the legal forms of a country (`""`: of all countries), and these forms.

        At least one word stays. Articles, prepositions and similar words are left out, too; a number in two words and
        single letters in a row become one word, so that two spellings of a name give the same words.
        """
        words, forms = self.forms.split_forms(folded, iso2)
        if not forms and not "".join(folded).isascii():
            latin = {
                self.latin_word(word): word for word in folded
            }  # a form can be in other letters: γμβχ, ооо
            latin_words, forms = self.forms.split_forms(tuple(latin), iso2)
            if forms:
                words = tuple(map(latin.__getitem__, latin_words))
        if iso2 in ELIDING and not _ARTICLE_WORDS.isdisjoint(words):
            words = self._remove_articles(words)
        if iso2 in _SHORTENING and not _SHORT_WORDS.isdisjoint(words):
            words = _remove_short_words(words)
        content = words
        if not self._dropped.isdisjoint(words):
            content = tuple(word for word in words if word not in self._dropped) or words
        if not self._tens.isdisjoint(content):
            content = self._join_numbers(content)
        return BareName(joined_letters(content) if 1 in map(len, content) else content, forms)

    def _remove_articles(self, words: Words) -> Words:
        """The words without l' and d'; "ste" before a preposition means "société", not "sainte"."""
        kept_words: list[str] = []
        for word, next_word in zip(words, (*words[1:], ""), strict=True):
            if word == _STE and (next_word in self._dropped or next_word in ELIDED):
                word = "societe"
            if not is_elided(word, next_word):
                kept_words.append(word)
        return tuple(kept_words)

    def _join_numbers(self, words: Words) -> Words:
        """The words with tens and units joined to one number: after `twenty first`, only `21st` remains."""
        joined: list[str] = []
        for word in words:
            full_word = self.full_word(word)
            if (
                joined
                and joined[-1] in self._tens
                and full_word != word
                and _UNITS.fullmatch(full_word)
            ):
                joined[-1] = self.full_word(joined[-1])[0] + full_word
            else:
                joined.append(word)
        return tuple(joined)

    def full_word(self, word: str) -> str:
        """The word that an abbreviation stands for, else the word itself."""
        return self._full.get(word) or word

    def key(self, word: str, *, umlauts: bool) -> str:
        """The key that spellings of a word share: the full word, in Latin letters, with plain umlauts if `umlauts`."""
        full = self.full_word(word)
        if not full.isascii():
            full = self.full_word(self.latin_word(full))
        return plain_word(full) if umlauts else full

    def latin_word(self, word: str) -> str:
        """A word in Latin letters."""
        return word if word.isascii() else _replace_all(word, self._latin)

    def latin_spellings(self, word: str) -> tuple[str, str]:
        """A word in Latin letters, in two ways: viktoriya, viktoria."""
        return self.latin_word(word), word if word.isascii() else _replace_all(
            word, self._other_latin
        )

    def other_spellings(self, word: str, *, umlauts: bool, cyrillic: bool = False) -> list[str]:
        """Other spellings under which a word can be in the index of words."""
        full = self.full_word(word)
        spellings = {full, *self._short.get(full, ())}
        if umlauts:
            spellings.add(plain_word(word))
        if not word.isascii():
            spellings |= set(self.latin_spellings(word))
        elif cyrillic:
            spellings |= {_replace_all(word, letters) for letters in self._cyrillic}
        return sorted(spellings - {word})


def _cyrillic_letters(latin: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Latin letters with the first Cyrillic letter that they stand for, the longest first."""
    cyrillic: dict[str, str] = {}
    for letter, letters in latin:
        if letters and unicodedata.name(letter[0]).startswith("CYRILLIC"):
            cyrillic.setdefault(letters, letter)
    return sorted(cyrillic.items(), key=lambda pair: -len(pair[0]))


def _replace_all(word: str, pairs: Sequence[tuple[str, str]]) -> str:
    """The word with the first text of each pair replaced by the second, pair by pair."""
    for old, new in pairs:
        word = word.replace(old, new)
    return word


def _remove_short_words(words: Words) -> Words:
    """The words without u. and f. between two longer ones: Druck u. Medien.

    >>> _remove_short_words(("druck", "u", "medien", "u", "s"))
    ('druck', 'medien', 'u', 's')
    """
    with_neighbours = zip(("", *words), words, (*words[1:], ""), strict=False)
    return tuple(
        word
        for before, word, after in with_neighbours
        if word not in _SHORT_WORDS or len(before) < 2 or len(after) < 2
    )


def is_elided(word: str, next_word: str) -> bool:
    """Whether a word is an article or a preposition that lost its vowel before `next_word`; initials are not.

    >>> is_elided("l", "oeuvre"), is_elided("l", "a"), is_elided("d", "leroy")
    (True, False, False)
    """
    return word in ELIDED and len(next_word) > 1 and next_word[0] in _VOWELS


def joined_letters(words: Words) -> Words:
    """The words with each run of two or more single letters as one word: initials.

    >>> joined_letters(("a", "b", "c", "trading", "7"))
    ('abc', 'trading', '7')
    """
    joined: list[str] = []
    run = ""
    for word in (*words, ""):
        if len(word) == 1 and word.isalpha():
            run += word
            continue
        if run:
            joined.append(run)
        run = ""
        if word:
            joined.append(word)
    return tuple(joined)


def plain_word(word: str) -> str:
    """A folded word with ae, oe, ue and aa replaced by the fold of ä, ö, ü and å.

    >>> plain_word("mueller")
    'muller'
    """
    for digraph, letter in _DIGRAPHS:
        word = word.replace(digraph, letter)
    return word
