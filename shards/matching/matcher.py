"""Match a line: candidates, evidence, notes, verdict.

Each stage is dearer and sees fewer rows: words and numbers, then names, then records of the nearest names. Where no
note of these is high, near spellings are tried; where nothing is likely in the line's countries, all the others.
"""

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from shards.codec import record
from shards.codec.folding import fold
from shards.codec.strings import place_of
from shards.errors import translate_errors
from shards.matching import candidate_rows, evidence, verdicts
from shards.matching.candidate_rows import CandidateRows, FoundRow, Spelling, information
from shards.matching.evidence import (
    Forms,
    LineNumbers,
    NumberedPlaces,
    Place,
    WeighedCompany,
)
from shards.matching.legal_forms import Words
from shards.matching.line import LIKELY, SURE, Candidate, Line, MatchResult
from shards.matching.name_comparison import NameComparison, compare
from shards.matching.name_tables import CYRILLIC, UMLAUTS, BareName, NameTables
from shards.matching.stored_names import LineName, StoredNames
from shards.matching.verdicts import (
    LIKELY_FROM,
    SURE_BY_NAME,
    SURE_FROM,
    Weights,
)
from shards.search.company_numbers import in_any_spelling
from shards.search.generation_arrays import GenerationArrays
from shards.search.search import ShardSet
from shards.search.written_numbers import NumberNotation

# Companies whose records are read for a line; those whose names are so many nats farther than the nearest one are not,
# but for a few.
_READ: Final = 20
_BEHIND: Final = 15.0
_FEW: Final = 5
# A note from which no further spellings are looked for.
_ENOUGH: Final = 0.9
# What stands within a word for a letter that was lost.
_LOST: Final = re.compile(r"(?<=\w)[?\ufffd]+(?=\w)")
_DIGIT: Final = re.compile(r"\d")
# Behind it is whoever takes the mail.
_CARE_OF: Final = "c/o"
_CARE: Final = ("c", "o")


class ComparedRow(NamedTuple):
    """A row with its nearest name compared, which may be a former one; no comparison where the line has no name."""

    found: FoundRow
    compared: NameComparison | None
    forms: tuple[Forms, Forms]
    told: Mapping[str, float]
    distance: float = 0.0
    former: bool = False

    @property
    def place(self) -> Place:
        """The row."""
        return self.found.shard, self.found.row

    @property
    def likeness(self) -> tuple[bool, float]:
        """How near the name is: an equal one is nearer than any other."""
        return self.compared is not None and self.compared.has_same_words, -self.distance

    @property
    def is_whole(self) -> bool:
        """Has the company all that the line says, and no more?"""
        one = self.compared
        return one is not None and not (one.lacking or one.extra or one.errors)


class SpelledLine(NamedTuple):
    """The words of a line without the legal forms of the countries asked for, and their spellings."""

    bare: BareName
    first: list[Spelling]


@dataclass(slots=True)
class LineSearch:
    """What was found out about a line in some countries: near spellings find most of the same rows again."""

    line: Line
    words: tuple[str, ...]
    chosen: Sequence[int]
    numbers: LineNumbers
    classes: Collection[str]
    compared: dict[Place, ComparedRow] = field(default_factory=dict)
    weighed: dict[tuple[Place, bool], WeighedCompany] = field(default_factory=dict)


