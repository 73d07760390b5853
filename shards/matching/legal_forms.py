"""Legal forms in names, of every country, in all spellings of their parts (extension X19).

A form is a sequence of folded words with a class (`seeds/formes_juridiques.csv`); those without a country hold in all
of them. So do the labels of ISO 20275 (`seeds/elf.csv`), whose class is not known. Forms are made of parts, and a part
has several spellings (`seeds/parties_de_formes.csv`): `company limited` is also `co ltd`. "S.à r.l." is the words s, a,
r, l, and a form of up to five letters is also known with its letters apart.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import OSA

from shards.codec.folding import fold

Words = tuple[str, ...]
Row = Mapping[str, str]

# A form of fewer letters is only taken for one at an end of the name: `sa`, `as` and `kg` are also words.
_ANYWHERE: Final = 3
_SPACED: Final = 5
# A form of another country is one in front of a name if it has so many letters: ООО, OAO, but not "Corporation"; and
# two letters are initials: A&E Consultancy.
_IN_FRONT: Final = range(3, 5)
# Of one form at most so many spellings are known.
_MOST_SPELLINGS: Final = 4_000
# What may be between two parts: "&" is not in folded text, its words are.
_AND: Final = ((), ("und",), ("u",), ("and",), ("et",), ("e",), ("og",))
# Words of fewer letters have no errors; from the second length on there may be two.
_ONE_ERROR: Final = 3
_TWO_ERRORS: Final = 7
# Forms of so few letters lack one or have one too many: another letter would make another form, or a name.
_SHORT: Final = 3
# Letters of a form that may follow a name without a blank, and letters of what is before it.
_ATTACHED: Final = 2
_LONGEST_ATTACHED: Final = 12
_REST: Final = 3
# A label of ISO 20275 with fewer words is no sign of a legal form: "Trust", "Fonds".
_LABEL_WORDS: Final = 2


class LegalForm(NamedTuple):
    """A legal form: its class, "" if it is not known, and its name, which spellings of the same parts share."""

    classe: str
    name: Words


class LegalForms:
    """Legal forms by country."""

    def __init__(
        self, forms: Iterable[Row], parts: Iterable[Row] = (), labels: Iterable[Row] = ()
    ) -> None:
        """Read rows of the tables, by column."""
        self._parts: dict[Words, list[Words]] = {}
        self._canonical: dict[Words, Words] = {}
        for row in parts:
            part, spelling = _words(row["partie"]), _words(row["ecriture"])
            self._parts.setdefault(part, [part]).append(spelling)
        for part, spellings in self._parts.items():
            for spelling in spellings:
                self._canonical.setdefault(spelling, part)
        given = [(row["iso2"], row["forme"], row["classe"]) for row in forms]
        given += [
            (row["iso2"], row["label"], "")
            for row in labels
            if len(row["label"].split()) >= _LABEL_WORDS
        ]
        self._known: dict[str, dict[Words, LegalForm]] = {"": {}}
        everywhere: dict[Words, LegalForm] = {}
        self._texts: dict[Words, set[str]] = {}
        self._single: dict[Words, set[str]] = {}
        self._own: dict[str, set[Words]] = {}
        self._add(given, everywhere, _spellings)
        self._add(given, everywhere, self._of_parts)
        # Those of no country are the forms at an end of a name only, and so are labels that say what a company does:
        # "Caisse d'épargne et de prévoyance" is a form behind a name, and in front a part of it.
        self._at_ends = {
            iso2: frozenset(everywhere.keys() - known.keys()) | self._telling(known)
            for iso2, known in self._known.items()
        }
        for known in self._known.values():
            for words, form in everywhere.items():
                known.setdefault(words, form)
        # Most words begin no form: the words of the longest one that each word begins.
        self._longest = {iso2: _longest_sizes(known) for iso2, known in self._known.items()}

    def _add(
        self,
        given: Sequence[tuple[str, str, str]],
        everywhere: dict[Words, LegalForm],
        spellings: Callable[[str], Iterable[Words]],
    ) -> None:
        """Add spellings of forms; those that are known stay as they are."""
        for iso2, text, classe in given:
            form = LegalForm(classe, self._name(text))
            texts = self._texts.setdefault(form.name, set())
            known = self._known.setdefault(iso2, {}) if iso2 else everywhere
            self._own.setdefault(iso2, set()).add(form.name)
            for words in spellings(text):
                known.setdefault(words, form)
                if classe or len(words) > 1:
                    self._known[""].setdefault(words, form)
                texts.add("".join(words))
                self._single.setdefault(form.name, set()).update(
                    word for word in words if len(word) >= _ONE_ERROR
                )

    def _telling(self, known: Mapping[Words, LegalForm]) -> set[Words]:
        """The labels that do not begin with a part of a form, as `société` is."""
        return {words for words, form in known.items() if not form.classe and not self._part(words)}

    def without_forms(self, folded: Words, iso2: str) -> tuple[Words, frozenset[LegalForm]]:
        """A folded name without the forms of a country (`""`: of all), at least one word; and these forms."""
        iso2 = iso2 if iso2 in self._known else ""
        known, longest, at_ends = self._known[iso2], self._longest[iso2], self._at_ends[iso2]
        if longest.keys().isdisjoint(folded):
            return folded, frozenset()
        words = list(folded)
        forms: set[LegalForm] = set()
        at = 0
        while at < len(words):
            most = longest.get(words[at], 0)
            size = _form_at(known, at_ends, words, at, most) if most else 0
            if size and size < len(words):
                forms.add(known[tuple(words[at : at + size])])
                del words[at : at + size]
                at = 0 if at < size else at
            else:
                at += 1
        return tuple(words), frozenset(forms)

    def is_attached(self, word: str, name: str, form: LegalForm) -> bool:
        """Whether a word is a name with a legal form before or behind it, without a blank."""
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
        most = 2 if len(word) >= _TWO_ERRORS else 1
        words = self._single[form.name]
        near = process.extractOne(word, words, scorer=OSA.distance, score_cutoff=most)
        return near is not None and near[1] > 0

    def is_own(self, form: LegalForm, iso2: str) -> bool:
        """Whether a form is one of this country."""
        return form.name in self._own.get(iso2, ())

    def is_near(self, text: str, form: LegalForm) -> bool:
        """Whether a text without blanks is a whole form with at most a typing error: `o` of oü, `gmbhckg`."""
        texts = self._texts[form.name]
        if text in texts:
            return True
        if any(_lacks_a_letter(text, other) for other in texts if len(other) <= _SHORT):
            return True
        if len(text) < _SHORT:
            return False
        long = [other for other in texts if len(other) > _SHORT]
        most = 2 if len(text) >= _TWO_ERRORS else 1
        return bool(process.extractOne(text, long, scorer=OSA.distance, score_cutoff=most))

    def words_without_form(self, word: str, iso2: str) -> Iterator[str]:
        """A word without the form that is at its end, or a long one in front: siemens of siemensag."""
        known = self._known[iso2 if iso2 in self._known else ""]
        for size in range(_ATTACHED, min(_LONGEST_ATTACHED, len(word) - _REST) + 1):
            if (word[-size:],) in known:
                yield word[:-size]
            if size >= _IN_FRONT[-1] and (word[:size],) in known:
                yield word[size:]

    def _of_parts(self, text: str) -> Iterator[Words]:
        """A form in all spellings of its parts."""
        choices: list[Sequence[Words]] = []
        count = 1
        for number, section in enumerate(text.split("&")):
            if number and choices:
                choices.append(_AND)
            words = _words(section)
            while words:
                part = self._part(words)
                choices.append(self._parts[self._canonical[part]] if part else [words[:1]])
                words = words[max(1, len(part)) :]
        for choice in choices:
            count *= len(choice)
        if count <= _MOST_SPELLINGS:
            for chosen in product(*choices):
                yield tuple(word for part in chosen for word in part)

    def _name(self, text: str) -> Words:
        words = _words(text)
        found: list[str] = []
        while words:
            part = self._part(words)
            found += self._canonical[part] if part else words[:1]
            words = words[max(1, len(part)) :]
        return tuple(found)

    def _part(self, words: Words) -> Words:
        """The longest spelling of a part with which words begin, or none."""
        for size in range(len(words), 0, -1):
            if words[:size] in self._canonical:
                return words[:size]
        return ()


def _form_at(
    known: Mapping[Words, LegalForm],
    at_ends: frozenset[Words],
    words: list[str],
    at: int,
    most: int,
) -> int:
    """The number of words of the longest form that begins at `at`, at most `most`; 0 if none does."""
    for size in range(min(most, len(words) - at), 0, -1):
        found = tuple(words[at : at + size])
        form = known.get(found)
        if form is None:
            continue
        last = at + size == len(words)
        if not form.classe and size == 1:  # "company" is only a form behind a name
            if last:
                return size
            continue
        letters = sum(map(len, found))
        foreign = found in at_ends
        first = at == 0 and (not foreign or letters in _IN_FRONT)
        if last or first or (letters >= _ANYWHERE and not foreign):
            return size
    return 0


def _lacks_a_letter(text: str, other: str) -> bool:
    """Whether one of two short texts lacks a letter of the other, or has its two letters exchanged."""
    if len(text) == len(other):
        return text != other and text == other[::-1]
    return abs(len(text) - len(other)) == 1 and OSA.distance(text, other, score_cutoff=1) == 1


def _longest_sizes(known: Mapping[Words, LegalForm]) -> dict[str, int]:
    found: dict[str, int] = {}
    for words in known:
        found[words[0]] = max(found.get(words[0], 0), len(words))
    return found


def _words(text: str) -> Words:
    return tuple(fold(text).split())


def _spellings(form: str) -> set[Words]:
    words = _words(form)
    whole = "".join(words)
    found = {words}
    if len(whole) <= _SPACED:
        found |= {tuple(whole), (whole,)}
    return found - {()}
