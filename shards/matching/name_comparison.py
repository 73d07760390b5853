"""Two names, word by word: what they share, what one of them lacks, and how spellings differ.

How much a word tells is the logarithm of how rare it is in the country (nats), so "Bau" is worth little and
"Zipfelhuber" much.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

from shards.matching.candidate_rows import INITIALS
from shards.matching.legal_forms import LegalForm, LegalForms
from shards.matching.name_tables import (
    ELIDED,
    NameTables,
    is_elided,
    joined_letters,
)

# Shorter words may only lack a letter that the other one has, if that has _LACKING letters, or have two exchanged;
# longer ones differ by one error, and by two from the second length on.
_LACKING: Final = 3
_ONE_ERROR: Final = 4
_TWO_ERRORS: Final = 8
_MOST_ERRORS: Final = 2
_PREFIX: Final = 3
# The distance of a word from its first letters: more than one error, less than two.
BEGINNING: Final = 1.5
# The distance of two short words of which one lacks a letter, behind that of other errors.
SHORT: Final = 1.25
# A letter that is two of the Latin ones is lost where a list could not write it: œuvre is uvre.
_LIGATURES: Final = ("oe", "ae")

_NONE: Final[Mapping[str, float]] = {}

# By a word of the line and one of a company, how far they are apart.
Near = Mapping[str, Mapping[str, float]]

# Names of fewer letters have no error where blanks are elsewhere.
_LONG: Final = 8
# A legal form of so few letters that it may be another word.
SHORT_FORM: Final = 2
# Words that tell less than this are in one name of two hundred or more.
LIGHT: Final = 5.3
_LEFT_OUT: Final = 3  # words of so many letters are mostly left out of initials: CAF, Caisse d'Allocations Familiales
_ALIKE: Final = 0.7
# Names agree where the words of both say so many times as much as those that only the line has.
_OUTWEIGHS: Final = 2.0
# Words that say so much are in one name of three thousand: a part of a long name may be its brand.
_RARE: Final = 8.0
_ROMAN: Final = frozenset(("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"))

Told = tuple[str, float]  # a word, and how much it tells


class NameComparison:
    """How a name of a line and that of a company compare.

    Attributes:
        common, lacking, extra: what the words tell that both have, only the line has, only the company has.
        common_words: how many words both have.
        lacking_words, extra_words: these words.
        heavy_lacking, heavy_extra: of these the words that tell much.
        errors: typing errors in the words that are nearly the same.
        short_errors: those of them where a short word lacks a letter.
        form_errors: 1 if the legal form of the line is that of the company with a typing error.
        short_form: the legal form with the error has so few letters that it may be another word.
        initials: one name is the initials of the other, of its legal form too or not.
        initials_letters: how many more than three these are.
        is_beginning: the name of the line is the first words of the company's.
        error_letters: the letters of the shortest word with an error.
        slips: errors that left the word the same letters: doubled, swapped, lost where there is another.
        first_letters: words whose first letter is another.
        inner_initials: words of one name that are the initials of neighbours in the other.
        known_errors: those of them where the word of the line is itself a word of the country.
        abbreviations, beginnings: words that one name has short, by the table, or as the first letters of the other's.
        begun: the information of the words of which one name has the first letters.
        respaced: words that one name has as two.
        differing: the texts of the words that are not the same.
        numbers: numbers, Roman ones and single letters that only one of them has.
    """

    common: float = 0.0
    common_words: int = 0
    lacking: float = 0.0
    extra: float = 0.0
    lacking_words: Sequence[str] = ()
    extra_words: Sequence[str] = ()
    heavy_lacking: int = 0
    heavy_extra: int = 0
    errors: int = 0
    short_errors: int = 0
    form_errors: int = 0
    short_form: bool = False
    initials: bool = False
    initials_letters: int = 0
    is_beginning: bool = False
    error_letters: int = 0
    slips: int = 0
    first_letters: int = 0
    inner_initials: int = 0
    known_errors: int = 0
    abbreviations: int = 0
    beginnings: int = 0
    begun: float = 0.0
    respaced: int = 0
    reordered: bool = False
    differing: tuple[str, str] = ("", "")
    numbers: int = 0

    def add_common(self, told: float) -> None:
        """Count words that both have."""
        self.common += told
        self.common_words += 1

    @property
    def are_alike(self) -> bool:
        """Are the words much the same as texts, where both names have others?"""
        return all(self.differing) and (
            OSA.normalized_similarity(*self.differing, score_cutoff=_ALIKE) >= _ALIKE
        )

    def agrees(self, explained: float = 0.0) -> bool:
        """Whether the names agree in the words that say something: one word among several others is too little.

        Args:
            explained: the information of words that only the line has and that do not contradict: a town, a remark.
        """
        if self.initials or self.are_alike or not (self.lacking_words or self.extra_words):
            return True
        lacking = max(0.0, self.lacking - explained)
        if lacking and self.common_words == 1:
            return False
        if self.extra and self.beginnings and self.common_words - self.beginnings <= 1:
            # The first letters of a word are less than a word: Nord, Nordic.
            return self.common - self.begun >= _RARE
        if self.extra > self.common and (lacking or self.common < _RARE):
            return False
        return self.common >= LIGHT and self.common >= _OUTWEIGHS * lacking

    @property
    def has_same_words(self) -> bool:
        """Are all words the same, in whatever order?"""
        return not (
            self.lacking_words
            or self.extra_words
            or self.errors
            or self.abbreviations
            or self.beginnings
            or self.respaced
            or self.initials
            or self.inner_initials
        )


class ComparedName(NamedTuple):
    """A name without its legal forms, as it is compared with others of one country.

    Attributes:
        told: its words, and how much each tells.
        keys: what each word must share with another one to be the same.
        forms: its legal forms.
        ascii: no word is in another alphabet.
        articles: of these words, articles that lost their vowel, which are no numbers: l of l'oeuvre.
        known: of the name of a line, how many companies of the country have each word in their names.
        written: all words of the name, its legal forms too.
        iso2: the country, of the name of a line.
    """

    told: Sequence[Told]
    keys: Sequence[str]
    forms: frozenset[LegalForm]
    ascii: bool
    articles: Collection[str]
    known: Mapping[str, int]
    written: Sequence[str]
    iso2: str = ""


class _Pair(NamedTuple):
    """Names of a line and a company, and what is left of both without the words that are the same, in Latin letters."""

    line: ComparedName
    company: ComparedName
    found: NameComparison
    left: list[Told]
    right: list[Told]
    raw: Mapping[str, str]  # the words of other alphabets, by their Latin spelling


def compare(
    asked: Sequence[tuple[ComparedName, Sequence[ComparedName]]], tables: NameTables
) -> list[NameComparison]:
    """Compare names of lines with those of companies; the distances of all words are found at once.

    Args:
        asked: the name of a line in the country of a company, and the names of the company.
    """
    pairs = [_without_equal(line, name, tables) for line, names in asked for name in names]
    both = [pair for pair in pairs if pair.left and pair.right]
    near = near_words(
        {word for pair in both for word, _ in pair.left},
        {word for pair in both for word, _ in pair.right},
    )
    for pair in pairs:
        _match_form_at_an_end(pair, near, tables.forms)
        if pair.left or pair.right:
            _compare_rest(pair, near, tables)
    return [pair.found for pair in pairs]


def _compare_rest(pair: _Pair, near: Near, tables: NameTables) -> None:
    """Compare the words that are not the same."""
    line, company, comparison, left, right, raw = pair
    if left:
        _match_forms(pair, near, tables)
    if left and right:
        _match_spacing(left, right, comparison)
    if left and right:
        _match_respaced(left, right, comparison)
        _match_respaced(right, left, comparison)
    if left and right and not comparison.common:
        _match_initials(pair, tables)
    if left and right:
        _match_near(pair, near)
    if left and right and comparison.common:
        _match_inner_initials(left, right, comparison)
        _match_inner_initials(right, left, comparison)
    for _, told in left:
        comparison.lacking += told
        comparison.heavy_lacking += told >= LIGHT
    for _, told in right:
        comparison.extra += told
        comparison.heavy_extra += told >= LIGHT
    comparison.lacking_words = [raw.get(word, word) for word, _ in left]
    comparison.extra_words = [raw.get(word, word) for word, _ in right]
    for word in (*comparison.lacking_words, *comparison.extra_words):
        if is_number(word) and word not in company.articles and word not in line.articles:
            comparison.numbers += 1


def articles(words: Sequence[str]) -> Collection[str]:
    """Articles that lost their vowel: l of l'oeuvre."""
    if ELIDED.isdisjoint(words):
        return ()
    return {one for one, other in itertools.pairwise(words) if is_elided(one, other)}


