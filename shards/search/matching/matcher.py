"""Match a line: candidates, evidence, notes, verdict."""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from shards.codec import record
from shards.codec.folding import fold
from shards.errors import reading
from shards.search.generation_arrays import GenerationArrays
from shards.search.matching import candidate_rows, certainty, evidence, further_evidence
from shards.search.matching.candidate_rows import CandidateRows, Found, folded_words, information
from shards.search.matching.company_numbers import Derivation, in_any_spelling
from shards.search.matching.evidence import Evidence, Forms
from shards.search.matching.line import LIKELY, SURE, Candidate, Line, MatchResult
from shards.search.matching.name_comparison import ComparedName, NameComparison, compare
from shards.search.matching.name_tables import CYRILLIC, UMLAUTS, BareName, NameTables
from shards.search.matching.probability import LIKELY_FROM, Weights
from shards.search.search import ShardSet

# Companies whose records are read for a line; those whose names are so many nats farther than the nearest one are not,
# but for a few.
_READ: Final = 20
_BEHIND: Final = 15.0
_FEW: Final = 5
# A note from which no further spellings are looked for.
_ENOUGH: Final = 0.9
# What stands within a word for a letter that was lost.
_LOST: Final = re.compile(r"(?<=\w)[?\ufffd]+(?=\w)")


Place = tuple[int, int]  # a shard, by its place in the table, and a row


class Compared(NamedTuple):
    """A row with its nearest name compared, which may be a former one; no comparison where the line has no name."""

    found: Found
    compared: NameComparison | None
    forms: tuple[Forms, Forms]
    told: Mapping[str, float]
    former: bool = False

    @property
    def place(self) -> Place:
        """The row."""
        return self.found.shard, self.found.row

    @property
    def distance(self) -> float:
        """Rows are read in this order."""
        if self.compared is None:
            return 0.0
        compared = self.compared
        return compared.lacking + compared.extra + 3 * compared.errors - compared.common


class Numbered(NamedTuple):
    """The companies with the identifier of a line, and those with its VAT number, in whatever spelling."""

    by_id: frozenset[Place]
    by_vat: frozenset[Place]

    @property
    def places(self) -> frozenset[Place]:
        """All of them."""
        return self.by_id | self.by_vat


class LineName(NamedTuple):
    """The name of a line without the legal forms of a country, and what its words tell there."""

    bare: BareName
    compared: ComparedName
    told: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Weighed:
    """A company and what speaks for it."""

    company: Mapping[str, Any]
    evidence: Evidence
    compared: NameComparison | None = None


