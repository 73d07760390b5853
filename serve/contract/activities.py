"""Activities by words: the classes of NACE that a label or an index term names (extension X13).

The texts of a class are its official labels in French and English (Rev. 2, Rev. 2.1, NAF), and the terms of
`nace_termes.csv`. One text must hold every word. Words are compared whole and folded (contract B15), and a plural,
French or English, is its singular; articles and prepositions do not count. What names a class of Rev. 2 also names the
class of Rev. 2.1 that it became, if that is a single one: a company has the code of the revision of its register.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from serve.contract import seed_tables
from shards.codec.folding import fold

# Words that say nothing of an activity.
_ENGLISH: Final = "a an and at by for from in of on or the to with"
_FRENCH: Final = "au aux avec d dans de des du en et l la le les ou par pour sur un une"
SILENT: Final = frozenset(f"{_ENGLISH} {_FRENCH}".split())
# Words that say what is done with a thing, which is named beside them.
_ENGLISH_KINDS: Final = (
    "activities manufacture products retail sale sales service services wholesale"
)
_FRENCH_KINDS: Final = "activites articles commerce detail fabrication gros produits"
KINDS: Final = frozenset(f"{_ENGLISH_KINDS} {_FRENCH_KINDS}".split())
# Endings of a plural, and of a singular that it may be of.
_PLURALS: Final = (
    ("ies", "y"), ("oes", "o"), ("ves", "f"), ("ves", "fe"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"),
    ("xes", "x"), ("zes", "z"), ("aux", "al"), ("aux", "ail"), ("ux", "u"), ("s", ""),
)  # fmt: skip
# Tables of texts: the column of codes, and those of texts.
_REVISED: Final = "nace_classes_rev21.csv"
_LABELS: Final = (
    ("nace_classes.csv", "code", ("label_fr", "label_en")),
    (_REVISED, "code", ("label_fr", "label_en")),
    ("naf.csv", "code_nace", ("label_fr",)),
)
_TERMS: Final = (("nace_termes.csv", "nace", ("terme",)),)
_NAME_END: Final = re.compile("[(,;:]")
_SHORTEST: Final = 3  # letters of a singular: "bus" is none of "bu"
_LAST: Final = "\U0010ffff"  # sorts after every character of a folded text


@dataclass(frozen=True, slots=True)
class ActivityIndex:
    """The texts of all classes, by their words.

    Attributes:
        classes: the classes of each text, the texts that are labels first.
        labels: how many texts are labels.
        texts: the texts that hold a word, by each of its `singulars`.
        words: the words of all texts, in order.
        sizes: how many words each text has, but those of `KINDS`.
    """

    classes: Sequence[frozenset[str]]
    labels: int
    texts: Mapping[str, Sequence[int]]
    words: Sequence[str]
    sizes: bytes

    def texts_with(self, words: Iterable[str]) -> set[int]:
        """The texts that hold each of these words, of which there is one at least."""
        return set.intersection(*map(self._of_word, words))

    def completions(self, beginning: str) -> set[int]:
        """The texts with a word that begins so."""
        return set().union(*(self.texts[word] for word in self.words_beginning(beginning)))

    def words_beginning(self, text: str) -> Sequence[str]:
        """The words that begin with a text, in order."""
        first, end = (bisect_left(self.words, one) for one in (text, text + _LAST))
        return self.words[first:end]

    def of_texts(self, texts: Iterable[int]) -> set[str]:
        """The classes of these texts."""
        return set().union(*(self.classes[text] for text in texts))

    def _of_word(self, word: str) -> set[int]:
        return set().union(*(self.texts.get(one, ()) for one in singulars(word)))


def classes(text: str) -> tuple[str, ...]:
    """The classes of NACE, in order, of which a label or a term holds every word; none for a text without any.

    >>> classes("Boulangeries"), classes("law firm"), classes("de la"), classes("xyzzy")
    (('10.71', '47.24'), ('69.10',), (), ())
    """
    words = content(text)
    index = activity_index()
    return tuple(sorted(index.of_texts(index.texts_with(words)))) if words else ()


def named_classes(text: str) -> tuple[str, ...]:
    """The same classes, if the words name an activity by themselves.

    A label or a term has them and no others before its first bracket or comma, but for words of `KINDS`. So no word of
    a name is taken for an activity because a term holds it by chance ("Royal Marines", "London Museum").

    >>> "10.71" in named_classes("Bakery"), named_classes("royal")
    (True, ())
    >>> named_classes("wine wholesale") == classes("wine wholesale") != ()
    True
    """
    words = {word for word in content(text) if word not in KINDS}
    index = activity_index()
    alone = words and any(index.sizes[one] == len(words) for one in index.texts_with(words))
    return classes(text) if alone else ()


def completions(text: str) -> tuple[set[str], set[str]]:
    """The classes that complete a text: those that a label names, and all.

    One label or term holds every word but the last, and a word that begins with the last.

    >>> "96.02" in completions("hairdress")[0], completions("")
    (True, (set(), set()))
    """
    *whole, last = fold(text).split() or [""]
    if not last:
        return set(), set()
    index = activity_index()
    texts = index.completions(last)
    if words := [word for word in whole if word not in SILENT]:
        texts &= index.texts_with(words)
    return index.of_texts(one for one in texts if one < index.labels), index.of_texts(texts)


def content(text: str) -> list[str]:
    """The folded words of a text that say something of an activity."""
    return [word for word in fold(text).split() if word not in SILENT]


@cache
def singulars(word: str) -> frozenset[str]:
    """A folded word, and the words that it may be a plural of.

    >>> sorted(singulars("bakeries")), sorted(singulars("glass")), sorted(singulars("bus"))
    (['bakerie', 'bakeries', 'bakery'], ['glass'], ['bus'])
    """
    words = {word}
    for plural, singular in _PLURALS:
        stem = word.removesuffix(plural)
        long = len(stem + singular) >= _SHORTEST
        if stem != word and long and not (plural == "s" and stem.endswith("s")):
            words.add(stem + singular)
    return frozenset(words)


@cache
def function_words() -> frozenset[str]:
    """The words that tell nothing of a company: those of `SILENT`, and those that names are compared without."""
    dropped = (row["abreviation"] for row in seed_tables.rows("abreviations.csv") if not row["mot"])
    return SILENT.union(map(fold, dropped))


@cache
def activity_index() -> ActivityIndex:
    """The index of every text of `seeds/`."""
    named = [_texts(tables) for tables in (_LABELS, _TERMS)]
    texts: defaultdict[str, set[int]] = defaultdict(set)
    words = set()
    for number, text in enumerate(text for one in named for text in one):
        for word in text:
            words.add(word)
            for singular in singulars(word):
                texts[singular].add(number)
    shared: dict[frozenset[str], frozenset[str]] = {}  # most texts name one class, as others do
    each = (frozenset(codes) for one in named for codes in one.values())
    return ActivityIndex(
        classes=[shared.setdefault(codes, codes) for codes in each],
        labels=len(named[0]),
        texts={word: tuple(numbers) for word, numbers in texts.items()},
        words=sorted(words),
        sizes=bytes(len(text - KINDS) for one in named for text in one),
    )


def _texts(tables: Sequence[tuple[str, str, Sequence[str]]]) -> dict[frozenset[str], set[str]]:
    """The words of each text of tables (name, column of codes, columns of texts), with the classes that it names.

    So do the words before its first bracket or comma: "Bakery (baking main activity) (manufacture)".
    """
    became = _successors()
    classes_of_text: defaultdict[frozenset[str], set[str]] = defaultdict(set)
    for table, code, columns in tables:
        for row in seed_tables.rows(table):
            named = {row[code]}
            if table != _REVISED:
                named |= became.get(row[code], set())
            for column in columns:
                whole = frozenset(content(row[column]))
                classes_of_text[whole] |= named
                name = frozenset(content(_NAME_END.split(row[column], 1)[0]))
                if name - KINDS < whole - KINDS:
                    classes_of_text[name] |= named
    return classes_of_text


def _successors() -> Mapping[str, set[str]]:
    """The one class of Rev. 2.1 that each class of Rev. 2 leads to; of those that lead to several, none."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in seed_tables.rows("nace_crosswalk.csv"):
        found[row["nace_rev2"]].add(row["nace_rev21"])
    return {code: codes for code, codes in found.items() if len(codes) == 1}
