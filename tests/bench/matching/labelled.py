"""Lines with the company that each means: companies of a generation, and companies that were kept out of it.

`python -m tests.bench.matching split INPUT WORK` parts canonical companies by the CRC of their identifier: of a file of
2,000 companies or more, one in twelve is kept out. An absent company counts as such only if no company of its country
in the generation has the same words in its name, legal forms aside, as that of the company or as the line has it:
otherwise a line may well mean that one.
"""

import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import polars as pl

from shards.codec.folding import fold
from shards.format import FORMER_NAME
from shards.matching.line import Line
from shards.matching.name_tables import NameTables
from shards.query import Query
from shards.reader.shard import Shard
from shards.search.search import ShardSet, search
from tests.bench.matching.list_noise import SIBLING, VAGUE
from tests.bench.matching.noise import Noise, NoiseTables

KEPT_OUT: Final = 12
_LARGE: Final = 2_000
Chosen = Callable[[str, str], bool]  # of a country and an identifier
_FIELDS: Final = (
    "iso2",
    "id",
    "nom",
    "ville",
    "code_postal",
    "date_creation",
    "adresse",
    "nace_code",
    "tva",
)
# Of a list of customers or suppliers most are in the register; one line in five is there to be missed.
PRESENT: Final = 0.8
# How lines are spread over countries; the others share the rest by the number of their companies.
_SHARES: Final = {"UK": 0.3, "DE": 0.3, "EE": 0.2, "FR": 0.15}


@dataclass(frozen=True, slots=True)
class LabelledLine:
    """A line, the company it means (None: it is not there), what was changed, and how many others have this name."""

    line: Line
    truth: tuple[str, str] | None
    changes: tuple[str, ...]
    namesakes: int


def split(source: Path, work: Path) -> None:
    """Part the companies of `source` (folders that `pipeline import` made) into WORK/kept and WORK/absent."""
    for path in sorted(source.glob("*/companies/**/*.parquet")):
        frame = pl.read_parquet(path)
        out = pl.Series([_is_out(id_) and frame.height >= _LARGE for id_ in frame["id"]])
        for folder, chosen in (("kept", ~out), ("absent", out)):
            made = work / folder / path.relative_to(source)
            made.parent.mkdir(parents=True, exist_ok=True)
            frame.filter(chosen).write_parquet(made)


def _is_out(identifier: str) -> bool:
    return zlib.crc32(identifier.encode()) % KEPT_OUT == 0


def absent_companies(work: Path) -> list[dict[str, Any]]:
    """The companies that were kept out."""
    frames = [pl.read_parquet(path) for path in sorted((work / "absent").rglob("*.parquet"))]
    rows: list[dict[str, Any]] = []
    for frame in frames:
        rows += frame.select([c for c in _FIELDS if c in frame.columns]).to_dicts()
    return [{**dict.fromkeys(_FIELDS), **row} for row in rows]


