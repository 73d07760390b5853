"""Names with one change each, by kind of change: the first candidate, its note, the verdict.

The kinds of both noises, each alone, and further kinds that users reported: `&` for `et` within a name, an error in the
letters of a legal form of several words, a legal form in full, Greek, initials with the town, an activity in words. A
line has a name and a country; with initials also the town, with an activity also the activity.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from shards.codec.folding import fold
from shards.matching.line import AMBIGUOUS, NONE, SURE, Line
from shards.matching.matcher import Matcher
from shards.search.search import ShardSet
from tests.bench.matching.labelled import CompanyFilter
from tests.bench.matching.list_noise import KINDS as OF_LISTS
from tests.bench.matching.list_noise import OTHER_BRAND, SIBLING, ListNoise
from tests.bench.matching.noise import CHANGES, Noise, NoiseTables

# Takes the noise, the name and the company; returns the changed name.
Change = Callable[[Any, str, Mapping[str, Any]], str]

_IN_FULL: Final[Mapping[str, str]] = {
    "ltd": "Limited", "llp": "Limited Liability Partnership", "plc": "Public Limited Company",
    "cic": "Community Interest Company", "gmbh": "Gesellschaft mit beschränkter Haftung",
    "ag": "Aktiengesellschaft", "gmbh co kg": "GmbH & Compagnie Kommanditgesellschaft",
    "ug haftungsbeschrankt": "Unternehmergesellschaft (haftungsbeschränkt)",
    "ohg": "offene Handelsgesellschaft", "ou": "Osaühing", "as": "Aktsiaselts", "uu": "Usaldusühing",
    "mtu": "Mittetulundusühing", "sas": "Société par actions simplifiée", "sa": "Société anonyme",
    "sarl": "Société à responsabilité limitée", "snc": "Société en nom collectif",
    "kg": "Kommanditgesellschaft",
}  # fmt: skip
_AND: Final = ("&", "et", "und", "and", "ja", "y", "+")  # words and signs that mean `and`


def _form_in_full(noise: Noise, name: str, company: Mapping[str, Any]) -> str:
    """The name with its legal form written out; unchanged if _IN_FULL does not have the form."""
    words, form = noise._split_form(name, company["iso2"])
    return f"{words} {_IN_FULL[form]}" if form in _IN_FULL else name


def _and_otherwise(noise: Noise, name: str, company: Mapping[str, Any]) -> str:
    """The name with the first `and` inside it written otherwise: `&` for a word, a word of the country for `&`."""
    words = name.split()
    for number, word in enumerate(words):
        if word.lower() in _AND and 0 < number < len(words) - 1:
            local_words = {"FR": "et", "BE": "et", "DE": "und", "AT": "und", "EE": "ja"}
            local = local_words.get(company["iso2"], "and")
            words[number] = local if word in "&+" else "&"
            return " ".join(words)
    return name


def _form_letters(noise: Noise, name: str, company: Mapping[str, Any]) -> str:
    """One letter left out of a legal form of several words, whose dots and signs stay: `GmbH & C. KG`."""
    words, form = noise._split_form(name, company["iso2"])
    if " " not in form:
        return name
    written = name[len(words) :]
    positions = [position for position, letter in enumerate(written) if letter.isalpha()]
    position = noise._random.choice(positions)
    return words + written[:position] + written[position + 1 :]


# Kinds of changes of names that users reported.
_FURTHER: Final[Mapping[str, Change]] = {
    "form_in_full": _form_in_full,
    "and_otherwise": _and_otherwise,
    "form_letters": _form_letters,
    "town_in_the_name": Noise.town,
    "initials_with_town": ListNoise.initials,
}
# All kinds, except those that name another company or brand, or change only the case.
KINDS: Final[Mapping[str, Change]] = {
    **{kind: change for kind, (_, change) in CHANGES.items() if kind != "town"},
    **{
        kind: change
        for kind, (_, change) in OF_LISTS.items()
        if kind not in (SIBLING, OTHER_BRAND, "whole")
    },
    **_FURTHER,
}


@dataclass(slots=True)
class KindCounts:
    """The numbers of lines of a kind, by the first candidate and the verdict."""

    lines: int = 0
    first: int = 0  # the right company first
    likely: int = 0  # the right company first, with a note of 0.5 or more
    sure: int = 0  # `sur`, the right company first
    wrong_sure: int = 0  # `sur`, another company first
    wrong_likely: int = 0  # another company first, with a note of 0.5 or more
    missed: int = 0  # `aucun`, the right company first
    shared: int = 0  # `ambigu`, the right company first

    def row(self, kind: str) -> str:
        """A row of the table."""
        counts = [self.first, self.likely, self.sure, self.shared, self.missed]
        shares = " | ".join(f"{count / max(1, self.lines):.1%}" for count in counts)
        f1 = 2 * self.likely / max(1, self.lines + self.likely + self.wrong_likely)
        return f"| {kind} | {self.lines} | {shares} | {f1:.3f} | {self.wrong_sure} |"


# The headings of the table that `row` fills.
HEAD: Final = (
    "| kind | lines | first right | note ≥ 0.5 | `sur` | `ambigu`, first | `aucun`, first | F1 "
    "| `sur`, wrong |"
)


def lines(
    base: ShardSet, tables: NoiseTables, kind: str, count: int, seed: int, is_chosen: CompanyFilter
) -> Iterator[tuple[Line, tuple[str, str]]]:
    """At most `count` lines of a kind, each with the company that it means."""
    noise, chance = ListNoise(seed, tables), random.Random(seed)
    isos = [iso2 for iso2 in base if any(_sample_choices(base, iso2, is_chosen))]
    # The square root gives small countries more lines than their share.
    sizes = [base[iso2].rows ** 0.5 for iso2 in isos]
    line_count = 0
    for _ in range(100 * count):  # many names cannot be changed in this way
        iso2 = chance.choices(isos, sizes)[0]
        company = base[iso2].company(chance.randrange(base[iso2].rows))
        if not is_chosen(iso2, company["id"]):
            continue
        name = KINDS[kind](noise, company["nom"], company)
        if not fold(name) or fold(name) == fold(company["nom"]):
            continue
        line = Line(name, (iso2,))
        if kind == "initials_with_town":
            if not company["ville"]:
                continue
            line = replace(line, ville=company["ville"])
        yield line, (iso2, company["id"])
        line_count += 1
        if line_count == count:
            return


def _sample_choices(base: ShardSet, iso2: str, is_chosen: CompanyFilter) -> Iterator[bool]:
    """For the first rows of a country, whether their companies are chosen."""
    shard = base[iso2]
    return (is_chosen(iso2, shard.company(row)["id"]) for row in range(min(20, shard.rows)))


def count_kind(
    matcher: Matcher, labelled_lines: Iterator[tuple[Line, tuple[str, str]]], show: int = 0
) -> KindCounts:
    """Match the lines of one kind of change, and count right, wrong and missed companies by verdict.

    Prints the first `show` lines whose verdict is `aucun` although the right company is the first candidate.
    """
    counts = KindCounts()
    for line, truth in labelled_lines:
        result = matcher.match(line, 3)
        best = result.candidats[0] if result.candidats else None
        right = best is not None and (best.iso2, best.id) == truth
        likely = best is not None and best.note >= 0.5
        counts.lines += 1
        counts.first += right
        counts.likely += right and likely
        counts.wrong_likely += not right and likely
        counts.sure += right and result.verdict == SURE
        counts.wrong_sure += not right and result.verdict == SURE
        counts.shared += right and result.verdict == AMBIGUOUS
        counts.missed += right and result.verdict == NONE
        if best and right and result.verdict == NONE and show:
            show -= 1
            print(f"  {line.nom} | {best.nom} | {best.note} | {', '.join(best.raisons)}")
    return counts


def raised_by_activity(
    matcher: Matcher, base: ShardSet, count: int, seed: int, is_chosen: CompanyFilter
) -> tuple[int, int, int, int]:
    """Compare the notes of lines without and with the activity of their company in words.

    Returns:
        The numbers of lines with a higher note, a lower note and no note, and of all lines. A line has no note if its
        word is in so many names that the company is not a candidate.
    """
    chance = random.Random(seed)
    isos = [iso2 for iso2 in base if any(_sample_choices(base, iso2, is_chosen))]
    raised = lowered = absent = line_count = 0
    while line_count < count:
        shard = base[chance.choice(isos)]
        company = shard.company(chance.randrange(shard.rows))
        label = company.get("nace_libelle") or company.get("activite")
        words = company["nom"].split()
        if not label or len(words) < 2 or not is_chosen(shard.iso2, company["id"]):
            continue
        line_count += 1
        line_without_activity = Line(" ".join(words[:1]), (shard.iso2,))
        notes = []
        for line in (line_without_activity, replace(line_without_activity, activite=label)):
            result = matcher.match(line, 64)
            notes.append(
                sum(
                    candidate.note
                    for candidate in result.candidats
                    if candidate.id == company["id"]
                )
            )
        raised += notes[1] > notes[0]
        lowered += notes[1] < notes[0]
        absent += not any(candidate.id == company["id"] for candidate in result.candidats)
    return raised, lowered, absent, line_count