def _without_equal(line: ComparedName, company: ComparedName, tables: NameTables) -> _Pair:
    """What is left of both when words that are the same are taken out.

    Articles that lost their vowel have no order, and those that both have are nothing how often they come.
    """
    comparison = NameComparison()
    left: list[Told] = []
    places: list[int] = []
    keys = company.keys
    taken: set[int] = set()
    same_letters = line.ascii and company.ascii
    for (word, told), key in zip(line.told, line.keys, strict=True):
        place = None
        if key in keys:
            place = keys.index(key)
            if place in taken:
                place = next(
                    (i for i, other in enumerate(keys) if other == key and i not in taken), None
                )
        if place is None and not same_letters:
            place = _in_another_alphabet(word, company.told, taken, tables)
        if place is None:
            if word not in line.articles or key not in keys:
                left.append((word, told))
            continue
        taken.add(place)
        if word not in line.articles:
            places.append(place)
        theirs, told = company.told[place]
        comparison.abbreviations += theirs != word and tables.full_word(word) != word
        comparison.add_common(told)
    if len(places) > 1:
        comparison.reordered = places != sorted(places)
    right = [pair for i, pair in enumerate(company.told) if i not in taken]
    if right and not left:
        comparison.is_beginning = places == list(range(len(places)))
    raw: dict[str, str] = {}
    if not same_letters:
        raw = {tables.latin_word(word): word for word, _ in (*left, *right)}
        left, right = (
            [(tables.latin_word(word), told) for word, told in words] for words in (left, right)
        )
    if left and right:
        comparison.differing = _join_words(left), _join_words(right)
    return _Pair(line, company, comparison, left, right, raw)


