"""Activities by words: the NACE classes that a label or an index term names (extension X13).

The texts of a class are its official labels in French and English (Rev. 2, Rev. 2.1, NAF), and the terms of
`nace_termes.csv`. A class matches if one of its texts has every word. Whole words are compared, folded (contract B15);
a French or English plural equals its singular; articles and prepositions do not count.

A company has a code of the revision that its register uses. So the texts of a Rev. 2 class also name its successor in
Rev. 2.1, if there is exactly one.
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

# Articles and prepositions: texts are compared without them.
_ENGLISH: Final = "a an and at by for from in of on or the to with"
_FRENCH: Final = "au aux avec d dans de des du en et l la le les ou par pour sur un une"
IGNORED_WORDS: Final = frozenset(f"{_ENGLISH} {_FRENCH}".split())
# Words for a kind of work, such as making or selling. Another word of the text says what is made or sold, so these
# words alone do not name an activity.
_ENGLISH_KINDS: Final = (
    "activities manufacture products retail sale sales service services wholesale"
)
_FRENCH_KINDS: Final = "activites articles commerce detail fabrication gros produits"
WORK_KINDS: Final = frozenset(f"{_ENGLISH_KINDS} {_FRENCH_KINDS}".split())
# Endings of a plural, each with the ending of its possible singular.
_PLURALS: Final = (
    ("ies", "y"), ("oes", "o"), ("ves", "f"), ("ves", "fe"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"),
    ("xes", "x"), ("zes", "z"), ("aux", "al"), ("aux", "ail"), ("ux", "u"), ("s", ""),
)  # fmt: skip
# Tables of labels and terms, each with its column of codes and its columns of texts.
_REV21_LABELS: Final = "nace_classes_rev21.csv"
_LABELS: Final = (
    ("nace_classes.csv", "code", ("label_fr", "label_en")),
    (_REV21_LABELS, "code", ("label_fr", "label_en")),
    ("naf.csv", "code_nace", ("label_fr",)),
)
_TERMS: Final = (("nace_termes.csv", "nace", ("terme",)),)
_NAME_END: Final = re.compile("[(,;:]")  # the name of an activity ends before this character
_SHORTEST_SINGULAR: Final = 3  # letters; so "bus" is not read as the plural of "bu"
_HIGHEST_CHARACTER: Final = (
    "\U0010ffff"  # sorts after every character of a folded text, so it ends the range of a prefix
)


@dataclass(frozen=True, slots=True)
class ActivityIndex:
    """The labels and terms of all classes, by word. Each label or term is a text with a number.

    Attributes:
        classes: the classes of each text, by its number; labels have lower numbers than terms.
        label_count: the number of texts that are labels.
        texts: the numbers of the texts with a word, by each of the `singulars` of the word.
        words: the words of all texts, sorted.
        sizes: the number of words of each text, by its number, without the words of `WORK_KINDS`.
    """

    classes: Sequence[frozenset[str]]
    label_count: int
    texts: Mapping[str, Sequence[int]]
    words: Sequence[str]
    sizes: bytes

    def texts_with(self, words: Iterable[str]) -> set[int]:
        """The numbers of the texts with all these words; `words` must not be empty."""
        return set.intersection(*map(self._texts_with_word, words))

    def completions(self, beginning: str) -> set[int]:
        """The numbers of the texts with a word that begins with `beginning`."""
        return set().union(*(self.texts[word] for word in self.words_beginning(beginning)))

    def words_beginning(self, text: str) -> Sequence[str]:
        """The words that begin with `text`, sorted."""
        first, end = (bisect_left(self.words, bound) for bound in (text, text + _HIGHEST_CHARACTER))
        return self.words[first:end]

    def classes_of_texts(self, texts: Iterable[int]) -> set[str]:
        """The NACE classes that the labels and terms with these numbers name."""
        return set().union(*(self.classes[text] for text in texts))

    def _texts_with_word(self, word: str) -> set[int]:
        """The numbers of the texts with a word, in the singular or the plural."""
        return set().union(*(self.texts.get(singular, ()) for singular in singulars(word)))


def classes(text: str) -> tuple[str, ...]:
    """The NACE classes, sorted, with every word of `text` in one label or term; none for a text without words.

    >>> classes("Boulangeries"), classes("law firm"), classes("de la"), classes("xyzzy")
    (('10.71', '47.24'), ('69.10',), (), ())
    """
    words = content(text)
    index = activity_index()
    return tuple(sorted(index.classes_of_texts(index.texts_with(words)))) if words else ()


def activity_classes(text: str) -> tuple[str, ...]:
    """The classes that `classes` finds, if `text` is the complete name of an activity; else none.

    The name is complete if `text` has every word of a label or a term, or of its part before the first bracket or
    comma; words of `WORK_KINDS` do not count. So a word of a company name does not match a longer term that has this
    word by chance ("Royal Marines", "London Museum").

    >>> "10.71" in activity_classes("Bakery"), activity_classes("royal")
    (True, ())
    >>> activity_classes("wine wholesale") == classes("wine wholesale") != ()
    True
    """
    words = {word for word in content(text) if word not in WORK_KINDS}
    index = activity_index()
    is_complete = words and any(
        index.sizes[number] == len(words) for number in index.texts_with(words)
    )
    return classes(text) if is_complete else ()


def completions(text: str) -> tuple[set[str], set[str]]:
    """The NACE classes that can complete an unfinished text: those with a matching label, then all that match.

    A class matches by a label or by another term for the activity. A label or term matches if it has all words before
    the last word, and a word that begins with the last word.

    >>> "96.02" in completions("hairdress")[0], completions("")
    (True, (set(), set()))
    """
    *complete_words, unfinished_word = fold(text).split() or [""]
    if not unfinished_word:
        return set(), set()
    index = activity_index()
    texts = index.completions(unfinished_word)
    if words := [word for word in complete_words if word not in IGNORED_WORDS]:
        texts &= index.texts_with(words)
    # `texts` has numbers of texts; labels have the lowest numbers.
    return index.classes_of_texts(
        number for number in texts if number < index.label_count
    ), index.classes_of_texts(texts)


def content(text: str) -> list[str]:
    """The folded words of a text without articles and prepositions."""
    return [word for word in fold(text).split() if word not in IGNORED_WORDS]


@cache
def singulars(word: str) -> frozenset[str]:
    """A folded word, and its possible singulars.

    >>> sorted(singulars("bakeries")), sorted(singulars("glass")), sorted(singulars("bus"))
    (['bakerie', 'bakeries', 'bakery'], ['glass'], ['bus'])
    """
    words = {word}
    for plural, singular in _PLURALS:
        stem = word.removesuffix(plural)
        is_long = len(stem + singular) >= _SHORTEST_SINGULAR
        # A word in `ss`, such as "glass", is not a plural.
        if stem != word and is_long and not (plural == "s" and stem.endswith("s")):
            words.add(stem + singular)
    return frozenset(words)


@cache
def function_words() -> frozenset[str]:
    """The words that do not identify a company: `IGNORED_WORDS`, and those that the matching of names leaves out."""
    # An abbreviation without a word in the table is left out when names are compared.
    dropped = (row["abreviation"] for row in seed_tables.rows("abreviations.csv") if not row["mot"])
    return IGNORED_WORDS.union(map(fold, dropped))


@cache
def activity_index() -> ActivityIndex:
    """The index by words of all labels and terms in `seeds/`, by which the words of a request find NACE classes."""
    word_tables = [_classes_by_words(tables) for tables in (_LABELS, _TERMS)]
    texts: defaultdict[str, set[int]] = defaultdict(set)
    words = set()
    for number, text in enumerate(text for table in word_tables for text in table):
        for word in text:
            words.add(word)
            for singular in singulars(word):
                texts[singular].add(number)
    # Most texts name one class, so many sets are equal: they share memory.
    shared: dict[frozenset[str], frozenset[str]] = {}
    class_sets = (frozenset(codes) for table in word_tables for codes in table.values())
    return ActivityIndex(
        classes=[shared.setdefault(codes, codes) for codes in class_sets],
        label_count=len(word_tables[0]),
        texts={word: tuple(numbers) for word, numbers in texts.items()},
        words=sorted(words),
        sizes=bytes(len(text - WORK_KINDS) for table in word_tables for text in table),
    )


def _classes_by_words(
    tables: Sequence[tuple[str, str, Sequence[str]]],
) -> dict[frozenset[str], set[str]]:
    """The words of each text in `tables`, with the classes that the text names.

    A table is its name, its column of codes and its columns of texts. The words before the first bracket or comma
    count as a further text: "Bakery" of "Bakery (baking main activity) (manufacture)".
    """
    successors = _successors()
    classes_of_text: defaultdict[frozenset[str], set[str]] = defaultdict(set)
    for table, code_column, columns in tables:
        for row in seed_tables.rows(table):
            nace_classes = {row[code_column]}
            if table != _REV21_LABELS:  # the texts of a Rev. 2 class also name its successor
                nace_classes |= successors.get(row[code_column], set())
            for column in columns:
                all_words = frozenset(content(row[column]))
                classes_of_text[all_words] |= nace_classes
                name_words = frozenset(content(_NAME_END.split(row[column], 1)[0]))
                # The part before the bracket is a further text only if it lacks a word of the complete text, apart from
                # WORK_KINDS.
                if name_words - WORK_KINDS < all_words - WORK_KINDS:
                    classes_of_text[name_words] |= nace_classes
    return classes_of_text


def _successors() -> Mapping[str, set[str]]:
    """The successor in Rev. 2.1 of each Rev. 2 class that has exactly one successor."""
    successors: defaultdict[str, set[str]] = defaultdict(set)
    for row in seed_tables.rows("nace_crosswalk.csv"):
        successors[row["nace_rev2"]].add(row["nace_rev21"])
    return {code: codes for code, codes in successors.items() if len(codes) == 1}
