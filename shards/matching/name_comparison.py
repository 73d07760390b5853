"""Comparison of two names, word by word: shared words, missing words, different spellings.

The information of a word (in nats) is the logarithm of its rarity in the country: low for "Bau", high for
"Zipfelhuber".
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

# In words of fewer than _ONE_ERROR letters, only a missing letter or two swapped letters are an error, and the longer
# word must have _LEAST_LONGER letters. Longer words can have one error, words of at least _TWO_ERRORS letters two.
_LEAST_LONGER: Final = 3
_ONE_ERROR: Final = 4
_TWO_ERRORS: Final = 8
_MOST_ERRORS: Final = 2
# The least letters of a word that counts as the beginning of another word; a single letter also counts.
_LEAST_PREFIX: Final = 3
# The distance between a word and its first letters: between one error and two.
BEGINNING: Final = 1.5
# The distance of two short words with an error: more than that of two longer words with one error.
SHORT: Final = 1.25
# Ligatures, which are lost in a list that cannot write them: œuvre becomes uvre.
_LIGATURES: Final = ("oe", "ae")

_NO_DISTANCES: Final[Mapping[str, float]] = {}  # of a word without near words

# The distance by a word of the line and a word of a company.
Distances = Mapping[str, Mapping[str, float]]

# Names that differ by blanks can also have a typing error if both have at least this number of letters.
_LEAST_SPACED: Final = 8
# A misspelt legal form of up to this many letters can be another word.
SHORT_FORM: Final = 2
# In nats: a word with less information is in more than one of two hundred names.
LIGHT: Final = 5.3
# Words up to this length are mostly left out of initials: CAF, Caisse d'Allocations Familiales.
_MOST_LEFT_OUT: Final = 3
# The normalized similarity (0 to 1) from which the different words of two names are similar.
_SIMILAR_FROM: Final = 0.7
# Names agree if their shared words have at least this multiple of the information of the words that only the line has.
_SHARED_TO_LACKING: Final = 2.0
# In nats: a word with this information is in one of three thousand names, and can be the brand in a long name.
_BRAND_FROM: Final = 8.0
# The Roman numbers that count as numbers in a name.
_ROMAN: Final = frozenset(("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"))

WeightedWord = tuple[str, float]  # a word and its information


class NameComparison:
    """The comparison of the name of a line with a name of a company.

    Attributes:
        common, lacking, extra: the information of the words that both have, only the line has, only the company has.
        common_words: the number of words that both names have.
        lacking_words, extra_words: the words that only the line has, only the company has.
        heavy_lacking, heavy_extra: the number of these words with an information of at least LIGHT.
        errors: the number of typing errors.
        short_errors: the number of words whose distance is SHORT.
        form_errors: 1 if the line has the company's legal form with a typing error.
        short_form: the misspelt legal form is so short that it can be another word.
        initials: one name is the initials of the other, with or without its legal form.
        initials_letters: the number of initials above three.
        is_beginning: the name of the line is the first words of the company's name.
        error_letters: the length of the shortest word with an error.
        slips: errors after which the word has the same set of letters: doubled, swapped, a repeated letter lost.
        first_letters: the number of words with another first letter.
        inner_initials: the number of words that are the initials of neighbours in the other name.
        known_errors: the number of words with an error that are words of the country as the line writes them.
        abbreviations, beginnings: the number of words that one name abbreviates (by the table), or cuts.
        begun: the information of the words that one name cuts.
        respaced: the number of words that are two words in the other name.
        reordered: the words that both names have are in another order.
        differing: for each name, the words that are not equal, as one text.
        numbers: the number of numbers, Roman numbers and single letters that only one of the names has.
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

    def add_common(self, information: float) -> None:
        """Count a shared word, or words, with this information."""
        self.common += information
        self.common_words += 1

    @property
    def are_alike(self) -> bool:
        """Whether each name has words that the other lacks, and the texts of these words are similar."""
        return all(self.differing) and (
            OSA.normalized_similarity(*self.differing, score_cutoff=_SIMILAR_FROM) >= _SIMILAR_FROM
        )

    def agrees(self, explained: float = 0.0) -> bool:
        """Whether the names agree in the words with much information: one shared word among several is too little.

        Args:
            explained: the information of words that only the line has and that are no contradiction: a town, a remark.
        """
        if self.initials or self.are_alike or not (self.lacking_words or self.extra_words):
            return True
        lacking = max(0.0, self.lacking - explained)
        if lacking and self.common_words == 1:
            return False
        if self.extra and self.beginnings and self.common_words - self.beginnings <= 1:
            # The first letters of a word are weaker evidence than a word: Nord, Nordic.
            return self.common - self.begun >= _BRAND_FROM
        if self.extra > self.common and (lacking or self.common < _BRAND_FROM):
            return False
        return self.common >= LIGHT and self.common >= _SHARED_TO_LACKING * lacking

    @property
    def has_same_words(self) -> bool:
        """Whether all words are equal, in any order."""
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
    """A name without its legal forms, prepared for comparison in one country.

    Attributes:
        words: its words, with their information.
        keys: the key of each word; words with the same key are equal.
        forms: its legal forms.
        ascii: all words are ASCII.
        articles: the words that are articles without their vowel, which are no numbers: l of l'oeuvre.
        row_counts: the number of companies of the country with each word; empty for the name of a company.
        written: all words of the name, with its legal forms.
        iso2: the country; "" for the name of a company.
    """

    words: Sequence[WeightedWord]
    keys: Sequence[str]
    forms: frozenset[LegalForm]
    ascii: bool
    articles: Collection[str]
    row_counts: Mapping[str, int]
    written: Sequence[str]
    iso2: str = ""


