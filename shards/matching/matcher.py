"""Match a line: candidates, evidence, notes, verdict.

Each step costs more and has fewer rows: words and numbers, then names, then the records of the nearest names. If no
note is high, near spellings follow; if no company is likely in the line's countries, all other countries follow.
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
from shards.matching.candidate_rows import CandidateRows, ScoredRow, Spelling, information
from shards.matching.evidence import (
    Forms,
    LineNumbers,
    NumberedPlaces,
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
from shards.reader.shard import ShardRow
from shards.search.company_numbers import find_any_spelling
from shards.search.generation_arrays import GenerationArrays
from shards.search.search import ShardSet
from shards.search.written_numbers import NumberNotation

# The most records that are read for a line. After the first _ALWAYS_READ, companies whose names are more than
# _MOST_DISTANCE nats farther from the line than the nearest name are left out.
_MOST_RECORDS: Final = 20
_MOST_DISTANCE: Final = 15.0
_ALWAYS_READ: Final = 5
# If a candidate has this note, near spellings are not looked up.
_HIGH_NOTE: Final = 0.9
# Characters within a word that stand for a lost letter.
_LOST_LETTER: Final = re.compile(r"(?<=\w)[?\ufffd]+(?=\w)")
_DIGIT: Final = re.compile(r"\d")
# The words after this mark are the recipient of mail, not the company.
_CARE_OF: Final = "c/o"
_CARE_OF_WORDS: Final = ("c", "o")  # this mark as folded words


class ComparedRow(NamedTuple):
    """A row with the comparison of its nearest name, present or former (None if the line has no name).

    Attributes:
        forms: the legal forms of the line and of this name.
        word_information: the information of the words of the line in the country of the row.
        distance: how far this name is from the name of the line, in nats.
        former: whether it is a former name.
    """

    scored_row: ScoredRow
    compared: NameComparison | None
    forms: tuple[Forms, Forms]
    word_information: Mapping[str, float]
    distance: float = 0.0
    former: bool = False

    @property
    def place(self) -> ShardRow:
        """The number of the shard, and the row."""
        return self.scored_row.shard, self.scored_row.row

    @property
    def likeness(self) -> tuple[bool, float]:
        """A sort key of nearness: an equal name is nearer than any other."""
        return self.compared is not None and self.compared.has_same_words, -self.distance

    @property
    def is_whole(self) -> bool:
        """Whether the company has all words of the line, without errors, and no others."""
        name = self.compared
        return name is not None and not (name.lacking or name.extra or name.errors)


class SpelledLine(NamedTuple):
    """The words of a line without the legal forms of the searched countries, and their first spellings."""

    bare: BareName
    first: list[Spelling]


@dataclass(slots=True)
class LineSearch:
    """The results so far for a line in some countries: near spellings return mostly the same rows again."""

    line: Line
    words: tuple[str, ...]
    shard_numbers: Sequence[int]
    numbers: LineNumbers
    classes: Collection[str]
    compared: dict[ShardRow, ComparedRow] = field(default_factory=dict)
    weighed: dict[tuple[ShardRow, bool], WeighedCompany] = field(default_factory=dict)


class Matcher:
    """Matches lines, singly or in batches, with the working memory of one thread."""

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
            activities: the NACE classes of words.
            coordonnees: the caller has the right to contacts; else contacts are no evidence: a note would reveal them.
        """
        self._activities, self._coordonnees = activities, coordonnees
        self._tables, self._weights, self._notation = tables, weights, notation
        self._arrays: GenerationArrays = base.own_session().arrays
        self._rows = CandidateRows(self._arrays)
        self._names = StoredNames(self._arrays, tables)
        # What earlier lines of the batch have looked up: by words and shards, and by words and shard.
        self._spelled: dict[tuple[Words, tuple[int, ...]], SpelledLine] = {}
        self._line_names: dict[tuple[Words, int], LineName] = {}

    @translate_errors()
    def match_all(self, lines: Sequence[Line], limit: int) -> list[MatchResult]:
        """The results of `match` for a batch of lines; texts and names that lines share are looked up once.

        Raises:
            CorruptError: a shard refers to a word, row or text that it does not have.
        """
        self._forget()
        return [self._match(line, limit) for line in lines]

    def _forget(self) -> None:
        """Forget the look-ups of the batch before, so that the memory does not grow with the number of batches."""
        self._rows.forget()
        self._spelled.clear()
        self._line_names.clear()

    @translate_errors()
    def match(self, line: Line, limit: int) -> MatchResult:
        """The verdict on a line and its best candidates, at most `limit`.

        Raises:
            CorruptError: a shard refers to a word, row or text that it does not have.
        """
        self._forget()
        return self._match(line, limit)

    def _match(self, line: Line, limit: int) -> MatchResult:
        """The verdict on a line and its best candidates, at most `limit`; look-ups of earlier lines are used again.

        A rival, a company that could as well be meant, lowers the verdict, so it replaces the last candidate if
        necessary.
        """
        weighed = self._weigh_anywhere(line)
        notes = self._weights.notes([company.evidence for company in weighed])
        ranked = sorted(
            zip(notes, weighed, strict=True),
            key=lambda pair: (-pair[0], pair[1].company["iso2"], pair[1].company["id"]),
        )
        by_name = verdicts.is_unique_by_name([company.evidence for _, company in ranked])
        verdict = self._weights.verdict(notes, SURE_BY_NAME if by_name else SURE_FROM)
        if ranked and ranked[0][1].evidence.get("nom_different"):
            verdict = verdicts.number_verdict(ranked[0][1].evidence, [note for note, _ in ranked])
        elif verdict in (SURE, LIKELY):
            highest, rival = self._certainty(line, [company for _, company in ranked])
            verdict = verdicts.lower(verdict, highest)
            if rival >= limit > 1:  # the answer must contain the rival
                ranked[limit - 1] = ranked[rival]
        candidates = tuple(_candidate(line, note, company) for note, company in ranked[:limit])
        return MatchResult(verdict, candidates)

    def _certainty(self, line: Line, ranked: Sequence[WeighedCompany]) -> tuple[str, int]:
        """The highest verdict that the evidence allows for the best company, and the place of a rival in `ranked`.

        A rival is another company that the line could as well mean, for example a sibling (a company of the same group
        with nearly the same name). The place is 0 if the verdict has another reason, or if nothing lowers it.
        """
        best = ranked[0]
        agreements = verdicts.other_agreements(best.evidence)
        highest = verdicts.highest(best.evidence)
        if highest != SURE:
            return highest, 0
        if not verdicts.is_numbered(best.evidence):
            for place, candidate in enumerate(ranked[1:], 1):
                # The line has the number of another company.
                if verdicts.is_numbered(candidate.evidence):
                    return LIKELY, place
        if best.compared is None:
            return SURE, 0
        is_doubtful = best.evidence.get("forme_autre") or best.evidence.get("faute_courte")
        is_doubtful = is_doubtful or best.compared.initials or best.compared.short_form
        is_doubtful = is_doubtful or self._is_sibling(best) or self._means_a_sibling(best)
        # The name can also be a sibling's, which often has the same town and postcode.
        if is_doubtful and not agreements - verdicts.SHARED:
            return LIKELY, 0
        if not agreements and self._says_little(line):
            return LIKELY, 0
        for place, candidate in enumerate(ranked[1:], 1):
            if agreements <= verdicts.other_agreements(candidate.evidence) and self._is_sibling(
                candidate
            ):
                return LIKELY, place
        return SURE, 0

    def _says_little(self, line: Line) -> bool:
        """Whether the name of a line is one common word, or initials."""
        shard_numbers = self._chosen_shards(line)
        words = self._bare_name(_name_words(line), shard_numbers).words
        if len(words) > 1:
            return False
        if verdicts.are_initials(words[0]):
            return True
        companies_with_word = sum(
            self._rows.sizes(words, number)[words[0]] for number in shard_numbers
        )
        return companies_with_word >= verdicts.COMMON

    def _is_sibling(self, weighed: WeighedCompany) -> bool:
        """Whether a company has the name of the line and only words of a sibling in addition."""
        if weighed.compared is None:
            return False
        return verdicts.is_sibling(weighed.compared, self._tables.kin, self._towns_of(weighed))

    def _means_a_sibling(self, best: WeighedCompany) -> bool:
        """Whether the line has words of a sibling that the company lacks; the company's own town is not such a word."""
        if best.compared is None or best.evidence.get("ville_dans_le_nom"):
            return False
        return verdicts.names_a_sibling(best.compared, self._tables.kin, self._towns_of(best))

    def _towns_of(self, weighed: WeighedCompany) -> Callable[[str], bool]:
        """A function that returns whether a word is a town of the country of the company."""
        shard = self._arrays.shards[self._arrays.numbers[weighed.company["iso2"]]]
        return lambda word: place_of(shard.code_texts("ville"), word.encode()) >= 0

    @translate_errors()
    def weigh(self, line: Line) -> list[WeighedCompany]:
        """The companies that a line may mean, with their evidence.

        If no company is likely in the countries of the line, companies of other countries follow.
        """
        self._forget()
        return self._weigh_anywhere(line)

    def _weigh_anywhere(self, line: Line) -> list[WeighedCompany]:
        """`weigh`, with the look-ups of earlier lines of the batch."""
        line = self._number_from_name(line)
        shard_numbers = self._chosen_shards(line)
        weighed = self._weigh(line, shard_numbers)
        if not line.pays:
            return weighed
        notes = self._weights.notes([company.evidence for company in weighed])
        if sum(notes) >= LIKELY_FROM:
            return weighed
        other_shards = [
            number for number in self._chosen_shards(Line()) if number not in shard_numbers
        ]
        return weighed + self._search_elsewhere(line, other_shards)

    def _number_from_name(self, line: Line) -> Line:
        """The line, with its name as `id` if it has no number and the name is the number of a company."""
        if line.id or line.tva or line.lei or not _DIGIT.search(line.nom or ""):
            return line
        if not self._notation.read(line.nom or "").is_certain:
            return line
        by_number = replace(line, nom=None, id=line.nom)
        return by_number if self._numbers(by_number, self._chosen_shards(line)).places else line

    def _search_elsewhere(self, line: Line, other_shards: Sequence[int]) -> list[WeighedCompany]:
        """The companies that a line may mean in countries that it does not name."""
        return [
            replace(company, evidence={**company.evidence, "pays_different": 1.0})
            for company in self._weigh(line, other_shards)
        ]

    def _weigh(self, line: Line, shard_numbers: Sequence[int]) -> list[WeighedCompany]:
        """The companies of the chosen shards that a line may mean, with their evidence.

        Near spellings, which cost more, are looked up only if no company has a high note.
        """
        numbers = self._numbers(line, shard_numbers)
        classes = self._activities(line.activite) if line.activite else ()
        line_search = LineSearch(line, _name_words(line), shard_numbers, numbers, classes)
        by_number = [ScoredRow(0.0, *place) for place in sorted(numbers.places)]
        if not line_search.words:
            numbered = [ComparedRow(row, None, _NO_FORMS, {}) for row in by_number]
            return self._read(line_search, numbered)
        compared = self._compare_names(line_search, by_number, near=False)
        weighed = self._read(line_search, compared)
        best_note = max(self._weights.notes([company.evidence for company in weighed]), default=0.0)
        if best_note >= _HIGH_NOTE:
            return weighed
        compared += self._compare_names(line_search, [], near=True)
        return self._read(line_search, compared)

    def _chosen_shards(self, line: Line) -> list[int]:
        """The indexes of the shards of the countries of a line (all countries if it has none), without empty shards."""
        numbers = self._arrays.numbers
        # A line can name a country without companies in the base.
        in_countries = sorted(numbers[iso2] for iso2 in line.pays if iso2 in numbers)
        shard_numbers = in_countries if line.pays else range(len(numbers))
        return [number for number in shard_numbers if self._arrays.shards[number].rows]

    # -- candidates --------------------------------------------------------------------------

    def _numbers(self, line: Line, shard_numbers: Sequence[int]) -> LineNumbers:
        """The companies with the numbers of a line: its identifier, its VAT number and its LEI, each by itself."""
        shards = {
            self._arrays.isos[number]: self._arrays.shards[number] for number in shard_numbers
        }

        def companies_of_cell(cell: str | None, *, vat: bool = False) -> NumberedPlaces:
            """The companies with the number in a cell of the line; `vat`: the cell has a VAT number."""
            if not cell:
                return NumberedPlaces()
            places = find_any_spelling(shards, cell, self._notation)
            numbers = self._arrays.numbers
            return NumberedPlaces(
                frozenset((numbers[place.iso2], place.row) for place in places),
                self._notation.read(cell).distinct_numbers,
                self._notation.incomparable(cell, vat=vat),
            )

        return LineNumbers(
            companies_of_cell(line.id),
            companies_of_cell(line.tva, vat=True),
            companies_of_cell(line.lei),
        )

    def _compare_names(
        self, line_search: LineSearch, known_rows: Sequence[ScoredRow], *, near: bool
    ) -> list[ComparedRow]:
        """The rows that share words with a line, and `known_rows`, with their names compared.

        If `near` is true, words with a typing error, initials, and words without an attached legal form are looked up,
        too.
        """
        shard_numbers, words = line_search.shard_numbers, line_search.words
        bare, first = self._spellings(words, shard_numbers)
        spellings = list(first)
        if near:
            spellings += candidate_rows.further_spellings(bare.words)
            spellings += candidate_rows.initials(words)
            only_country = self._arrays.isos[shard_numbers[0]] if len(shard_numbers) == 1 else ""
            for place, word in enumerate(bare.words):
                for name_part in self._tables.forms.words_without_form(word, only_country):
                    spellings.append(Spelling(name_part, place, 0.9))
            shards = self._arrays.shards
            known_rows = [
                *known_rows,
                *candidate_rows.rows_by_initials(
                    shards, shard_numbers, bare.words, line_search.line.ville
                ),
            ]
        all_rows = [*known_rows, *self._rows.rows(spellings, shard_numbers, near=near)]
        rows = list({(row.shard, row.row): row for row in all_rows}.values())
        # row[1:] is the shard and the row, without the score: the keys of `line_search.compared`.
        self._compare(line_search, [row for row in rows if row[1:] not in line_search.compared])
        return [line_search.compared[row.shard, row.row] for row in rows]

    def _spellings(self, words: Words, shard_numbers: Sequence[int]) -> SpelledLine:
        """The spellings of the first look-up of a line."""
        spelled = self._spelled.get((words, tuple(shard_numbers)))
        if spelled is None:
            bare = self._bare_name(words, shard_numbers)
            isos = {self._arrays.isos[number] for number in shard_numbers}
            umlauts, cyrillic = bool(isos & UMLAUTS), bool(isos & CYRILLIC)
            other_spellings = [
                self._tables.other_spellings(word, umlauts=umlauts, cyrillic=cyrillic)
                for word in bare.words
            ]
            spelled = SpelledLine(bare, candidate_rows.first_spellings(bare.words, other_spellings))
            self._spelled[words, tuple(shard_numbers)] = spelled
        return spelled

    def _bare_name(self, words: Words, shard_numbers: Sequence[int]) -> BareName:
        """A name without the legal forms of the only chosen country, or of all countries if several are chosen."""
        isos = [self._arrays.isos[number] for number in shard_numbers]
        return self._tables.bare_name(words, isos[0] if len(isos) == 1 else "")

    def _compare(self, line_search: LineSearch, rows: Sequence[ScoredRow]) -> None:
        """Compare the name of a line with the names of rows; write the nearest name of each to `line_search.compared`.

        Present and former names are compared. The nearest name has the same words, or else the least distance in nats.
        """
        lines = {
            number: self._line_name(line_search.words, number)
            for number in {row[1] for row in rows}
        }
        names = [self._names.names_of(number, row) for _, number, row in rows]
        compared = iter(
            compare(
                [
                    (lines[row[1]].compared, names_of_row)
                    for row, names_of_row in zip(rows, names, strict=True)
                ],
                self._tables,
            )
        )
        for row, names_of_row in zip(rows, names, strict=True):
            line = lines[row.shard]
            nearest: ComparedRow | None = None
            for place, name in enumerate(names_of_row):
                comparison = next(compared)
                # In nats; an error counts like the lack of a word with 3 nats.
                distance = (
                    comparison.lacking
                    + comparison.extra
                    + 3 * comparison.errors
                    - comparison.common
                )
                if nearest is None or (comparison.has_same_words, -distance) > nearest.likeness:
                    forms = line.compared.forms, name.forms
                    nearest = ComparedRow(
                        row, comparison, forms, line.word_information, distance, place > 0
                    )
            assert nearest is not None  # a row has a name
            line_search.compared[row.shard, row.row] = nearest

    def _line_name(self, words: Words, number: int) -> LineName:
        """The name of a line, prepared for comparison with the names of a shard."""
        line_name = self._line_names.get((words, number))
        if line_name is None:
            shard = self._arrays.shards[number]
            bare = self._tables.bare_name(words, shard.iso2)
            sizes = self._rows.sizes(bare.words, number)
            word_information = {word: information(shard.rows, sizes[word]) for word in bare.words}
            line_name = self._names.line_name(number, words, bare, word_information, sizes)
            self._line_names[words, number] = line_name
        return line_name

    # -- evidence ------------------------------------------------------------------------------

    def _read(self, line_search: LineSearch, rows: Sequence[ComparedRow]) -> list[WeighedCompany]:
        """The companies of the nearest rows, read from their records, with all evidence.

        Farther rows are left out, because reading a record costs much more than comparing names; rows that have a
        number of the line are always read. `line_search.weighed` saves a second reading of the same row.
        """
        nearest = list({row.place: row for row in rows}.values())
        # Words of a small country have less information: without `is_whole`, similar names of a large country would
        # precede an equal name of a small country.
        nearest = sorted(nearest, key=lambda row: (not row.is_whole, row.distance))
        farthest = min((row.distance for row in nearest), default=0.0) + _MOST_DISTANCE
        by_number = line_search.numbers.places
        # Rows with a number of the line are not limited by the distance of names.
        nearest = [
            row
            for i, row in enumerate(nearest)
            if i < _ALWAYS_READ
            or (i < _MOST_RECORDS and (row.is_whole or row.distance <= farthest))
            or row.place in by_number
        ]
        companies = sum(self._arrays.shards[number].rows for number in line_search.shard_numbers)
        confirmed = _confirmed_places(nearest, by_number)
        weighed = []
        for row in nearest:
            key = row.place, row.place in confirmed
            if key not in line_search.weighed:
                line_search.weighed[key] = self._weigh_company(
                    line_search, row, companies, by_its_number=key[1]
                )
            weighed.append(line_search.weighed[key])
        return weighed

    def _weigh_company(
        self, line_search: LineSearch, row: ComparedRow, companies: int, *, by_its_number: bool
    ) -> WeighedCompany:
        """A company, read from its record, with all evidence.

        Args:
            by_its_number: the line has the number of the company; a name in the line must not weaken this evidence, so
                the evidence of the name is left out if it disagrees or lowers the strength.
        """
        shard = self._arrays.shards[row.scored_row.shard]
        company = record.company(shard.record(row.scored_row.row, coordonnees=self._coordonnees))
        record_evidence = evidence.other_evidence(
            line_search.line, company, row.place, line_search.numbers
        )
        record_evidence |= evidence.contact_evidence(
            line_search.line, company, self._tables.mail_providers, line_search.classes
        )
        if row.compared is None:
            return WeighedCompany(company, {"sans_nom": 1.0} | record_evidence)
        town_words = fold(company["ville"] or "").split()
        town = evidence.information_in(town_words, row.compared, row.word_information)
        remarks = evidence.information_in(self._tables.remarks, row.compared, row.word_information)
        name_evidence = evidence.name_evidence(
            row.compared, row.forms, companies, town=town, remarks=remarks
        )
        name_evidence |= evidence.added_word_evidence(
            row.compared,
            self._tables.kin,
            self._tables.countries.get(shard.iso2, ()),
            self._tables.countries[""],
            self._tables.remarks,
            name_evidence["surplus"],
        )
        if row.former:
            name_evidence["ancien_nom"] = 1.0
        if row.compared.initials and "ville_identique" in record_evidence:
            # Other companies of the town with these initials are candidates too, so this evidence has its own weight.
            name_evidence["initiales_ville"] = 1.0
        all_evidence = name_evidence | record_evidence
        if by_its_number:
            agrees = row.compared.agrees(town + remarks)
            without_name = {"sans_nom": 1.0} | record_evidence
            if name_evidence["forme_autre"] or not agrees:
                other_name = {"nom_different": 1.0}
                all_evidence, without_name = all_evidence | other_name, without_name | other_name
            if not agrees or self._weights.strength(without_name) > self._weights.strength(
                all_evidence
            ):
                all_evidence = without_name
        return WeighedCompany(company, all_evidence, row.compared)