class Matcher:
    """Matches lines one at a time: working memory of one thread."""

    def __init__(
        self,
        base: ShardSet,
        tables: NameTables,
        weights: Weights,
        derivations: Sequence[Derivation],
    ) -> None:
        self._tables, self._weights, self._derivations = tables, weights, derivations
        self._arrays: GenerationArrays = base.own_session().arrays
        self._rows = CandidateRows(self._arrays)

    @reading()
    def match(self, line: Line, limit: int) -> MatchResult:
        """The verdict on a line and its best candidates, at most `limit`.

        Raises:
            CorruptError: a shard refers to what it does not have.
        """
        weighed = self.weigh(line)
        notes = self._weights.notes([found.evidence for found in weighed])
        ranked = sorted(
            zip(notes, weighed, strict=True),
            key=lambda pair: (-pair[0], pair[1].company["iso2"], pair[1].company["id"]),
        )
        verdict = self._weights.verdict(notes)
        if verdict == SURE:
            verdict, rival = self._certainty(line, [found for _, found in ranked])
            if rival >= limit > 1:
                ranked[limit - 1] = ranked[rival]
        candidates = tuple(_candidate(note, found) for note, found in ranked[:limit])
        return MatchResult(verdict, candidates)

    def _certainty(self, line: Line, ranked: Sequence[Weighed]) -> tuple[str, int]:
        """`sur`, or `probable` where the name alone is too little; and the place of a sibling, 0 if there is none."""
        best = ranked[0]
        further = certainty.beyond_the_name(best.evidence)
        if best.evidence.get("pays_different") or best.evidence.get("nom_different"):
            return LIKELY, 0
        if best.compared is None:
            return SURE, 0
        doubtful = best.evidence.get("forme_autre") or best.evidence.get("faute_courte")
        if (doubtful or self._is_sibling(best)) and not further - certainty.SHARED:
            return LIKELY, 0
        if not further and self._says_little(line):
            return LIKELY, 0
        for place, other in enumerate(ranked[1:], 1):
            if further <= certainty.beyond_the_name(other.evidence) and self._is_sibling(other):
                return LIKELY, place
        return SURE, 0

    def _says_little(self, line: Line) -> bool:
        """Whether the name of a line is one common word, or initials."""
        chosen = self._chosen(line)
        words = self._bare(_name_words(line), chosen).words
        if len(words) > 1:
            return False
        if certainty.are_initials(words[0]):
            return True
        others = sum(self._rows.sizes(words, number)[words[0]] for number in chosen)
        return others >= certainty.COMMON

    def _is_sibling(self, other: Weighed) -> bool:
        if other.compared is None:
            return False
        shard = self._arrays.shards[self._arrays.numbers[other.company["iso2"]]]
        towns = shard.code_texts("ville")

        def is_town(word: str) -> bool:
            place = bisect_left(towns, word.encode())
            return place < len(towns) and towns[place] == word.encode()

        return certainty.is_sibling(other.compared, self._tables.kin, is_town)

    @reading()
    def weigh(self, line: Line) -> list[Weighed]:
        """The companies that a line may mean, with what speaks for each.

        Where the countries of the line have no answer, those of the others too.
        """
        chosen = self._chosen(line)
        found = self._weigh(line, chosen)
        notes = self._weights.notes([each.evidence for each in found])
        if not line.pays or sum(notes) >= LIKELY_FROM:
            return found
        others = [number for number in self._chosen(Line()) if number not in chosen]
        return found + self._elsewhere(line, others)

    def _elsewhere(self, line: Line, others: Sequence[int]) -> list[Weighed]:
        """The companies that a line may mean in other countries than it says."""
        return [
            replace(each, evidence={**each.evidence, "pays_different": 1.0})
            for each in self._weigh(line, others)
        ]

    def _weigh(self, line: Line, chosen: Sequence[int]) -> list[Weighed]:
        """The companies of some countries that a line may mean."""
        numbered = self._rows_by_number(line, chosen)
        by_number = [Found(0.0, *place) for place in sorted(numbered.places)]
        words = _name_words(line)
        if not words:
            alone = [Compared(row, None, _NO_FORMS, {}) for row in by_number]
            return self._read(line, alone, chosen, numbered)
        found = self._compare_names(words, chosen, by_number, near=False)
        weighed = self._read(line, found, chosen, numbered)
        best = max(self._weights.notes([each.evidence for each in weighed]), default=0.0)
        if best >= _ENOUGH:
            return weighed
        found += self._compare_names(words, chosen, [], near=True)
        return self._read(line, found, chosen, numbered)

    def _chosen(self, line: Line) -> list[int]:
        numbers = self._arrays.numbers
        asked = sorted(numbers[iso2] for iso2 in line.pays) if line.pays else range(len(numbers))
        return [number for number in asked if self._arrays.shards[number].rows]

    # -- candidates --------------------------------------------------------------------------

    def _rows_by_number(self, line: Line, chosen: Sequence[int]) -> Numbered:
        shards = {self._arrays.isos[number]: self._arrays.shards[number] for number in chosen}

        def found(given: str | None) -> frozenset[Place]:
            places = in_any_spelling(shards, given or "", self._derivations)
            numbers = self._arrays.numbers
            return frozenset((numbers[place.iso2], place.row) for place in places)

        return Numbered(found(line.id), found(line.tva))

    def _compare_names(
        self, words: tuple[str, ...], chosen: Sequence[int], more: Sequence[Found], *, near: bool
    ) -> list[Compared]:
        """Rows that share words with a line, with their names compared, the nearest first."""
        bare = self._bare(words, chosen)
        isos = {self._arrays.isos[number] for number in chosen}
        umlauts, cyrillic = bool(isos & UMLAUTS), bool(isos & CYRILLIC)
        others = [
            self._tables.others(word, umlauts=umlauts, cyrillic=cyrillic) for word in bare.words
        ]
        spellings = candidate_rows.first_spellings(bare.words, others)
        if near:
            spellings += candidate_rows.further_spellings(bare.words)
            spellings += candidate_rows.initials(words)
            only = isos.pop() if len(isos) == 1 else ""
            for place, word in enumerate(bare.words):
                for rest in self._tables.forms.attached(word, only):
                    spellings.append(candidate_rows.Spelling(rest, place, 0.9))
        found = [*more, *self._rows.rows(spellings, chosen, near=near)]
        names: dict[str, LineName] = {}
        rows = list({(row.shard, row.row): row for row in found}.values())
        compared = [self._compare(words, row, names) for row in rows]
        return sorted(compared, key=lambda each: each.distance)

    def _bare(self, words: tuple[str, ...], chosen: Sequence[int]) -> BareName:
        isos = [self._arrays.isos[number] for number in chosen]
        return self._tables.bare(words, isos[0] if len(isos) == 1 else "")

    def _compare(
        self,
        words: tuple[str, ...],
        row: Found,
        names: dict[str, LineName],
    ) -> Compared:
        """Compare a name with that of a row; `names` has that of the line without the forms of each country."""
        shard = self._arrays.shards[row.shard]
        line = names.get(shard.iso2)
        if line is None:
            line = names[shard.iso2] = self._line_name(words, row.shard)
        nearest: Compared | None = None
        for place, theirs in enumerate(folded_words(shard, row.row)):
            sizes = dict(theirs)
            other = self._tables.bare(tuple(word for word, _ in theirs), shard.iso2)
            told = [(word, information(shard.rows, sizes.get(word, 0))) for word in other.words]
            compared = compare(line.compared, told, other.forms, self._tables)
            forms = line.bare.forms, other.forms
            found = Compared(row, compared, forms, line.told, former=place > 0)
            if nearest is None or found.distance < nearest.distance:
                nearest = found
        assert nearest is not None  # a row has a name
        return nearest

    def _line_name(self, words: tuple[str, ...], number: int) -> LineName:
        """The name of a line as it is compared with those of a shard."""
        shard = self._arrays.shards[number]
        bare = self._tables.bare(words, shard.iso2)
        known = self._rows.sizes(bare.words, number)
        told = [(word, information(shard.rows, known[word])) for word in bare.words]
        compared = ComparedName.of(told, self._tables, known, umlauts=shard.iso2 in UMLAUTS)
        return LineName(bare, compared, dict(told))

    # -- evidence ------------------------------------------------------------------------------

    def _read(
        self, line: Line, found: Sequence[Compared], chosen: Sequence[int], numbered: Numbered
    ) -> list[Weighed]:
        """The records of the nearest rows, with all evidence."""
        best = list({each.place: each for each in found}.values())
        best = sorted(best, key=lambda each: each.distance)
        farthest = best[0].distance + _BEHIND if best else 0.0
        by_number = numbered.places
        # Rows found by a number are not cut by the distance of names.
        best = [
            each
            for i, each in enumerate(best)
            if i < _FEW or (i < _READ and each.distance <= farthest) or each.place in by_number
        ]
        companies = sum(self._arrays.shards[number].rows for number in chosen)
        named = _named(best, by_number)
        return [
            self._weighed(line, each, companies, numbered, by_its_number=each.place in named)
            for each in best
        ]

    def _weighed(
        self, line: Line, each: Compared, companies: int, numbered: Numbered, *, by_its_number: bool
    ) -> Weighed:
        """A company, read from its record, with all evidence.

        Args:
            by_its_number: the line names it by its number, which says no less where a name is given too.
        """
        shard = self._arrays.shards[each.found.shard]
        company = record.company(shard.record(each.found.row, coordonnees=True))
        further = _further_evidence(line, company, each, numbered)
        name = "".join(fold(company["nom"]).split())
        further |= further_evidence.of_line(line, company, name, self._tables.mail_providers)
        if each.compared is None:
            return Weighed(company, {"sans_nom": 1.0} | further)
        town = evidence.town_told(each.compared, each.told, company)
        named = evidence.of_name(each.compared, each.forms, companies, town=town)
        if each.former:
            named["ancien_nom"] = 1.0
        found = named | further
        if by_its_number:
            other = {} if each.compared.agrees else {"nom_different": 1.0}
            alone = {"sans_nom": 1.0} | other | further
            if other or self._weights.strength(alone) > self._weights.strength(found):
                found = alone
        return Weighed(company, found, each.compared)