class _Pair(NamedTuple):
    """The names of a line and a company, and the words of both that are not equal, in Latin letters."""

    line: ComparedName
    company: ComparedName
    comparison: NameComparison
    line_words: list[WeightedWord]
    company_words: list[WeightedWord]
    raw: Mapping[str, str]  # words as written, by their spelling in Latin letters


def compare(
    compared_names: Sequence[tuple[ComparedName, Sequence[ComparedName]]], tables: NameTables
) -> list[NameComparison]:
    """Compare names of lines with names of companies; the distances of all words are computed at once.

    Args:
        compared_names: pairs of the name of a line in the country of a company, and the names of the company.
    """
    pairs = [
        _remove_equal_words(line, name, tables) for line, names in compared_names for name in names
    ]
    unequal_pairs = [pair for pair in pairs if pair.line_words and pair.company_words]
    distances = word_distances(
        {word for pair in unequal_pairs for word, _ in pair.line_words},
        {word for pair in unequal_pairs for word, _ in pair.company_words},
    )
    for pair in pairs:
        _match_outer_form(pair, distances, tables.forms)
        if pair.line_words or pair.company_words:
            _compare_unequal_words(pair, distances, tables)
    return [pair.comparison for pair in pairs]


def _compare_unequal_words(pair: _Pair, distances: Distances, tables: NameTables) -> None:
    """Match the words that are not equal, in several ways, and count the words that no way matches.

    The functions `_match_…` remove the words that they match from both lists of the pair, so the lists are tested
    before each of them.
    """
    line, company, comparison, line_words, company_words, raw = pair
    if line_words:
        _match_forms(pair, distances, tables)
    if line_words and company_words:
        _match_spacing(line_words, company_words, comparison)
    if line_words and company_words:
        _match_respaced(line_words, company_words, comparison)
        _match_respaced(company_words, line_words, comparison)
    if line_words and company_words and not comparison.common:
        _match_initials(pair, tables)
    if line_words and company_words:
        _match_near(pair, distances)
    if line_words and company_words and comparison.common:
        _match_inner_initials(line_words, company_words, comparison)
        _match_inner_initials(company_words, line_words, comparison)
    for _, information in line_words:
        comparison.lacking += information
        comparison.heavy_lacking += information >= LIGHT
    for _, information in company_words:
        comparison.extra += information
        comparison.heavy_extra += information >= LIGHT
    comparison.lacking_words = [raw.get(word, word) for word, _ in line_words]
    comparison.extra_words = [raw.get(word, word) for word, _ in company_words]
    for word in (*comparison.lacking_words, *comparison.extra_words):
        if is_number(word) and word not in company.articles and word not in line.articles:
            comparison.numbers += 1


