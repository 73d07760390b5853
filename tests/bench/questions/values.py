"""The values of a generation from which questions are drawn.

Countries and sectors come from the reference counts. Amounts, words and identifiers come from some
thousand random companies, so frequent values are drawn often and rare values sometimes.
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

SAMPLE: Final = 20_000  # companies

# Texts of the filters of extensions X2, and their fields.
_TEXTS: Final = {
    "villes": "ville", "codes_postaux": "code_postal", "formes": "forme", "nace": "nace_code",
}  # fmt: skip

T = TypeVar("T", int, float)
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Values:
    """Countries and sectors by descending number of companies; values of a sample, amounts ascending."""

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
    """The values of which searches are made: those of at most `size` companies drawn from a non-empty generation."""
    companies, assets = [], list[float]()
    shards = list(generation.shards.values())
    row_ends = np.cumsum([shard.rows for shard in shards])
    for position in sorted(chance.sample(range(int(row_ends[-1])), min(size, int(row_ends[-1])))):
        shard_number = int(np.searchsorted(row_ends, position, side="right"))
        shard = shards[shard_number]
        row = position - int(row_ends[shard_number]) + shard.rows
        companies.append(shard.company(row))
        asset_amounts = shard.code_array("actif.amounts", "<f8")
        assets += codes.amounts(shard.codes("actif")[row : row + 1], asset_amounts).tolist()
    noms = [folded for company in companies if (folded := fold(company["nom"]))]
    return Values(
        **_reference_values(generation),
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
        actif=_ascending(None if math.isnan(euros) else euros for euros in assets),
    )


def quantile(ascending: Sequence[T], share: float) -> T | None:
    """The value at `share` of the ascending values; None without values.

    >>> quantile((1, 2, 3, 4), 0.5)
    3
    """
    return ascending[min(int(share * len(ascending)), len(ascending) - 1)] if ascending else None


def grams(texts: Iterable[str], length: int, *, blank: bool) -> Counter[str]:
    """The number of `texts` that contain each substring of `length`, with or without a blank inside.

    >>> grams(("ab ba", "ab"), 2, blank=False)
    Counter({'ab': 2, 'ba': 1})
    """
    counts: Counter[str] = Counter()
    for text in texts:
        parts = {text[start : start + length] for start in range(len(text) - length + 1)}
        counts.update(p for p in parts if p == p.strip() and (" " in p) == blank)
    return counts


def nearest_share(counts: Counter[str], texts: int, share: float) -> str | None:
    """The substring whose count is nearest to `share` of the texts; None without counts."""
    return min(sorted(counts), key=lambda g: abs(math.log(counts[g] / texts / share)), default=None)


def _reference_values(generation: Generation) -> dict[str, Any]:
    """Countries, sectors and sub-sectors, those with the most companies first."""
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
    """A date as yyyymmdd, with 01 for an unknown month or day."""
    return None if date is None else int(f"{date}-01-01"[:10].replace("-", ""))


def _most_first(counts: Counter[K]) -> tuple[K, ...]:
    """The keys by descending count."""
    return tuple(key for key, _ in counts.most_common())


def _ascending(values: Iterable[T | None]) -> tuple[T, ...]:
    """The values in ascending order, without None."""
    return tuple(sorted(value for value in values if value is not None))