def _named(found: Sequence[Compared], by_number: frozenset[Place]) -> frozenset[Place]:
    """The companies that a line names by a number: those whose names agree; where none does, all, if they are few."""
    numbered = [each for each in found if each.place in by_number]
    agreeing = [each for each in numbered if each.compared is None or each.compared.agrees]
    few = numbered if len(numbered) <= _FEW else []
    return frozenset(each.place for each in agreeing or few)


def _name_words(line: Line) -> tuple[str, ...]:
    """The folded words of the name of a line; a letter that some program could not write is left out."""
    return tuple(fold(_LOST.sub("", line.nom or "")).split())


_NO_FORMS: Final = (Forms(), Forms())


def _further_evidence(
    line: Line, company: Mapping[str, Any], each: Compared, numbered: Numbered
) -> Evidence:
    """What else than the name speaks for a company."""
    place = each.place
    found = evidence.of_place(line, company)
    found |= evidence.of_identifiers(
        line, company, by_id=place in numbered.by_id, by_vat=place in numbered.by_vat
    )
    if company["etat"] == "cessee":
        found["cessee"] = 1.0
    return found


def _candidate(note: float, found: Weighed) -> Candidate:
    company = found.company
    return Candidate(
        company["iso2"], company["id"], company["nom"], company["ville"], company["code_postal"],
        company["etat"], round(note, 4), evidence.reasons(found.evidence),
    )  # fmt: skip