def articles(words: Sequence[str]) -> Collection[str]:
    """The words that are articles or prepositions without their vowel: l of l'oeuvre."""
    if ELIDED.isdisjoint(words):
        return ()
    return {word for word, next_word in itertools.pairwise(words) if is_elided(word, next_word)}


def _remove_equal_words(line: ComparedName, company: ComparedName, tables: NameTables) -> _Pair:
    """Remove the equal words of both names and count them.

    The order of articles without their vowel is ignored; so is their number, if both names have them.
    """
    comparison = NameComparison()
    line_words: list[WeightedWord] = []
    places: list[int] = []
    keys = company.keys
    taken_places: set[int] = set()
    same_letters = line.ascii and company.ascii
    for (word, information), key in zip(line.words, line.keys, strict=True):
        place = None
        if key in keys:
            place = keys.index(key)
            if place in taken_places:
                place = next(
                    (
                        i
                        for i, other_key in enumerate(keys)
                        if other_key == key and i not in taken_places
                    ),
                    None,
                )
        if place is None and not same_letters:
            place = _transliterated_place(word, company.words, taken_places, tables)
        if place is None:
            if word not in line.articles or key not in keys:
                line_words.append((word, information))
            continue
        taken_places.add(place)
        if word not in line.articles:
            places.append(place)
        company_word, information = company.words[place]
        comparison.abbreviations += company_word != word and tables.full_word(word) != word
        comparison.add_common(information)
    if len(places) > 1:
        comparison.reordered = places != sorted(places)
    company_words = [
        weighted_word for i, weighted_word in enumerate(company.words) if i not in taken_places
    ]
    if company_words and not line_words:
        comparison.is_beginning = places == list(range(len(places)))
    raw: dict[str, str] = {}
    if not same_letters:
        raw = {tables.latin_word(word): word for word, _ in (*line_words, *company_words)}
        line_words, company_words = (
            [(tables.latin_word(word), information) for word, information in words]
            for words in (line_words, company_words)
        )
    if line_words and company_words:
        comparison.differing = _join_words(line_words), _join_words(company_words)
    return _Pair(line, company, comparison, line_words, company_words, raw)


def _join_words(words: Sequence[WeightedWord]) -> str:
    """The words as one text without blanks."""
    return "".join([word for word, _ in words])


def _transliterated_place(
    word: str, company: Sequence[WeightedWord], taken_places: Collection[int], tables: NameTables
) -> int | None:
    """The place in the company's name of a word that is this word in another alphabet; None if there is none.

    `taken_places` are the places of words that are already matched.
    """
    for place, (company_word, _) in enumerate(company):
        if place not in taken_places and word.isascii() != company_word.isascii():
            latin_of_line, latin_of_company = (
                tables.latin_spellings(word),
                tables.latin_spellings(company_word),
            )
            if not set(latin_of_line).isdisjoint(latin_of_company):
                return place
    return None


