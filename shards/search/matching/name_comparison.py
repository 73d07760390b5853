"""Two names, word by word: what they share, what one of them lacks, and how spellings differ.

How much a word tells is the logarithm of how rare it is in the country (nats), so "Bau" is worth little and
"Zipfelhuber" much. Distances of words are those of rapidfuzz (optimal string alignment: two letters that change places
are one error).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rapidfuzz.distance import OSA

from shards.search.matching.name_tables import NameTables, plain

# Words of fewer letters may not differ; longer ones by one error, and by two from the second length on.
_ONE_ERROR: Final = 4
_TWO_ERRORS: Final = 8
_PREFIX: Final = 3
# The distance of a word from its first letters: more than one error, less than two.
_BEGINNING: Final = 1.5
_ROMAN: Final = frozenset(("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"))

Told = tuple[str, float]  # a word, and how much it tells


@dataclass(slots=True)
class NameComparison:
    """How a name of a line and that of a company compare.

    Attributes:
        common, lacking, extra: what the words tell that both have, only the line has, only the company has.
        lacking_words, extra_words: these words.
        errors: typing errors in the words that are nearly the same.
        known_errors: those of them where the word of the line is itself a word of the country.
        abbreviations, beginnings: words that one name has short, by the table, or as the first letters of the other's.
        respaced: words that one name has as two.
        numbers: numbers, Roman ones and single letters that only one of them has.
    """

    common: float = 0.0
    lacking: float = 0.0
    extra: float = 0.0
    lacking_words: list[str] = field(default_factory=list)
    extra_words: list[str] = field(default_factory=list)
    errors: int = 0
    known_errors: int = 0
    abbreviations: int = 0
    beginnings: int = 0
    respaced: int = 0
    reordered: bool = False
    numbers: int = 0

    @property
    def same(self) -> bool:
        """Are all words the same, in whatever order?"""
        return not (
            self.lacking_words
            or self.extra_words
            or self.errors
            or self.abbreviations
            or self.beginnings
            or self.respaced
        )


@dataclass(frozen=True, slots=True)
class ComparedName:
    """The name of a line, as it is compared with the names of one country.

    Attributes:
        told: its words.
        keys: what each word must share with another one to be the same.
        known: how many companies of the country have each word in their names.
        umlauts: ae and ä are the same.
    """

    told: Sequence[Told]
    keys: Sequence[str]
    known: Mapping[str, int]
    umlauts: bool

    @classmethod
    def of(
        cls, told: Sequence[Told], tables: NameTables, known: Mapping[str, int], *, umlauts: bool
    ) -> "ComparedName":
        """The name of these words."""
        return cls(told, [_key(word, tables, umlauts=umlauts) for word, _ in told], known, umlauts)


def compare(line: ComparedName, company: Sequence[Told], tables: NameTables) -> NameComparison:
    """Compare the words of a line with those of a company."""
    found = NameComparison()
    left, right = _without_equal(line, company, tables, found)
    if left and right:
        _match_spacing(left, right, found)
    if left and right:
        _match_respaced(left, right, found)
        _match_respaced(right, left, found)
    if left and right:
        _match_near(left, right, found, line.known)
    for word, told in left:
        found.lacking += told
        found.lacking_words.append(word)
    for word, told in right:
        found.extra += told
        found.extra_words.append(word)
    found.numbers = sum(map(_is_number, found.lacking_words + found.extra_words))
    return found


def _without_equal(
    line: ComparedName, company: Sequence[Told], tables: NameTables, found: NameComparison
) -> tuple[list[Told], list[Told]]:
    """What is left of both when words that are the same are taken out."""
    left: list[Told] = []
    right = list(company)
    places: list[int] = []
    keys = [_key(word, tables, umlauts=line.umlauts) for word, _ in company]
    taken: set[int] = set()
    for (word, told), key in zip(line.told, line.keys, strict=True):
        place = next((i for i, other in enumerate(keys) if other == key and i not in taken), None)
        if place is None:
            left.append((word, told))
            continue
        taken.add(place)
        places.append(place)
        found.abbreviations += tables.full(word) != word and company[place][0] != word
        found.common += company[place][1]
    found.reordered = places != sorted(places)
    return left, [pair for i, pair in enumerate(right) if i not in taken]


def _key(word: str, tables: NameTables, *, umlauts: bool) -> str:
    full = tables.full(word)
    return plain(full) if umlauts else full


def _match_spacing(left: list[Told], right: list[Told], found: NameComparison) -> None:
    """All that is left is the same text with blanks elsewhere."""
    if len(left) == len(right) == 1:
        return
    one, other = "".join(word for word, _ in left), "".join(word for word, _ in right)
    if one == other or (
        min(len(one), len(other)) >= _TWO_ERRORS and OSA.distance(one, other, score_cutoff=1) <= 1
    ):
        found.respaced += 1
        found.errors += one != other
        found.common += sum(told for _, told in right)
        left.clear()
        right.clear()


def _match_respaced(whole: list[Told], parts: list[Told], found: NameComparison) -> None:
    """A word of one name that is two neighbours of the other."""
    for pair in list(whole):
        for i in range(len(parts) - 1):
            if parts[i][0] + parts[i + 1][0] == pair[0]:
                found.respaced += 1
                found.common += max(pair[1], parts[i][1] + parts[i + 1][1])
                whole.remove(pair)
                del parts[i : i + 2]
                break


def _match_near(
    left: list[Told], right: list[Told], found: NameComparison, known: Mapping[str, int]
) -> None:
    """Words that differ by one or two errors, or of which one begins the other; the nearest first."""
    pairs = sorted(
        (cost, i, j)
        for i, (one, _) in enumerate(left)
        for j, (other, _) in enumerate(right)
        if (cost := _distance(one, other)) is not None
    )
    gone_left: set[int] = set()
    gone_right: set[int] = set()
    for cost, i, j in pairs:
        if i in gone_left or j in gone_right:
            continue
        gone_left.add(i)
        gone_right.add(j)
        found.common += right[j][1]
        if cost == _BEGINNING:
            found.beginnings += 1
        else:
            found.errors += int(cost)
            found.known_errors += known.get(left[i][0], 0) > 0
    left[:] = [pair for i, pair in enumerate(left) if i not in gone_left]
    right[:] = [pair for j, pair in enumerate(right) if j not in gone_right]


def _distance(one: str, other: str) -> float | None:
    """The number of errors between two words, _BEGINNING if one begins the other, None if they are too far apart."""
    short, long = sorted((one, other), key=len)
    if short.isdigit() or long.isdigit():
        return None
    if len(short) >= _ONE_ERROR:
        most = 2 if len(short) >= _TWO_ERRORS else 1
        errors = OSA.distance(one, other, score_cutoff=most)
        if errors <= most:
            return float(errors)
    if long.startswith(short) and (len(short) >= _PREFIX or len(short) == 1):
        return _BEGINNING
    return None


def _is_number(word: str) -> bool:
    return word.isdigit() or len(word) == 1 or word in _ROMAN
