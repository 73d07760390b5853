"""Names with one change each, kind by kind: which company comes first, its note, its verdict.

The kinds of both noises, alone, and further ones that people reported: `&` for `et` within a name, an error in the
letters of a legal form of several words, a legal form in full, Greek, initials beside the town, an activity in words.
Lines have a name and a country and nothing else, but for the kinds that say so.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from shards.codec.folding import fold
from shards.matching.line import AMBIGUOUS, NONE, SURE, Line
from shards.matching.matcher import Matcher
from shards.search.search import ShardSet
from tests.bench.matching.labelled import Chosen
from tests.bench.matching.list_noise import KINDS as OF_LISTS
from tests.bench.matching.list_noise import OTHER_BRAND, SIBLING, ListNoise
from tests.bench.matching.noise import CHANGES, Noise, NoiseTables

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
_AND: Final = ("&", "et", "und", "and", "ja", "y", "+")


def _form_in_full(noise: Noise, name: str, company: Mapping[str, Any]) -> str:
    words, form = noise._split_form(name, company["iso2"])
    return f"{words} {_IN_FULL[form]}" if form in _IN_FULL else name


def _and_otherwise(noise: Noise, name: str, company: Mapping[str, Any]) -> str:
    """Another word or sign for `and` within the name."""
    words = name.split()
    for place, word in enumerate(words):
        if word.lower() in _AND and 0 < place < len(words) - 1:
            own = {"FR": "et", "BE": "et", "DE": "und", "AT": "und", "EE": "ja"}
            local = own.get(company["iso2"], "and")
            words[place] = local if word in "&+" else "&"
            return " ".join(words)
    return name


def _form_letters(noise: Noise, name: str, company: Mapping[str, Any]) -> str:
    """One letter of a legal form of several words is lost, its dots and signs stay: `GmbH & C. KG`."""
    words, form = noise._split_form(name, company["iso2"])
    if " " not in form:
        return name
    written = name[len(words) :]
    places = [place for place, letter in enumerate(written) if letter.isalpha()]
    place = noise._random.choice(places)
    return words + written[:place] + written[place + 1 :]


_FURTHER: Final[Mapping[str, Change]] = {
    "form_in_full": _form_in_full,
    "and_otherwise": _and_otherwise,
    "form_letters": _form_letters,
    "town_in_the_name": Noise.town,
    "initials_with_town": ListNoise.initials,
}
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
class Counted:
    """Verdicts on the lines of a kind."""

    lines: int = 0
    first: int = 0
    likely: int = 0
    sure: int = 0
    wrong_sure: int = 0
    wrong_likely: int = 0
    missed: int = 0  # `aucun`, though the right company is first
    shared: int = 0  # `ambigu`, the right company first

    def row(self, kind: str) -> str:
        """A row of the table."""
        of = [self.first, self.likely, self.sure, self.shared, self.missed]
        shares = " | ".join(f"{count / max(1, self.lines):.1%}" for count in of)
        f1 = 2 * self.likely / max(1, self.lines + self.likely + self.wrong_likely)
        return f"| {kind} | {self.lines} | {shares} | {f1:.3f} | {self.wrong_sure} |"


HEAD: Final = (
    "| kind | lines | first right | note ≥ 0.5 | `sur` | `ambigu`, first | `aucun`, first | F1 "
    "| `sur`, wrong |"
)


def lines(
    base: ShardSet, tables: NoiseTables, kind: str, count: int, seed: int, chosen: Chosen
) -> Iterator[tuple[Line, tuple[str, str]]]:
    """At most `count` lines of a kind, each with the company that it means."""
    noise, chance = ListNoise(seed, tables), random.Random(seed)
    isos = [iso2 for iso2 in base if any(_of_part(base, iso2, chosen))]
    sizes = [base[iso2].rows ** 0.5 for iso2 in isos]
    drawn = 0
    for _ in range(100 * count):
        iso2 = chance.choices(isos, sizes)[0]
        company = base[iso2].company(chance.randrange(base[iso2].rows))
        if not chosen(iso2, company["id"]):
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
        drawn += 1
        if drawn == count:
            return


def _of_part(base: ShardSet, iso2: str, chosen: Chosen) -> Iterator[bool]:
    shard = base[iso2]
    return (chosen(iso2, shard.company(row)["id"]) for row in range(min(20, shard.rows)))


def count_kind(
    matcher: Matcher, drawn: Iterator[tuple[Line, tuple[str, str]]], show: int = 0
) -> Counted:
    """Match the lines of a kind, and print the first `show` that have the right company first and no verdict."""
    counted = Counted()
    for line, truth in drawn:
        result = matcher.match(line, 3)
        best = result.candidats[0] if result.candidats else None
        right = best is not None and (best.iso2, best.id) == truth
        told = best is not None and best.note >= 0.5
        counted.lines += 1
        counted.first += right
        counted.likely += right and told
        counted.wrong_likely += not right and told
        counted.sure += right and result.verdict == SURE
        counted.wrong_sure += not right and result.verdict == SURE
        counted.shared += right and result.verdict == AMBIGUOUS
        counted.missed += right and result.verdict == NONE
        if best and right and result.verdict == NONE and show:
            show -= 1
            print(f"  {line.nom} | {best.nom} | {best.note} | {', '.join(best.raisons)}")
    return counted


def raised_by_activity(
    matcher: Matcher, base: ShardSet, count: int, seed: int, chosen: Chosen
) -> tuple[int, int, int, int]:
    """How many lines with their own activity in words have a higher note by it, a lower one, no note; of how many.

    There is no note where the first word is that of so many names that the company is no candidate.
    """
    chance = random.Random(seed)
    isos = [iso2 for iso2 in base if any(_of_part(base, iso2, chosen))]
    raised = lowered = absent = drawn = 0
    while drawn < count:
        shard = base[chance.choice(isos)]
        company = shard.company(chance.randrange(shard.rows))
        label = company.get("nace_libelle") or company.get("activite")
        words = company["nom"].split()
        if not label or len(words) < 2 or not chosen(shard.iso2, company["id"]):
            continue
        drawn += 1
        name = Line(" ".join(words[:1]), (shard.iso2,))
        notes = []
        for line in (name, replace(name, activite=label)):
            result = matcher.match(line, 64)
            notes.append(sum(each.note for each in result.candidats if each.id == company["id"]))
        raised += notes[1] > notes[0]
        lowered += notes[1] < notes[0]
        absent += not any(each.id == company["id"] for each in result.candidats)
    return raised, lowered, absent, drawn