def _match_outer_form(pair: _Pair, distances: Distances, forms: LegalForms) -> None:
    """Count a misspelt legal form of the company if the line has nothing else after the name, or before the name.

    The misspelt form is words that only the line has, or a form that the country does not have: `AS` for SAS.
    """
    line, company, comparison, line_words, company_words, raw = pair
    if not line_words and not line.forms:
        return
    missing_forms = company.forms - line.forms
    if not missing_forms or (not line_words and line.forms & company.forms):
        return
    if not line_words and any(forms.is_own(form, line.iso2) for form in line.forms):
        return
    unmatched = {raw.get(word, word) for word, _ in line_words}
    if any(word.isdigit() for word in unmatched):  # no legal form has digits
        return
    # Once from the end of the name, and once, with all words reversed, from its start.
    for written, words in (
        (line.written, [word for word, _ in line.words]),
        (line.written[::-1], [word for word, _ in line.words[::-1]]),
    ):
        # The unmatched words must be the last words, and a word of the name must precede them.
        outer_words = list(itertools.takewhile(unmatched.__contains__, reversed(words)))
        if len(outer_words) != len(unmatched) or len(outer_words) == len(words):
            continue
        last_name_word = words[-1 - len(outer_words)]
        if last_name_word not in written:
            continue
        # The text to compare is all that is written after this word, with the forms that `words` lacks.
        size = written[::-1].index(last_name_word)
        end = written[len(written) - size :]
        text = "".join(end if written is line.written else end[::-1])
        # A word that is near a word of the company is a misspelt word, not a form.
        is_word = any(
            word in distances.get(other, ()) for other, _ in line_words for word, _ in company_words
        )
        if text and not is_word and any(forms.is_near(text, form) for form in missing_forms):
            comparison.form_errors, comparison.short_form = 1, len(text) <= SHORT_FORM
            line_words.clear()
            return


def _match_forms(pair: _Pair, distances: Distances, tables: NameTables) -> None:
    """Match a word of the line that is a legal form of the company, misspelt or attached to a word without a blank.

    A matched word is removed from the words of the line, so that it does not count as a word that the company lacks;
    the comparison counts the error (`form_errors`) or the missing blank (`respaced`). At most one word is matched.
    """
    _, company, comparison, line_words, company_words, _ = pair
    company_text, forms = _join_words(company_words), company.forms
    for form in sorted(forms) if len(forms) > 1 else forms:
        for place, (word, _) in enumerate(line_words):
            if 0 < len(company_text) < len(word) and tables.forms.is_attached(
                word, company_text, form
            ):
                comparison.respaced += 1
                comparison.add_common(sum(weight for _, weight in company_words))
                company_words.clear()
                del line_words[place]
                return
        for word, information in line_words[:]:
            if not tables.forms.is_misspelt(word, form):
                continue
            distances_of_word = distances.get(word, {})
            if all(other not in distances_of_word for other, _ in company_words):
                comparison.form_errors = 1
                line_words.remove((word, information))
                return


def _match_spacing(
    line_words: list[WeightedWord], company_words: list[WeightedWord], comparison: NameComparison
) -> None:
    """Match all remaining words of both names if they differ only by blanks, or also by one error in long texts.

    If they match, both lists of words are emptied, and the comparison counts them as common.
    """
    if len(line_words) == len(company_words) == 1:
        return
    line_text, company_text = _join_words(line_words), _join_words(company_words)
    if line_text == company_text or (
        min(len(line_text), len(company_text)) >= _LEAST_SPACED
        and abs(len(line_text) - len(company_text)) <= 1
        and _digits(line_text) == _digits(company_text)  # another number is no typing error
        and OSA.distance(line_text, company_text, score_cutoff=1) <= 1
    ):
        comparison.respaced += 1
        comparison.errors += line_text != company_text
        comparison.add_common(sum(information for _, information in company_words))
        line_words.clear()
        company_words.clear()


def _digits(text: str) -> str:
    """The digits of a text."""
    return "".join(filter(str.isdigit, text))


def _match_respaced(
    single_words: list[WeightedWord], split_words: list[WeightedWord], comparison: NameComparison
) -> None:
    """Match words of `single_words` that are two neighbours in the other name, written without the blank.

    Matched words are removed from both lists, and the comparison counts them as common.
    """
    if len(split_words) == 1:
        return
    for weighted_word in list(single_words):
        for i in range(len(split_words) - 1):
            if split_words[i][0] + split_words[i + 1][0] == weighted_word[0]:
                comparison.respaced += 1
                comparison.add_common(
                    max(weighted_word[1], split_words[i][1] + split_words[i + 1][1])
                )
                single_words.remove(weighted_word)
                del split_words[i : i + 2]
                break