def _join_words(told: Sequence[Told]) -> str:
    return "".join([word for word, _ in told])


def _in_another_alphabet(
    word: str, company: Sequence[Told], taken: Collection[int], tables: NameTables
) -> int | None:
    """The place of a word that is this one in the letters of another alphabet."""
    for place, (other, _) in enumerate(company):
        if place not in taken and word.isascii() != other.isascii():
            ours, theirs = tables.latin_spellings(word), tables.latin_spellings(other)
            if not set(ours).isdisjoint(theirs):
                return place
    return None


def _match_form_at_an_end(pair: _Pair, near: Near, forms: LegalForms) -> None:
    """All that the line has behind the name, or before it, is the legal form of the company, misspelt.

    Words that only the line has are a part of it, or a form that the country does not have: `AS` of SAS.
    """
    line, company, found, left, right, raw = pair
    if not left and not line.forms:
        return
    missing = company.forms - line.forms
    if not missing or (not left and line.forms & company.forms):
        return
    if not left and any(forms.is_own(form, line.iso2) for form in line.forms):
        return
    rest = {raw.get(word, word) for word, _ in left}
    if any(word.isdigit() for word in rest):  # a number is no letter of a form
        return
    for written, words in (
        (line.written, [word for word, _ in line.told]),
        (line.written[::-1], [word for word, _ in line.told[::-1]]),
    ):
        lacking = list(itertools.takewhile(rest.__contains__, reversed(words)))
        if len(lacking) != len(rest) or len(lacking) == len(words):
            continue
        anchor = words[-1 - len(lacking)]
        if anchor not in written:
            continue
        size = written[::-1].index(anchor)
        end = written[len(written) - size :]
        text = "".join(end if written is line.written else end[::-1])
        is_word = any(word in near.get(other, ()) for other, _ in left for word, _ in right)
        if text and not is_word and any(forms.is_near(text, form) for form in missing):
            found.form_errors, found.short_form = 1, len(text) <= SHORT_FORM
            left.clear()
            return