class Matcher:
    """Matches lines, one at a time or a batch: working memory of one thread."""

    def __init__(
        self,
        base: ShardSet,
        tables: NameTables,
        weights: Weights,
        notation: NumberNotation,
        *,
        activities: Callable[[str], Collection[str]],
        coordonnees: bool,
    ) -> None:
        """Open a matcher.

        Args:
            activities: the classes of the NACE that words name.
            coordonnees: the caller has the right to contacts; else they are no evidence, as a note would tell them.
        """
        self._activities, self._coordonnees = activities, coordonnees
        self._tables, self._weights, self._notation = tables, weights, notation
        self._arrays: GenerationArrays = base.own_session().arrays
        self._rows = CandidateRows(self._arrays)
        self._names = StoredNames(self._arrays, tables)
        self._spelled: dict[tuple[Words, tuple[int, ...]], SpelledLine] = {}
        self._of_lines: dict[tuple[Words, int], LineName] = {}

    @translate_errors()
    def match_all(self, lines: Sequence[Line], limit: int) -> list[MatchResult]:
        """The results of `match` of a batch of lines, which shares the work that does not depend on one line.

        Texts and names that several lines have are looked up once.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        self._forget()
        return [self._match(line, limit) for line in lines]

    def _forget(self) -> None:
        """Forget what was remembered for the lines before."""
        self._rows.forget()
        self._spelled.clear()
        self._of_lines.clear()

    @translate_errors()
    def match(self, line: Line, limit: int) -> MatchResult:
        """The verdict on a line and its best candidates, at most `limit`.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        self._forget()
        return self._match(line, limit)

    def _match(self, line: Line, limit: int) -> MatchResult:
        weighed = self._weigh_anywhere(line)
        notes = self._weights.notes([found.evidence for found in weighed])
        ranked = sorted(
            zip(notes, weighed, strict=True),
            key=lambda pair: (-pair[0], pair[1].company["iso2"], pair[1].company["id"]),
        )
        by_name = verdicts.is_one_of_its_name([found.evidence for _, found in ranked])
        verdict = self._weights.verdict(notes, SURE_BY_NAME if by_name else SURE_FROM)
        if ranked and ranked[0][1].evidence.get("nom_different"):
            verdict = verdicts.of_number(ranked[0][1].evidence, [note for note, _ in ranked])
        elif verdict in (SURE, LIKELY):
            highest, rival = self._certainty(line, [found for _, found in ranked])
            verdict = verdicts.lower(verdict, highest)
            if rival >= limit > 1:
                ranked[limit - 1] = ranked[rival]
        candidates = tuple(_candidate(line, note, found) for note, found in ranked[:limit])
        return MatchResult(verdict, candidates)

    def _certainty(self, line: Line, ranked: Sequence[WeighedCompany]) -> tuple[str, int]:
        """The highest verdict that the evidence allows; and the place of a rival, 0 if there is none."""
        best = ranked[0]
        further = verdicts.beyond_the_name(best.evidence)
        highest = verdicts.highest(best.evidence)
        if highest != SURE:
            return highest, 0
        if not verdicts.is_numbered(best.evidence):
            for place, other in enumerate(ranked[1:], 1):
                if verdicts.is_numbered(other.evidence):  # the number is that of another company
                    return LIKELY, place
        if best.compared is None:
            return SURE, 0
        doubtful = best.evidence.get("forme_autre") or best.evidence.get("faute_courte")
        doubtful = doubtful or best.compared.initials or best.compared.short_form
        doubtful = doubtful or self._is_sibling(best) or self._means_a_sibling(best)
        if doubtful and not further - verdicts.SHARED:
            return LIKELY, 0
        if not further and self._says_little(line):
            return LIKELY, 0
        for place, other in enumerate(ranked[1:], 1):
            if further <= verdicts.beyond_the_name(other.evidence) and self._is_sibling(other):
                return LIKELY, place
        return SURE, 0

    def _says_little(self, line: Line) -> bool:
        """Whether the name of a line is one common word, or initials."""
        chosen = self._chosen_shards(line)
        words = self._bare_name(_name_words(line), chosen).words
        if len(words) > 1:
            return False
        if verdicts.are_initials(words[0]):
            return True
        others = sum(self._rows.sizes(words, number)[words[0]] for number in chosen)
        return others >= verdicts.COMMON

    def _is_sibling(self, other: WeighedCompany) -> bool:
        if other.compared is None:
            return False
        return verdicts.is_sibling(other.compared, self._tables.kin, self._towns_of(other))

    def _means_a_sibling(self, best: WeighedCompany) -> bool:
        """Whether the line has words of a sibling that the company does not have; its own town is none."""
        if best.compared is None or best.evidence.get("ville_dans_le_nom"):
            return False
        return verdicts.names_a_sibling(best.compared, self._tables.kin, self._towns_of(best))

    def _towns_of(self, weighed: WeighedCompany) -> Callable[[str], bool]:
        """Whether a word is a town of the country of a company."""
        shard = self._arrays.shards[self._arrays.numbers[weighed.company["iso2"]]]
        return lambda word: place_of(shard.code_texts("ville"), word.encode()) >= 0

    @translate_errors()
    def weigh(self, line: Line) -> list[WeighedCompany]:
        """The companies that a line may mean, with what speaks for each.

        Where the countries of the line have no answer, those of the others too.
        """
        self._forget()
        return self._weigh_anywhere(line)

    def _weigh_anywhere(self, line: Line) -> list[WeighedCompany]:
        line = self._with_number(line)
        chosen = self._chosen_shards(line)
        found = self._weigh(line, chosen)
        if not line.pays:
            return found
        notes = self._weights.notes([each.evidence for each in found])
        if sum(notes) >= LIKELY_FROM:
            return found
        others = [number for number in self._chosen_shards(Line()) if number not in chosen]
        return found + self._search_elsewhere(line, others)

    def _with_number(self, line: Line) -> Line:
        """The line; where its only name is the number of some company, with that number."""
        if line.id or line.tva or line.lei or not _DIGIT.search(line.nom or ""):
            return line
        if not self._notation.read(line.nom or "").is_certain:
            return line
        by_number = replace(line, nom=None, id=line.nom)
        return by_number if self._numbers(by_number, self._chosen_shards(line)).places else line

    def _search_elsewhere(self, line: Line, others: Sequence[int]) -> list[WeighedCompany]:
        """The companies that a line may mean in other countries than it says."""
        return [
            replace(each, evidence={**each.evidence, "pays_different": 1.0})
            for each in self._weigh(line, others)
        ]

    def _weigh(self, line: Line, chosen: Sequence[int]) -> list[WeighedCompany]:
        """The companies of some countries that a line may mean."""
        numbers = self._numbers(line, chosen)
        classes = self._activities(line.activite) if line.activite else ()
        seen = LineSearch(line, _name_words(line), chosen, numbers, classes)
        by_number = [FoundRow(0.0, *place) for place in sorted(numbers.places)]
        if not seen.words:
            alone = [ComparedRow(row, None, _NO_FORMS, {}) for row in by_number]
            return self._read(seen, alone)
        found = self._compare_names(seen, by_number, near=False)
        weighed = self._read(seen, found)
        best = max(self._weights.notes([each.evidence for each in weighed]), default=0.0)
        if best >= _ENOUGH:
            return weighed
        found += self._compare_names(seen, [], near=True)
        return self._read(seen, found)

    def _chosen_shards(self, line: Line) -> list[int]:
        numbers = self._arrays.numbers
        # The base may have no company of a country that a line names.
        given = sorted(numbers[iso2] for iso2 in line.pays if iso2 in numbers)
        asked = given if line.pays else range(len(numbers))
        return [number for number in asked if self._arrays.shards[number].rows]

    # -- candidates --------------------------------------------------------------------------

    def _numbers(self, line: Line, chosen: Sequence[int]) -> LineNumbers:
        """The companies with the numbers of a line."""
        shards = {self._arrays.isos[number]: self._arrays.shards[number] for number in chosen}

        def numbered(given: str | None, *, vat: bool = False) -> NumberedPlaces:
            if not given:
                return NumberedPlaces()
            places = in_any_spelling(shards, given, self._notation)
            numbers = self._arrays.numbers
            return NumberedPlaces(
                frozenset((numbers[place.iso2], place.row) for place in places),
                self._notation.read(given).all_numbers,
                self._notation.incomparable(given, vat=vat),
            )

        return LineNumbers(numbered(line.id), numbered(line.tva, vat=True), numbered(line.lei))

    def _compare_names(
        self, seen: LineSearch, more: Sequence[FoundRow], *, near: bool
    ) -> list[ComparedRow]:
        """Rows that share words with a line, with their names compared."""
        chosen, words = seen.chosen, seen.words
        bare, first = self._spellings(words, chosen)
        spellings = list(first)
        if near:
            spellings += candidate_rows.further_spellings(bare.words)
            spellings += candidate_rows.initials(words)
            only = self._arrays.isos[chosen[0]] if len(chosen) == 1 else ""
            for place, word in enumerate(bare.words):
                for rest in self._tables.forms.words_without_form(word, only):
                    spellings.append(Spelling(rest, place, 0.9))
            shards = self._arrays.shards
            more = [
                *more,
                *candidate_rows.rows_by_initials(shards, chosen, bare.words, seen.line.ville),
            ]
        found = [*more, *self._rows.rows(spellings, chosen, near=near)]
        rows = list({(row.shard, row.row): row for row in found}.values())
        self._compare(seen, [row for row in rows if row[1:] not in seen.compared])
        return [seen.compared[row.shard, row.row] for row in rows]

    def _spellings(self, words: Words, chosen: Sequence[int]) -> SpelledLine:
        """The words that a line is looked up by first."""
        known = self._spelled.get((words, tuple(chosen)))
        if known is None:
            bare = self._bare_name(words, chosen)
            isos = {self._arrays.isos[number] for number in chosen}
            umlauts, cyrillic = bool(isos & UMLAUTS), bool(isos & CYRILLIC)
            others = [
                self._tables.other_spellings(word, umlauts=umlauts, cyrillic=cyrillic)
                for word in bare.words
            ]
            known = SpelledLine(bare, candidate_rows.first_spellings(bare.words, others))
            self._spelled[words, tuple(chosen)] = known
        return known

    def _bare_name(self, words: Words, chosen: Sequence[int]) -> BareName:
        isos = [self._arrays.isos[number] for number in chosen]
        return self._tables.bare_name(words, isos[0] if len(isos) == 1 else "")

    def _compare(self, seen: LineSearch, rows: Sequence[FoundRow]) -> None:
        """Compare the name of a line with the present and former names of rows."""
        lines = {number: self._line_name(seen.words, number) for number in {row[1] for row in rows}}
        names = [self._names.names_of(number, row) for _, number, row in rows]
        compared = iter(
            compare(
                [(lines[row[1]].compared, of_row) for row, of_row in zip(rows, names, strict=True)],
                self._tables,
            )
        )
        for row, names_of_row in zip(rows, names, strict=True):
            line = lines[row.shard]
            nearest: ComparedRow | None = None
            for place, name in enumerate(names_of_row):
                one = next(compared)
                distance = one.lacking + one.extra + 3 * one.errors - one.common
                if nearest is None or (one.has_same_words, -distance) > nearest.likeness:
                    forms = line.compared.forms, name.forms
                    nearest = ComparedRow(row, one, forms, line.told, distance, place > 0)
            assert nearest is not None  # a row has a name
            seen.compared[row.shard, row.row] = nearest

    def _line_name(self, words: Words, number: int) -> LineName:
        """The name of a line as it is compared with those of a shard."""
        known = self._of_lines.get((words, number))
        if known is None:
            shard = self._arrays.shards[number]
            bare = self._tables.bare_name(words, shard.iso2)
            sizes = self._rows.sizes(bare.words, number)
            told = {word: information(shard.rows, sizes[word]) for word in bare.words}
            known = self._names.line_name(number, words, bare, told, sizes)
            self._of_lines[words, number] = known
        return known

    # -- evidence ------------------------------------------------------------------------------

    def _read(self, seen: LineSearch, rows: Sequence[ComparedRow]) -> list[WeighedCompany]:
        """The records of the nearest rows, with all evidence."""
        best = list({each.place: each for each in rows}.values())
        # Words of a small country tell less: near names of a large one would precede an equal name of it.
        best = sorted(best, key=lambda each: (not each.is_whole, each.distance))
        farthest = min((each.distance for each in best), default=0.0) + _BEHIND
        by_number = seen.numbers.places
        # Rows found by a number are not cut by the distance of names.
        best = [
            each
            for i, each in enumerate(best)
            if i < _FEW
            or (i < _READ and (each.is_whole or each.distance <= farthest))
            or each.place in by_number
        ]
        companies = sum(self._arrays.shards[number].rows for number in seen.chosen)
        named = _named_places(best, by_number)
        weighed = []
        for each in best:
            key = each.place, each.place in named
            if key not in seen.weighed:
                seen.weighed[key] = self._weigh_company(seen, each, companies, by_its_number=key[1])
            weighed.append(seen.weighed[key])
        return weighed

    def _weigh_company(
        self, seen: LineSearch, each: ComparedRow, companies: int, *, by_its_number: bool
    ) -> WeighedCompany:
        """A company, read from its record, with all evidence.

        Args:
            by_its_number: the line names it by its number, which says no less where a name is given too.
        """
        shard = self._arrays.shards[each.found.shard]
        company = record.company(shard.record(each.found.row, coordonnees=self._coordonnees))
        further = evidence.beside_the_name(seen.line, company, each.place, seen.numbers)
        further |= evidence.contact_evidence(
            seen.line, company, self._tables.mail_providers, seen.classes
        )
        if each.compared is None:
            return WeighedCompany(company, {"sans_nom": 1.0} | further)
        town_words = fold(company["ville"] or "").split()
        town = evidence.information_in(town_words, each.compared, each.told)
        remarks = evidence.information_in(self._tables.remarks, each.compared, each.told)
        named = evidence.of_name(each.compared, each.forms, companies, town=town, remarks=remarks)
        named |= evidence.of_added_words(
            each.compared,
            self._tables.kin,
            self._tables.countries.get(shard.iso2, ()),
            self._tables.countries[""],
            self._tables.remarks,
            named["surplus"],
        )
        if each.former:
            named["ancien_nom"] = 1.0
        if each.compared.initials and "ville_identique" in further:
            # Others of the town with these initials are candidates too.
            named["initiales_ville"] = 1.0
        all_evidence = named | further
        if by_its_number:
            agrees = each.compared.agrees(town + remarks)
            alone = {"sans_nom": 1.0} | further
            if named["forme_autre"] or not agrees:
                other = {"nom_different": 1.0}
                all_evidence, alone = all_evidence | other, alone | other
            if not agrees or self._weights.strength(alone) > self._weights.strength(all_evidence):
                all_evidence = alone
        return WeighedCompany(company, all_evidence, each.compared)