def _match_initials(pair: _Pair, tables: NameTables) -> None:
    """Match a name that is the initials of the other; only the company's name can have letters for its legal form.

    If they match, both lists of words are emptied, and the comparison counts the initials as common.
    """
    _, company, comparison, line_words, company_words, _ = pair
    if len(line_words) == 1 and len(company_words) > 1:
        letters, information = line_words[0]
        are_initials = _are_initials(letters, company, tables)
    elif len(company_words) == 1 and len(line_words) in INITIALS:
        letters, information = company_words[0]
        are_initials = letters == "".join([word[0] for word, _ in line_words])
    else:
        return
    if are_initials:
        comparison.initials = True
        comparison.initials_letters = len(letters) - INITIALS.start
        comparison.add_common(information)
        line_words.clear()
        company_words.clear()


def _are_initials(letters: str, name: ComparedName, tables: NameTables) -> bool:
    """Whether letters are the initials of a name; legal forms and words like `and` can have a letter or none."""
    if len(letters) not in INITIALS or not letters.isalpha():
        return False
    content = {word for word, _ in name.words}
    reached = 1  # bit n is set if the words so far can give the first n letters
    for word in joined_letters(tuple(name.written)):
        parts = word if word in content and word not in name.written else (word,)
        for part in parts:
            first = tables.latin_word(part)[:1]
            can_be_left_out = word not in content or (
                1 < len(part) <= _MOST_LEFT_OUT and reached > 1
            )
            reached_next = reached if can_be_left_out else 0
            for place, letter in enumerate(letters):
                if letter == first and reached >> place & 1:
                    reached_next |= 2 << place
            reached = reached_next
        if not reached:
            return False
    return bool(reached >> len(letters) & 1)


def _match_inner_initials(
    initials_words: list[WeightedWord],
    written_words: list[WeightedWord],
    comparison: NameComparison,
) -> None:
    """Match words that are the initials of neighbours in the other name: MSA Poitou, IDF for Île-de-France.

    Matched words are removed from both lists, and the comparison counts them as common.
    """
    for weighted_word in initials_words[:]:
        if len(weighted_word[0]) not in INITIALS or not weighted_word[0].isalpha():
            continue
        for start in range(len(written_words) - 1):
            if end := _end_of_initials(weighted_word[0], written_words, start):
                comparison.inner_initials += 1
                comparison.add_common(
                    min(
                        weighted_word[1],
                        sum(information for _, information in written_words[start:end]),
                    )
                )
                initials_words.remove(weighted_word)
                del written_words[start:end]
                break


def _end_of_initials(letters: str, words: Sequence[WeightedWord], start: int) -> int:
    """The end of the words from `start` on with these initials, 0 if there are no such words.

    Short words can be left out. A `d` can be the initial of a `de` that was removed: IDF, Île-de-France.
    """
    letters_left = letters
    for place in range(start, len(words)):
        word = words[place][0]
        if place > start and letters_left[:1] == "d" and word[0] == letters_left[1:2]:
            letters_left = letters_left[1:]
        if word[0] == letters_left[0]:
            letters_left = letters_left[1:]
            if not letters_left:
                return place + 1
        elif place == start or len(word) > _MOST_LEFT_OUT:
            return 0
    return 0