def _match_forms(pair: _Pair, near: Near, tables: NameTables) -> None:
    """Words of the line that are the legal form of the company, misspelt or behind a word without a blank."""
    _, company, found, left, right, _ = pair
    text, forms = _join_words(right), company.forms
    for form in sorted(forms) if len(forms) > 1 else forms:
        for place, (word, _) in enumerate(left):
            if 0 < len(text) < len(word) and tables.forms.is_attached(word, text, form):
                found.respaced += 1
                found.add_common(sum(weight for _, weight in right))
                right.clear()
                del left[place]
                return
        for word, told in left[:]:
            if not tables.forms.is_misspelt(word, form):
                continue
            of_word = near.get(word, {})
            if all(other not in of_word for other, _ in right):
                found.form_errors = 1
                left.remove((word, told))
                return


def _match_spacing(left: list[Told], right: list[Told], comparison: NameComparison) -> None:
    """All that is left is the same text with blanks elsewhere."""
    if len(left) == len(right) == 1:
        return
    one, other = _join_words(left), _join_words(right)
    if one == other or (
        min(len(one), len(other)) >= _LONG
        and abs(len(one) - len(other)) <= 1
        and _digits(one) == _digits(other)  # another number is no typing error
        and OSA.distance(one, other, score_cutoff=1) <= 1
    ):
        comparison.respaced += 1
        comparison.errors += one != other
        comparison.add_common(sum(told for _, told in right))
        left.clear()
        right.clear()


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _match_respaced(whole: list[Told], parts: list[Told], comparison: NameComparison) -> None:
    """A word of one name that is two neighbours of the other."""
    if len(parts) == 1:
        return
    for pair in list(whole):
        for i in range(len(parts) - 1):
            if parts[i][0] + parts[i + 1][0] == pair[0]:
                comparison.respaced += 1
                comparison.add_common(max(pair[1], parts[i][1] + parts[i + 1][1]))
                whole.remove(pair)
                del parts[i : i + 2]
                break


def _match_initials(pair: _Pair, tables: NameTables) -> None:
    """One name is the initials of the other; only those of a company may have letters of its form."""
    _, company, comparison, left, right, _ = pair
    if len(left) == 1 and len(right) > 1:
        letters, told = left[0]
        are_initials = _are_initials(letters, company, tables)
    elif len(right) == 1 and len(left) in INITIALS:
        letters, told = right[0]
        are_initials = letters == "".join([word[0] for word, _ in left])
    else:
        return
    if are_initials:
        comparison.initials = True
        comparison.initials_letters = len(letters) - INITIALS.start
        comparison.add_common(told)
        left.clear()
        right.clear()


def _are_initials(letters: str, name: ComparedName, tables: NameTables) -> bool:
    """Whether letters are those of all words of a name; legal forms and words like `and` may have one or none."""
    if len(letters) not in INITIALS or not letters.isalpha():
        return False
    content = {word for word, _ in name.told}
    reached = 1  # bit n: the words so far may be the first n letters
    for word in joined_letters(tuple(name.written)):
        parts = word if word in content and word not in name.written else (word,)
        for part in parts:
            first = tables.latin_word(part)[:1]
            leaves_out = word not in content or (1 < len(part) <= _LEFT_OUT and reached > 1)
            passed = reached if leaves_out else 0
            for place, letter in enumerate(letters):
                if letter == first and reached >> place & 1:
                    passed |= 2 << place
            reached = passed
        if not reached:
            return False
    return bool(reached >> len(letters) & 1)


def _match_inner_initials(short: list[Told], long: list[Told], comparison: NameComparison) -> None:
    """Words of one name that are the initials of neighbours in the other: MSA Poitou, Île-de-France as IDF."""
    for pair in short[:]:
        if len(pair[0]) not in INITIALS or not pair[0].isalpha():
            continue
        for start in range(len(long) - 1):
            if end := _end_of_initials(pair[0], long, start):
                comparison.inner_initials += 1
                comparison.add_common(min(pair[1], sum(told for _, told in long[start:end])))
                short.remove(pair)
                del long[start:end]
                break


def _end_of_initials(letters: str, words: Sequence[Told], start: int) -> int:
    """Where the words end, from `start` on, whose initials these are; short ones may be left out; 0 if none are.

    A `d` may be that of a `de` that is no word here: IDF, Île-de-France.
    """
    left = letters
    for place in range(start, len(words)):
        word = words[place][0]
        if place > start and left[:1] == "d" and word[0] == left[1:2]:
            left = left[1:]
        if word[0] == left[0]:
            left = left[1:]
            if not left:
                return place + 1
        elif place == start or len(word) > _LEFT_OUT:
            return 0
    return 0


