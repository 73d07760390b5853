"""Match a line: candidates, evidence, notes, verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from shards.codec import record
from shards.codec.folding import fold
from shards.errors import reading
from shards.search.generation_arrays import GenerationArrays
from shards.search.matching import candidate_rows, evidence
from shards.search.matching.candidate_rows import CandidateRows, Found, folded_words, information
from shards.search.matching.company_numbers import Derivation, in_any_spelling
from shards.search.matching.evidence import Evidence
from shards.search.matching.line import Candidate, Line, MatchResult
from shards.search.matching.name_comparison import ComparedName, NameComparison, compare
from shards.search.matching.name_tables import UMLAUTS, BareName, NameTables
from shards.search.matching.probability import Weights
from shards.search.search import ShardSet

# Companies whose records are read for a line; those whose names are so many nats farther than the nearest one are not,
# but for a few.
_READ: Final = 20
_BEHIND: Final = 15.0
_FEW: Final = 5
# A note from which no further spellings are looked for.
_ENOUGH: Final = 0.9


class Compared(NamedTuple):
    """A row with its nearest name compared, which may be a former one; no comparison where the line has no name."""

    found: Found
    compared: NameComparison | None
    classes: tuple[frozenset[str], frozenset[str]]
    told: Mapping[str, float]
    former: bool = False

    @property
    def distance(self) -> float:
        """Rows are read in this order."""
        if self.compared is None:
            return 0.0
        compared = self.compared
        return compared.lacking + compared.extra + 3 * compared.errors - compared.common


class Numbered(NamedTuple):
    """The companies with the identifier of a line, and those with its VAT number, in whatever spelling."""

    by_id: frozenset[Found]
    by_vat: frozenset[Found]


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
        candidates = tuple(_candidate(note, found) for note, found in ranked[:limit])
        return MatchResult(self._weights.verdict(notes), candidates)

    @reading()
    def weigh(self, line: Line) -> list[Weighed]:
        """The companies that a line may mean, with what speaks for each."""
        chosen = self._chosen(line)
        numbered = self._rows_by_number(line, chosen)
        by_number = list(dict.fromkeys([*numbered.by_id, *numbered.by_vat]))
        words = tuple(fold(line.nom or "").split())
        if not words:
            alone = [Compared(row, None, _NO_CLASSES, {}) for row in by_number]
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

        def found(given: str | None) -> frozenset[Found]:
            places = in_any_spelling(shards, given or "", self._derivations)
            numbers = self._arrays.numbers
            return frozenset(Found(0.0, numbers[place.iso2], place.row) for place in places)

        return Numbered(found(line.id), found(line.tva))

    def _compare_names(
        self, words: tuple[str, ...], chosen: Sequence[int], more: Sequence[Found], *, near: bool
    ) -> list[Compared]:
        """Rows that share words with a line, with their names compared, the nearest first."""
        bare = self._bare(words, chosen)
        others = [self._tables.others(word, umlauts=self._umlauts(chosen)) for word in bare.words]
        spellings = candidate_rows.first_spellings(bare.words, others)
        if near:
            spellings += candidate_rows.further_spellings(bare.words)
        found = [*more, *self._rows.rows(spellings, chosen, near=near)]
        names: dict[str, LineName] = {}
        rows = list({(row.shard, row.row): row for row in found}.values())
        compared = [self._compare(words, row, names) for row in rows]
        return sorted(compared, key=lambda each: each.distance)

    def _bare(self, words: tuple[str, ...], chosen: Sequence[int]) -> BareName:
        isos = [self._arrays.isos[number] for number in chosen]
        return self._tables.bare(words, isos[0] if len(isos) == 1 else "")

    def _umlauts(self, chosen: Sequence[int]) -> bool:
        return any(self._arrays.isos[number] in UMLAUTS for number in chosen)

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
            compared = compare(line.compared, told, self._tables)
            classes = line.bare.classes, other.classes
            found = Compared(row, compared, classes, line.told, former=place > 0)
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
        best = list({(each.found.shard, each.found.row): each for each in found}.values())
        best = sorted(best, key=lambda each: each.distance)[:_READ]
        farthest = best[0].distance + _BEHIND if best else 0.0
        best = [each for i, each in enumerate(best) if i < _FEW or each.distance <= farthest]
        companies = sum(self._arrays.shards[number].rows for number in chosen)
        weighed = []
        for each in best:
            shard = self._arrays.shards[each.found.shard]
            company = record.company(shard.record(each.found.row, coordonnees=False))
            weighed.append(Weighed(company, _evidence(line, company, each, companies, numbered)))
        return weighed


_NO_CLASSES: Final = (frozenset[str](), frozenset[str]())


def _evidence(
    line: Line, company: Mapping[str, Any], each: Compared, companies: int, numbered: Numbered
) -> Evidence:
    found: Evidence = {}
    if each.compared is not None:
        town = evidence.town_told(each.compared, each.told, company)
        found = evidence.of_name(each.compared, each.classes, companies, town=town)
    else:
        found["sans_nom"] = 1.0
    if each.former:
        found["ancien_nom"] = 1.0
    found |= evidence.of_place(line, company)
    place = Found(0.0, each.found.shard, each.found.row)
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