def _confirmed_places(
    rows: Sequence[ComparedRow], by_number: frozenset[ShardRow]
) -> frozenset[ShardRow]:
    """The companies that are weighed as found by a number of the line: those whose names agree with its name.

    If no name agrees, all companies with a number of the line, unless there are more than _ALWAYS_READ.
    """
    numbered = [row for row in rows if row.place in by_number]
    agreeing = [row for row in numbered if row.compared is None or row.compared.agrees()]
    unconfirmed = numbered if len(numbered) <= _ALWAYS_READ else []
    return frozenset(row.place for row in agreeing or unconfirmed)


def _name_words(line: Line) -> tuple[str, ...]:
    """The folded words of the name of a line, without marks of lost letters and without a `c/o` and its words."""
    words = tuple(fold(_LOST_LETTER.sub("", line.nom or "")).split())
    if _CARE_OF in (line.nom or "").lower():
        # A mark at the start is not cut off, because no word of a name would be left before it.
        pairs = list(itertools.pairwise(words))
        return words[: pairs.index(_CARE_OF_WORDS)] if _CARE_OF_WORDS in pairs[1:] else words
    return words


# The legal forms of a line without a name, and of a company that is compared only by number.
_NO_FORMS: Final = (Forms(), Forms())


def _unreadable_codes(line: Line, weighed: WeighedCompany) -> tuple[str, ...]:
    """The codes of unreadable values; `id_illisible` is left out if the text equals the company's identifier."""
    readable_code = "id_illisible" if weighed.evidence.get("id_identique") else ""
    return tuple(code for code in line.illisibles if code != readable_code)


def _candidate(line: Line, note: float, weighed: WeighedCompany) -> Candidate:
    """The candidate of an answer, with its note rounded to four digits."""
    company = weighed.company
    return Candidate(
        company["iso2"], company["id"], company["nom"], company["ville"], company["code_postal"],
        company["etat"], round(note, 4), evidence.reasons(weighed.evidence) + _unreadable_codes(line, weighed),
    )  # fmt: skip