def _match_near(pair: _Pair, near: Near) -> None:
    """Words that differ by one or two errors, or of which one begins the other; the nearest first."""
    line, _, comparison, left, right, raw = pair
    pairs = [
        (of_word[other], i, j)
        for i, (one, _) in enumerate(left)
        if (of_word := near.get(one))
        for j, (other, _) in enumerate(right)
        if other in of_word
    ]
    if not pairs:
        return
    gone_left: set[int] = set()
    gone_right: set[int] = set()
    for cost, i, j in sorted(pairs):
        if i in gone_left or j in gone_right:
            continue
        gone_left.add(i)
        gone_right.add(j)
        comparison.add_common(right[j][1])
        if cost == BEGINNING:
            comparison.beginnings += 1
            comparison.begun += right[j][1]
        else:
            word, other, errors = left[i][0], right[j][0], int(cost)
            letters = len(min(word, other, key=len))
            comparison.errors += errors
            comparison.error_letters = min(comparison.error_letters or letters, letters)
            comparison.slips += errors if set(word) == set(other) else 0
            comparison.first_letters += word[0] != other[0]
            comparison.short_errors += cost == SHORT
            comparison.known_errors += line.known.get(raw.get(word, word), 0) > 0
    left[:] = [pair for i, pair in enumerate(left) if i not in gone_left]
    right[:] = [pair for j, pair in enumerate(right) if j not in gone_right]


def is_number(word: str) -> bool:
    """Whether a word is a number, a Roman one or a single letter."""
    return word.isdigit() or len(word) == 1 or word in _ROMAN


# -- words that are nearly the same ------------------------------------------------------------


def near_words(left: Collection[str], right: Collection[str]) -> Near:
    """The number of errors between words that are near, BEGINNING where one begins the other.

    The words of all companies are compared at once. Distances are those of rapidfuzz (optimal string alignment: two
    letters that change places are one error).
    """
    ones = [word for word in left if not word.isdigit()]
    others = [word for word in right if not word.isdigit()]
    if not ones or not others:
        return {}
    errors = process.cdist(
        ones, others, scorer=OSA.distance, score_cutoff=_MOST_ERRORS, dtype=np.uint8
    )
    found: dict[str, dict[str, float]] = {}
    for i, j in np.argwhere(errors <= _MOST_ERRORS).tolist():
        cost = _cost(ones[i], others[j], int(errors[i, j]))
        if cost is not None:
            found.setdefault(ones[i], {})[others[j]] = cost
    beginning: dict[str, list[str]] = {}
    for word in others:
        beginning.setdefault(word[0], []).append(word)
    for one in ones:
        of_one = found.get(one, _NONE)
        for other in beginning.get(one[0], ()):
            if other not in of_one and _begins(one, other):
                found.setdefault(one, {})[other] = BEGINNING
    return found


def _cost(word: str, other: str, errors: int) -> float | None:
    """What `errors` between two words count, at most _MOST_ERRORS; None if they are too many for these words."""
    short, long = (other, word) if len(other) < len(word) else (word, other)
    if len(short) >= _ONE_ERROR:
        if errors <= (2 if len(short) >= _TWO_ERRORS else 1):
            return float(errors)
    elif errors == 1 and len(long) >= _LACKING and len(short) > 1 and _is_short_error(short, long):
        return SHORT
    return 1.0 if any(_without_ligature(long, two) == short for two in _LIGATURES) else None


def _begins(word: str, other: str) -> bool:
    """Whether one word is the first letters of the other."""
    short, long = (other, word) if len(other) < len(word) else (word, other)
    return (len(short) >= _PREFIX or len(short) == 1) and long.startswith(short)


def _is_short_error(short: str, long: str) -> bool:
    """Whether the error is a letter that a short word lacks, or two that changed places."""
    return len(long) == len(short) + 1 or sorted(long) == sorted(short)


def _without_ligature(word: str, two: str) -> str:
    head, _, tail = word.partition(two)
    return head + tail