def _match_near(pair: _Pair, distances: Distances) -> None:
    """Match words that differ by one or two errors, or of which one begins the other; the nearest pairs first.

    Each word is matched once. Matched words are removed from both lists; the comparison counts the errors by their
    kinds (`slips`, `first_letters`, `short_errors`, `known_errors`) and the weight of the company's words as common.
    """
    line, _, comparison, line_words, company_words, raw = pair
    pairs = [
        (distances_of_word[other], i, j)
        for i, (word, _) in enumerate(line_words)
        if (distances_of_word := distances.get(word))
        for j, (other, _) in enumerate(company_words)
        if other in distances_of_word
    ]
    if not pairs:
        return
    matched_line: set[int] = set()
    matched_company: set[int] = set()
    for cost, i, j in sorted(pairs):
        if i in matched_line or j in matched_company:
            continue
        matched_line.add(i)
        matched_company.add(j)
        comparison.add_common(company_words[j][1])
        if cost == BEGINNING:
            comparison.beginnings += 1
            comparison.begun += company_words[j][1]
        else:
            word, other, errors = line_words[i][0], company_words[j][0], int(cost)
            letters = len(min(word, other, key=len))
            comparison.errors += errors
            comparison.error_letters = min(comparison.error_letters or letters, letters)
            comparison.slips += errors if set(word) == set(other) else 0
            comparison.first_letters += word[0] != other[0]
            comparison.short_errors += cost == SHORT
            comparison.known_errors += line.row_counts.get(raw.get(word, word), 0) > 0
    line_words[:] = [
        weighted_word for i, weighted_word in enumerate(line_words) if i not in matched_line
    ]
    company_words[:] = [
        weighted_word for j, weighted_word in enumerate(company_words) if j not in matched_company
    ]


def is_number(word: str) -> bool:
    """Whether a word is a number, a Roman number, or a single letter, which tells companies apart like a number."""
    return word.isdigit() or len(word) == 1 or word in _ROMAN


# -- words that are nearly the same ------------------------------------------------------------


def word_distances(line_words: Collection[str], company_words: Collection[str]) -> Distances:
    """The distances between near words: the number of errors, SHORT, or BEGINNING if one word begins the other.

    The words of all companies are compared at once. Errors are those of rapidfuzz (optimal string alignment: two
    letters that change places are one error).
    """
    words = [word for word in line_words if not word.isdigit()]
    other_words = [word for word in company_words if not word.isdigit()]
    if not words or not other_words:
        return {}
    errors = process.cdist(
        words, other_words, scorer=OSA.distance, score_cutoff=_MOST_ERRORS, dtype=np.uint8
    )
    distances: dict[str, dict[str, float]] = {}
    for i, j in np.argwhere(errors <= _MOST_ERRORS).tolist():
        cost = _word_distance(words[i], other_words[j], int(errors[i, j]))
        if cost is not None:
            distances.setdefault(words[i], {})[other_words[j]] = cost
    beginning: dict[str, list[str]] = {}
    for other in other_words:
        beginning.setdefault(other[0], []).append(other)
    for word in words:
        distances_of_word = distances.get(word, _NO_DISTANCES)
        for other in beginning.get(word[0], ()):
            if other not in distances_of_word and _is_beginning_of_other(word, other):
                distances.setdefault(word, {})[other] = BEGINNING
    return distances


def _word_distance(word: str, other_word: str, errors: int) -> float | None:
    """The distance of two words: their errors (at most _MOST_ERRORS), or SHORT for an error in a short word.

    None if the words are too short for so many errors. A ligature written as two letters counts as one error.
    """
    short, long = (other_word, word) if len(other_word) < len(word) else (word, other_word)
    if len(short) >= _ONE_ERROR:
        if errors <= (2 if len(short) >= _TWO_ERRORS else 1):
            return float(errors)
    elif (
        errors == 1
        and len(long) >= _LEAST_LONGER
        and len(short) > 1
        and _is_short_error(short, long)
    ):
        return SHORT
    return 1.0 if any(_remove_ligature(long, pair) == short for pair in _LIGATURES) else None


def _is_beginning_of_other(word: str, other_word: str) -> bool:
    """Whether one word is the first letters of the other."""
    short, long = (other_word, word) if len(other_word) < len(word) else (word, other_word)
    return (len(short) >= _LEAST_PREFIX or len(short) == 1) and long.startswith(short)


def _is_short_error(short: str, long: str) -> bool:
    """Whether the error is a letter that the shorter word lacks, or two swapped letters."""
    return len(long) == len(short) + 1 or sorted(long) == sorted(short)


def _remove_ligature(word: str, ligature: str) -> str:
    """The word without the first occurrence of the two letters of a ligature."""
    before, _, after = word.partition(ligature)
    return before + after