class LabelledLines:
    """Draws lines from a generation and the companies that were kept out of it."""

    def __init__(
        self,
        base: ShardSet,
        absent: Sequence[Mapping[str, Any]],
        tables: NameTables,
        noise: NoiseTables,
        kind: type[Noise] = Noise,
        chosen: Chosen = lambda iso2, identifier: True,
    ) -> None:
        """Take a noise, and which companies lines may mean."""
        self._base, self._tables, self._noise = base, tables, noise
        self._kind, self._chosen = kind, chosen
        self._names = {iso2: self._bare_names(shard) for iso2, shard in base.items()}
        self._absent = [
            company
            for company in absent
            if not self._names[company["iso2"]].get(self._bare(company["nom"], company["iso2"]))
            and chosen(company["iso2"], company["id"])
        ]
        self._isos = [
            iso2
            for iso2, shard in base.items()
            if any(chosen(iso2, shard.company(row)["id"]) for row in range(min(20, shard.rows)))
        ]
        rest = sum(base[iso2].rows for iso2 in self._isos if iso2 not in _SHARES)
        left = 1 - sum(_SHARES[iso2] for iso2 in self._isos if iso2 in _SHARES)
        self._shares = [_SHARES.get(i) or left * base[i].rows / max(1, rest) for i in self._isos]

    def draw(self, count: int, seed: int) -> list[LabelledLine]:
        """`count` lines; the same seed draws the same ones."""
        chance, kinds = random.Random(seed), random.Random(seed + 2)
        noise = self._kind(seed, self._noise)
        towns = [company["ville"] for company in self._absent if company["ville"]]
        found: list[LabelledLine] = []
        while len(found) < count:
            if chance.random() < PRESENT or not self._absent:
                iso2 = chance.choices(self._isos, self._shares)[0]
                shard = self._base[iso2]
                company: Mapping[str, Any] = shard.company(chance.randrange(shard.rows))
                while not self._chosen(iso2, company["id"]):
                    company = shard.company(chance.randrange(shard.rows))
                truth: tuple[str, str] | None = (iso2, company["id"])
            else:
                company, truth = chance.choice(self._absent), None
            line, changes = noise.line(company, towns)
            if truth is None and (line.id or line.tva or not line.nom):
                continue  # what an identifier says of a company that is not there is no question of names
            if truth is None and self._names[company["iso2"]].get(
                self._bare(line.nom or "", company["iso2"])
            ):
                continue  # as it is written it is the name of a company that is there
            if line.nom and kinds.random() < self._kind.other_number:
                iso2 = company["iso2"]
                other = self._base[iso2].company(kinds.randrange(self._base[iso2].rows))
                line = replace(line, id=noise.identifier(other), tva=None)
                changes = (*changes, "other number")
            if SIBLING in changes and line.nom:
                if self._with_words(company["iso2"], line.nom):
                    continue
                truth = None
            alike = self._names[company["iso2"]].get(self._bare(company["nom"], company["iso2"]), 0)
            if VAGUE & set(changes) and line.nom:
                alike = max(alike, self._with_words(company["iso2"], line.nom))
            found.append(LabelledLine(line, truth, changes, max(0, alike - 1)))
        return found

    def _with_words(self, iso2: str, name: str) -> int:
        """How many companies have all words of a name in theirs, in this order."""
        words = " ".join(self._tables.bare_name(tuple(fold(name).split()), iso2).words)
        return search(self._base, Query(q=words, pays=(iso2,)), offset=0, limit=1).total

    def _bare(self, name: str, iso2: str) -> tuple[str, ...]:
        return tuple(sorted(self._tables.bare_name(tuple(fold(name).split()), iso2).words))

    def _bare_names(self, shard: Shard) -> dict[tuple[str, ...], int]:
        """How many companies have each set of words as their name."""
        found: dict[tuple[str, ...], int] = {}
        index = shard.words
        words = bytes(index.words.data).decode().split("\n")
        starts, tokens = index.token_starts.tolist(), index.tokens.tolist()
        for row in range(shard.rows):
            present = takewhile(FORMER_NAME.__ne__, tokens[starts[row] : starts[row + 1]])
            folded = tuple(words[token] for token in present)
            key = tuple(sorted(self._tables.bare_name(folded, shard.iso2).words))
            found[key] = found.get(key, 0) + 1
        return found


def present_lines(base: ShardSet, tables: NoiseTables, count: int, seed: int) -> list[LabelledLine]:
    """Lines that mean companies of a generation, countries by their numbers of companies; namesakes are not counted."""
    chance, noise = random.Random(seed), Noise(seed, tables)
    isos = [iso2 for iso2, shard in base.items() if shard.rows]
    sizes = [base[iso2].rows for iso2 in isos]
    found = []
    for _ in range(count):
        iso2 = chance.choices(isos, sizes)[0]
        company = base[iso2].company(chance.randrange(base[iso2].rows))
        line, changes = noise.line(company, [])
        found.append(LabelledLine(line, (iso2, company["id"]), changes, 0))
    return found


def declared_lines(
    base: ShardSet, path: Path, chosen: Callable[[str], bool], *, alike: bool = False
) -> list[LabelledLine]:
    """Names that French companies declared in other years than the last one (Egapro, `index-egalite-fh*.csv`).

    Others typed these lists. Where a company is not in the base, its line is of one that is
    absent. Names that have no word or first letters in common with the last one are left out: a form alone, a new name.

    Args:
        alike: also the names that were typed alike in several years.
    """
    found = []
    shard = base["FR"]
    frame = pl.read_csv(path, separator=";", infer_schema_length=0).sort("Année")
    for (siren,), rows in frame.group_by("SIREN", maintain_order=True):
        if not chosen(str(siren)):
            continue
        row = shard.find(str(siren))
        typed = [fold(name) for name in rows["Raison Sociale"]]
        *others, last = dict.fromkeys(typed)
        known = fold(shard.company(row)["nom"]) if row is not None else last
        for name in others:
            if name != known and set(name.split()) & set(known.split()):
                truth = ("FR", str(siren)) if row is not None else None
                found.append(LabelledLine(Line(name, ("FR",)), truth, (), 0))
        if alike and typed.count(known) > 1:
            truth = ("FR", str(siren)) if row is not None else None
            found.append(LabelledLine(Line(known, ("FR",)), truth, (), 0))
    return found
