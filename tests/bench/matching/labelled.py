"""Lines, each with the company that it means: a company of a generation, or a company that was kept out of it.

`python -m tests.bench.matching split INPUT WORK` splits canonical companies by the CRC of their identifier: one in
twelve is kept out of each file of 2,000 companies or more. A kept-out company is used as absent only if no company of
its country in the generation has the same words in its name (without legal forms), neither as registered nor as the
line writes it: otherwise the line could mean that company.
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

KEPT_OUT: Final = (
    12  # one company in 12 is kept out of the generation, so that a line can mean an absent company
)
_LARGE: Final = 2_000  # companies of the smallest file from which companies are kept out
CompanyFilter = Callable[[str, str], bool]  # of a country and an identifier
# The columns that noises read from an absent company (one that is kept out of the generation).
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
# Most customers and suppliers in a list are in the register; one line in five means an absent company.
PRESENT: Final = 0.8
# The share of lines by country; other countries share the rest by their numbers of companies.
_SHARES: Final = {"UK": 0.3, "DE": 0.3, "EE": 0.2, "FR": 0.15}


@dataclass(frozen=True, slots=True)
class LabelledLine:
    """A line, the company that it means (None: absent), its changes, and its number of namesakes."""

    line: Line
    truth: tuple[str, str] | None
    changes: tuple[str, ...]
    namesakes: int


def split(source: Path, work: Path) -> None:
    """Split the companies of `source` (folders of `pipeline import`) into WORK/kept and WORK/absent."""
    for path in sorted(source.glob("*/companies/**/*.parquet")):
        frame = pl.read_parquet(path)
        kept_out = pl.Series([_is_kept_out(id_) and frame.height >= _LARGE for id_ in frame["id"]])
        for folder, mask in (("kept", ~kept_out), ("absent", kept_out)):
            target = work / folder / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            frame.filter(mask).write_parquet(target)


def _is_kept_out(identifier: str) -> bool:
    """Whether `split` keeps a company out of the generation, if its file is large enough (_LARGE)."""
    return zlib.crc32(identifier.encode()) % KEPT_OUT == 0


def absent_companies(work: Path) -> list[dict[str, Any]]:
    """The companies in WORK/absent, which `split` kept out of the generation: no candidate is right for their lines."""
    frames = [pl.read_parquet(path) for path in sorted((work / "absent").rglob("*.parquet"))]
    rows: list[dict[str, Any]] = []
    for frame in frames:
        rows += frame.select([c for c in _FIELDS if c in frame.columns]).to_dicts()
    return [{**dict.fromkeys(_FIELDS), **row} for row in rows]


class LabelledLines:
    """Lines that mean companies of a generation, or companies that were kept out of it."""

    def __init__(
        self,
        base: ShardSet,
        absent: Sequence[Mapping[str, Any]],
        tables: NameTables,
        noise: NoiseTables,
        noise_class: type[Noise] = Noise,
        is_chosen: CompanyFilter = lambda iso2, identifier: True,
    ) -> None:
        """Lines get the noise `noise_class`; they only mean companies for which `is_chosen` is true."""
        self._base, self._tables, self._noise = base, tables, noise
        self._noise_class, self._is_chosen = noise_class, is_chosen
        self._names = {iso2: self._count_bare_names(shard) for iso2, shard in base.items()}
        self._absent = [
            company
            for company in absent
            if not self._names[company["iso2"]].get(
                self._bare_words(company["nom"], company["iso2"])
            )
            and is_chosen(company["iso2"], company["id"])
        ]
        self._isos = [
            iso2
            for iso2, shard in base.items()
            if any(is_chosen(iso2, shard.company(row)["id"]) for row in range(min(20, shard.rows)))
        ]
        other_rows = sum(base[iso2].rows for iso2 in self._isos if iso2 not in _SHARES)
        share_left = 1 - sum(_SHARES[iso2] for iso2 in self._isos if iso2 in _SHARES)
        self._shares = [
            _SHARES.get(i) or share_left * base[i].rows / max(1, other_rows) for i in self._isos
        ]

    def draw(self, count: int, seed: int) -> list[LabelledLine]:
        """Draw `count` lines; the same seed draws the same lines."""
        # A separate generator for wrong numbers, which then do not change the draws of companies.
        chance, number_chance = random.Random(seed), random.Random(seed + 2)
        noise = self._noise_class(seed, self._noise)
        towns = [company["ville"] for company in self._absent if company["ville"]]
        lines: list[LabelledLine] = []
        while len(lines) < count:
            if chance.random() < PRESENT or not self._absent:
                iso2 = chance.choices(self._isos, self._shares)[0]
                shard = self._base[iso2]
                company: Mapping[str, Any] = shard.company(chance.randrange(shard.rows))
                while not self._is_chosen(iso2, company["id"]):
                    company = shard.company(chance.randrange(shard.rows))
                truth: tuple[str, str] | None = (iso2, company["id"])
            else:
                company, truth = chance.choice(self._absent), None
            line, changes = noise.line(company, towns)
            if truth is None and (line.id or line.tva or not line.nom):
                continue  # lines of absent companies measure names, not numbers
            if truth is None and self._names[company["iso2"]].get(
                self._bare_words(line.nom or "", company["iso2"])
            ):
                continue  # as written, it is the name of a company of the generation
            if line.nom and number_chance.random() < self._noise_class.other_number:
                iso2 = company["iso2"]
                other_company = self._base[iso2].company(
                    number_chance.randrange(self._base[iso2].rows)
                )
                line = replace(line, id=noise.identifier(other_company), tva=None)
                changes = (*changes, "other number")
            if SIBLING in changes and line.nom:
                if self._count_with_words(company["iso2"], line.nom):
                    continue
                truth = None
            same_names = self._names[company["iso2"]].get(
                self._bare_words(company["nom"], company["iso2"]), 0
            )
            if VAGUE & set(changes) and line.nom:
                same_names = max(same_names, self._count_with_words(company["iso2"], line.nom))
            lines.append(LabelledLine(line, truth, changes, max(0, same_names - 1)))
        return lines

    def _count_with_words(self, iso2: str, name: str) -> int:
        """The number of companies whose name contains the words of a name, in this order."""
        words = " ".join(self._tables.bare_name(tuple(fold(name).split()), iso2).words)
        return search(self._base, Query(q=words, pays=(iso2,)), offset=0, limit=1).total

    def _bare_words(self, name: str, iso2: str) -> tuple[str, ...]:
        """The sorted words of a name without its legal form."""
        return tuple(sorted(self._tables.bare_name(tuple(fold(name).split()), iso2).words))

    def _count_bare_names(self, shard: Shard) -> dict[tuple[str, ...], int]:
        """The number of companies by the sorted words of their present name, without its legal form."""
        counts: dict[tuple[str, ...], int] = {}
        index = shard.words
        words = bytes(index.words.data).decode().split("\n")
        starts, tokens = index.token_starts.tolist(), index.tokens.tolist()
        for row in range(shard.rows):
            # The words of former names come after the marker FORMER_NAME.
            present = takewhile(FORMER_NAME.__ne__, tokens[starts[row] : starts[row + 1]])
            folded = tuple(words[token] for token in present)
            key = tuple(sorted(self._tables.bare_name(folded, shard.iso2).words))
            counts[key] = counts.get(key, 0) + 1
        return counts


def present_lines(base: ShardSet, tables: NoiseTables, count: int, seed: int) -> list[LabelledLine]:
    """Draw lines that mean companies of a generation, from all countries by size; namesakes are not counted."""
    chance, noise = random.Random(seed), Noise(seed, tables)
    isos = [iso2 for iso2, shard in base.items() if shard.rows]
    sizes = [base[iso2].rows for iso2 in isos]
    lines = []
    for _ in range(count):
        iso2 = chance.choices(isos, sizes)[0]
        company = base[iso2].company(chance.randrange(base[iso2].rows))
        line, changes = noise.line(company, [])
        lines.append(LabelledLine(line, (iso2, company["id"]), changes, 0))
    return lines


def declared_lines(
    base: ShardSet, path: Path, is_chosen: Callable[[str], bool], *, with_present_name: bool = False
) -> list[LabelledLine]:
    """Names that French companies declared in earlier years (Egapro, `index-egalite-fh*.csv`), as they typed them.

    If a company is not in the base, its line means an absent company. Names without a common word with the present
    name are left out: new names, and legal forms alone.

    Args:
        with_present_name: also the present name, if it was typed in several years.
    """
    lines = []
    shard = base["FR"]
    frame = pl.read_csv(path, separator=";", infer_schema_length=0).sort("Année")
    for (siren,), rows in frame.group_by("SIREN", maintain_order=True):
        if not is_chosen(str(siren)):
            continue
        row = shard.find(str(siren))
        typed = [fold(name) for name in rows["Raison Sociale"]]
        *other_names, last_name = dict.fromkeys(typed)
        present_name = fold(shard.company(row)["nom"]) if row is not None else last_name
        for name in other_names:
            if name != present_name and set(name.split()) & set(present_name.split()):
                truth = ("FR", str(siren)) if row is not None else None
                lines.append(LabelledLine(Line(name, ("FR",)), truth, (), 0))
        if with_present_name and typed.count(present_name) > 1:
            truth = ("FR", str(siren)) if row is not None else None
            lines.append(LabelledLine(Line(present_name, ("FR",)), truth, (), 0))
    return lines