def _named_places(rows: Sequence[ComparedRow], by_number: frozenset[Place]) -> frozenset[Place]:
    """The companies that a line names by a number: those whose names agree; where none does, all, if they are few."""
    numbered = [each for each in rows if each.place in by_number]
    agreeing = [each for each in numbered if each.compared is None or each.compared.agrees()]
    few = numbered if len(numbered) <= _FEW else []
    return frozenset(each.place for each in agreeing or few)


def _name_words(line: Line) -> tuple[str, ...]:
    """The folded words of the name of a line, without letters that some program could not write and its `c/o`."""
    words = tuple(fold(_LOST.sub("", line.nom or "")).split())
    if _CARE_OF in (line.nom or "").lower():
        pairs = list(itertools.pairwise(words))
        return words[: pairs.index(_CARE)] if _CARE in pairs[1:] else words
    return words


_NO_FORMS: Final = (Forms(), Forms())


def _unread(line: Line, weighed: WeighedCompany) -> tuple[str, ...]:
    """The codes of the values that could not be read; but the text of an identifier that is the company's was."""
    read = "id_illisible" if weighed.evidence.get("id_identique") else ""
    return tuple(code for code in line.illisibles if code != read)


def _candidate(line: Line, note: float, weighed: WeighedCompany) -> Candidate:
    company = weighed.company
    return Candidate(
        company["iso2"], company["id"], company["nom"], company["ville"], company["code_postal"],
        company["etat"], round(note, 4), evidence.reasons(weighed.evidence) + _unread(line, weighed),
    )  # fmt: skip
