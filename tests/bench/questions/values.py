"""The values of a generation from which questions are drawn.

Countries and sectors come from the reference counts. Amounts, words and identifiers come from some
thousand random companies, so frequent values are drawn often and rare ones sometimes.
"""

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np

from shards.codec import codes
from shards.codec.folding import fold, fold_id
from shards.generations.generation_files import Generation

SAMPLE: Final = 20_000

# Texts of the filters of extensions X2, and their fields.
_TEXTS: Final = {
    "villes": "ville", "codes_postaux": "code_postal", "formes": "forme", "nace": "nace_code",
}  # fmt: skip

T = TypeVar("T", int, float)
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Values:
    """Places by descending number of companies; values of the sample, amounts ascending."""

    pays: tuple[str, ...]
    secteurs: tuple[str, ...]
    groupes: tuple[tuple[str, str], ...]  # sector and sub-sector
    ca: tuple[float, ...]
    effectif: tuple[int, ...]
    noms: tuple[str, ...]  # folded, not empty
    mots: tuple[str, ...]  # distinct words
    ids: tuple[str, ...]  # folded
    villes: tuple[str, ...]
    codes_postaux: tuple[str, ...]
    formes: tuple[str, ...]
    nace: tuple[str, ...]
    cree: tuple[int, ...]  # yyyymmdd
    actif: tuple[float, ...]


def sample(generation: Generation, chance: random.Random, size: int = SAMPLE) -> Values:
    """Values of the places and of at most `size` companies of a generation that is not empty."""
    companies, actif = [], list[float]()
    shards = list(generation.shards.values())
    rows = np.cumsum([shard.rows for shard in shards])
    for place in sorted(chance.sample(range(int(rows[-1])), min(size, int(rows[-1])))):
        number = int(np.searchsorted(rows, place, side="right"))
        shard = shards[number]
        row = place - int(rows[number]) + shard.rows
        companies.append(shard.company(row))
        listed = shard.code_array("actif.amounts", "<f8")
        actif += codes.amounts(shard.codes("actif")[row : row + 1], listed).tolist()
    noms = [folded for company in companies if (folded := fold(company["nom"]))]
    return Values(
        **_places(generation),
        ca=_ascending(company["ca_eur"] for company in companies),
        effectif=_ascending(company["effectif"] for company in companies),
        noms=tuple(noms),
        mots=tuple(sorted({word for nom in noms for word in nom.split()})),
        ids=tuple(folded for company in companies if (folded := fold_id(company["id"]))),
        **{
            name: tuple(company[field] for company in companies if company[field])
            for name, field in _TEXTS.items()
        },
        cree=_ascending(_day(company["date_creation"]) for company in companies),
        actif=_ascending(None if math.isnan(euros) else euros for euros in actif),
    )


def quantile(ascending: Sequence[T], share: float) -> T | None:
    """The value below which `share` of the values lie; None without values.

    >>> quantile((1, 2, 3, 4), 0.5)
    3
    """
    return ascending[min(int(share * len(ascending)), len(ascending) - 1)] if ascending else None


def grams(texts: Iterable[str], length: int, *, blank: bool) -> Counter[str]:
    """The number of `texts` that hold each substring of `length`, with or without a blank inside.

    >>> grams(("ab ba", "ab"), 2, blank=False)
    Counter({'ab': 2, 'ba': 1})
    """
    found: Counter[str] = Counter()
    for text in texts:
        parts = {text[start : start + length] for start in range(len(text) - length + 1)}
        found.update(p for p in parts if p == p.strip() and (" " in p) == blank)
    return found


def of_share(counts: Counter[str], texts: int, share: float) -> str | None:
    """The substring whose count is nearest to `share` of the texts; None without counts."""
    return min(sorted(counts), key=lambda g: abs(math.log(counts[g] / texts / share)), default=None)


def _places(generation: Generation) -> dict[str, Any]:
    pays: Counter[str] = Counter()
    secteurs: Counter[str] = Counter()
    groupes: Counter[tuple[str, str]] = Counter()
    for iso2, cells in generation.reference.counts.items():
        for cell in cells:
            pays[iso2] += cell.n
            if cell.secteur:
                secteurs[cell.secteur] += cell.n
            if cell.secteur and cell.sous_secteur:
                groupes[cell.secteur, cell.sous_secteur] += cell.n
    return {
        "pays": _most_first(pays),
        "secteurs": _most_first(secteurs),
        "groupes": _most_first(groupes),
    }


def _day(date: str | None) -> int | None:
    return None if date is None else int(f"{date}-01-01"[:10].replace("-", ""))


def _most_first(counts: Counter[K]) -> tuple[K, ...]:
    return tuple(key for key, _ in counts.most_common())


def _ascending(values: Iterable[T | None]) -> tuple[T, ...]:
    return tuple(sorted(value for value in values if value is not None))
