"""Legal forms in names, of every country, in all spellings of their parts (extension X19).

A form is a sequence of folded words with a class (`seeds/formes_juridiques.csv`); a form without a country is valid in
all countries. The labels of ISO 20275 (`seeds/elf.csv`) are forms too, of unknown class. Forms consist of parts, and a
part may have several spellings (`seeds/parties_de_formes.csv`): `company limited` is also `co ltd`. "S.à r.l." is the
words s, a, r, l; a form of up to five letters is also recognised with its letters apart.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import OSA

from shards.codec.folding import fold

# The folded words of a name or a form.
Words = tuple[str, ...]
# A row of a table of `seeds/`, by column.
TableRow = Mapping[str, str]

# A form of fewer letters is recognised only at the start or end of a name: `sa`, `as` and `kg` are also words.
_LEAST_ANYWHERE: Final = 3
# A form of up to this number of letters is also recognised with its letters apart: s a r l.
_LONGEST_SPACED: Final = 5
# A form of another country is recognised in front of a name only with this number of letters: ООО, OAO, but not
# "Corporation"; two letters are initials: A&E Consultancy.
_IN_FRONT: Final = range(3, 5)
# A form whose parts can be combined in more spellings is recognised only as its table writes it.
_MOST_SPELLINGS: Final = 4_000
# Words between two parts instead of "&", which folded text does not have.
_AND: Final = ((), ("und",), ("u",), ("and",), ("et",), ("e",), ("og",))
# Words of at least _ONE_ERROR letters are recognised with one typing error, of at least _TWO_ERRORS letters with two.
_ONE_ERROR: Final = 3
_TWO_ERRORS: Final = 7
# Forms of up to this number of letters are recognised with a letter missing, added or swapped, but not replaced: that
# would be another form, or a name.
_SHORT: Final = 3
# The least and most letters of a form that is attached to a name without a blank, and the least letters of the name.
_ATTACHED: Final = 2
_LONGEST_ATTACHED: Final = 12
_LEAST_NAME: Final = 3
# A label of ISO 20275 with fewer words than this is not read as a legal form: "Trust", "Fonds".
_LABEL_WORDS: Final = 2


class LegalForm(NamedTuple):
    """A legal form: its class ("" if unknown) and its name, which all spellings of the same parts share."""

    classe: str
    name: Words


class LegalForms:
    """Legal forms by country."""

    def __init__(
        self,
        forms: Iterable[TableRow],
        parts: Iterable[TableRow] = (),
        labels: Iterable[TableRow] = (),
    ) -> None:
        """Read rows of the tables; a row is a dict by column."""
        self._parts: dict[Words, list[Words]] = {}  # by part: its spellings
        self._canonical: dict[Words, Words] = {}  # by spelling: its part
        for row in parts:
            part, spelling = _folded_words(row["partie"]), _folded_words(row["ecriture"])
            self._parts.setdefault(part, [part]).append(spelling)
        for part, spellings in self._parts.items():
            for spelling in spellings:
                self._canonical.setdefault(spelling, part)
        entries = [(row["iso2"], row["forme"], row["classe"]) for row in forms]
        entries += [
            (row["iso2"], row["label"], "")
            for row in labels
            if len(row["label"].split()) >= _LABEL_WORDS
        ]
        self._by_country: dict[str, dict[Words, LegalForm]] = {"": {}}
        everywhere: dict[Words, LegalForm] = {}
        # By name of a form: its spellings without blanks, and its words that can have a typing error.
        self._texts: dict[Words, set[str]] = {}
        self._form_words: dict[Words, set[str]] = {}
        self._names_by_country: dict[str, set[Words]] = {}
        self._add_forms(entries, everywhere, _spacings)
        self._add_forms(entries, everywhere, self._all_spellings)
        # Forms that a country does not list itself are recognised only as the last or first words of a name. So are
        # labels that describe an activity: "Caisse d'épargne et de prévoyance" is a form after a name, but before it a
        # part of the name.
        self._at_ends = {
            iso2: frozenset(everywhere.keys() - by_words.keys())
            | self._descriptive_labels(by_words)
            for iso2, by_words in self._by_country.items()
        }
        for by_words in self._by_country.values():
            for words, form in everywhere.items():
                by_words.setdefault(words, form)
        # First word of a form -> the most words of such a form. A word that is absent begins no form, so it is passed.
        self._longest = {
            iso2: _longest_sizes(by_words) for iso2, by_words in self._by_country.items()
        }

    def _add_forms(
        self,
        entries: Sequence[tuple[str, str, str]],
        everywhere: dict[Words, LegalForm],
        spellings: Callable[[str], Iterable[Words]],
    ) -> None:
        """Add spellings of forms to their countries, or to `everywhere` if an entry has no country.

        Earlier entries for the same words stay. The spellings are also kept for the recognition of typing errors.
        """
        for iso2, text, classe in entries:
            form = LegalForm(classe, self._canonical_name(text))
            texts = self._texts.setdefault(form.name, set())
            by_words = self._by_country.setdefault(iso2, {}) if iso2 else everywhere
            self._names_by_country.setdefault(iso2, set()).add(form.name)
            for words in spellings(text):
                by_words.setdefault(words, form)
                # Where all countries are allowed, a single word of unknown class is not recognised.
                if classe or len(words) > 1:
                    self._by_country[""].setdefault(words, form)
                texts.add("".join(words))
                self._form_words.setdefault(form.name, set()).update(
                    word for word in words if len(word) >= _ONE_ERROR
                )

    def _descriptive_labels(self, by_words: Mapping[Words, LegalForm]) -> set[Words]:
        """The labels that do not begin with a part of a form, such as `société`."""
        return {
            words
            for words, form in by_words.items()
            if not form.classe and not self._leading_part(words)
        }

    def split_forms(self, folded: Words, iso2: str) -> tuple[Words, frozenset[LegalForm]]:
        """A folded name without its forms of a country (`""`: of all), and these forms; at least one word stays.

        At each word, the longest form that begins there is removed.
        """
        iso2 = iso2 if iso2 in self._by_country else ""
        by_words, longest, at_ends = (
            self._by_country[iso2],
            self._longest[iso2],
            self._at_ends[iso2],
        )
        if longest.keys().isdisjoint(folded):
            return folded, frozenset()
        words = list(folded)
        forms: set[LegalForm] = set()
        start = 0
        while start < len(words):
            longest_size = longest.get(words[start], 0)
            size = _form_at(by_words, at_ends, words, start, longest_size) if longest_size else 0
            if size and size < len(words):
                forms.add(by_words[tuple(words[start : start + size])])
                del words[start : start + size]
                start = 0 if start < size else start
            else:
                start += 1
        return tuple(words), frozenset(forms)

    def is_attached(self, word: str, name: str, form: LegalForm) -> bool:
        """Whether a word is a name and a legal form, in either order, without a blank."""
        if word == name:
            return False
        texts = self._texts[form.name]
        return (word.startswith(name) and word[len(name) :] in texts) or (
            word.endswith(name) and word[: -len(name)] in texts
        )

    def is_misspelt(self, word: str, form: LegalForm) -> bool:
        """Whether the word is a word of a form with a typing error."""
        if len(word) < _ONE_ERROR:
            return False
        max_errors = 2 if len(word) >= _TWO_ERRORS else 1
        words = self._form_words[form.name]
        nearest = process.extractOne(word, words, scorer=OSA.distance, score_cutoff=max_errors)
        return nearest is not None and nearest[1] > 0

    def is_own(self, form: LegalForm, iso2: str) -> bool:
        """Whether a form belongs to this country."""
        return form.name in self._names_by_country.get(iso2, ())

    def is_near(self, text: str, form: LegalForm) -> bool:
        """Whether a text without blanks is a complete form, also with typing errors: `o` for oü, `gmbhckg`."""
        texts = self._texts[form.name]
        if text in texts:
            return True
        if any(_lacks_a_letter(text, form_text) for form_text in texts if len(form_text) <= _SHORT):
            return True
        if len(text) < _SHORT:
            return False
        long_texts = [form_text for form_text in texts if len(form_text) > _SHORT]
        max_errors = 2 if len(text) >= _TWO_ERRORS else 1
        return bool(
            process.extractOne(text, long_texts, scorer=OSA.distance, score_cutoff=max_errors)
        )

    def words_without_form(self, word: str, iso2: str) -> Iterator[str]:
        """A word without a form at its end, or without a form of ≥ 4 letters at its start: siemens from siemensag."""
        by_words = self._by_country[iso2 if iso2 in self._by_country else ""]
        for size in range(_ATTACHED, min(_LONGEST_ATTACHED, len(word) - _LEAST_NAME) + 1):
            if (word[-size:],) in by_words:
                yield word[:-size]
            if size >= _IN_FRONT[-1] and (word[:size],) in by_words:
                yield word[size:]

    def _all_spellings(self, text: str) -> Iterator[Words]:
        """A form in all spellings of its parts."""
        choices: list[Sequence[Words]] = []
        count = 1
        for number, section in enumerate(text.split("&")):
            if number and choices:
                choices.append(_AND)
            words = _folded_words(section)
            while words:
                part = self._leading_part(words)
                choices.append(self._parts[self._canonical[part]] if part else [words[:1]])
                words = words[max(1, len(part)) :]
        for choice in choices:
            count *= len(choice)
        if count <= _MOST_SPELLINGS:
            for chosen_spellings in product(*choices):
                yield tuple(word for part in chosen_spellings for word in part)

    def _canonical_name(self, text: str) -> Words:
        """The words of a form, each part in its first spelling, so that all spellings of a form have one name."""
        words = _folded_words(text)
        name: list[str] = []
        while words:
            part = self._leading_part(words)
            name += self._canonical[part] if part else words[:1]
            words = words[max(1, len(part)) :]
        return tuple(name)

    def _leading_part(self, words: Words) -> Words:
        """The longest part of a form, in any spelling, that the words begin with; () if they begin with no part."""
        for size in range(len(words), 0, -1):
            if words[:size] in self._canonical:
                return words[:size]
        return ()


def _form_at(
    by_words: Mapping[Words, LegalForm],
    at_ends: frozenset[Words],
    words: list[str],
    start: int,
    longest_size: int,
) -> int:
    """The number of words of the longest form that begins at `start`, at most `longest_size`; 0 if there is no form."""
    for size in range(min(longest_size, len(words) - start), 0, -1):
        candidate = tuple(words[start : start + size])
        form = by_words.get(candidate)
        if form is None:
            continue
        is_last = start + size == len(words)
        if not form.classe and size == 1:  # "company" is a form only as the last word
            if is_last:
                return size
            continue
        letters = sum(map(len, candidate))
        is_foreign = candidate in at_ends
        # A form in front of a name belongs to the country, or has as many letters as _IN_FRONT says.
        is_first = start == 0 and (not is_foreign or letters in _IN_FRONT)
        if is_last or is_first or (letters >= _LEAST_ANYWHERE and not is_foreign):
            return size
    return 0


def _lacks_a_letter(text: str, other_text: str) -> bool:
    """Whether two short texts differ by one letter that only one of them has, or are each other in reverse."""
    if len(text) == len(other_text):
        return text != other_text and text == other_text[::-1]
    return (
        abs(len(text) - len(other_text)) == 1
        and OSA.distance(text, other_text, score_cutoff=1) == 1
    )


def _longest_sizes(by_words: Mapping[Words, LegalForm]) -> dict[str, int]:
    """The number of words of the longest form, by its first word."""
    sizes: dict[str, int] = {}
    for words in by_words:
        sizes[words[0]] = max(sizes.get(words[0], 0), len(words))
    return sizes


def _folded_words(text: str) -> Words:
    """The folded words of a text."""
    return tuple(fold(text).split())


def _spacings(form: str) -> set[Words]:
    """The words of a form; of a short form, also its letters apart and all letters as one word."""
    words = _folded_words(form)
    joined = "".join(words)
    spellings = {words}
    if len(joined) <= _LONGEST_SPACED:
        spellings |= {tuple(joined), (joined,)}
    return spellings - {()}
