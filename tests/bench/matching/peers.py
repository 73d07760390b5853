"""Other ways to match a list: what one would write with rapidfuzz in ten lines."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from rapidfuzz import fuzz, process

from shards.search.matching.line import Line
from shards.search.reader.name_lookup import folded_names
from shards.search.search import ShardSet

Key = tuple[str, str]
Answer = tuple[Key | None, float]  # the company, and a note of 0 to 1
Peer = Callable[[ShardSet, Sequence[Line]], list[Answer]]


def rapidfuzz_wratio(base: ShardSet, lines: Sequence[Line]) -> list[Answer]:
    """The best `fuzz.WRatio` over all names of the country, or of all countries."""
    return _best(base, lines, fuzz.WRatio)


def rapidfuzz_sorted(base: ShardSet, lines: Sequence[Line]) -> list[Answer]:
    """The best `fuzz.token_sort_ratio` over all names."""
    return _best(base, lines, fuzz.token_sort_ratio)


def _best(base: ShardSet, lines: Sequence[Line], scorer: Callable[..., float]) -> list[Answer]:
    names = {iso2: _names(base, iso2) for iso2, shard in base.items() if shard.rows}
    found: list[Answer] = []
    for line in lines:
        best: Answer = None, 0.0
        for iso2 in line.pays or names:
            if not line.nom or iso2 not in names:
                continue
            hit = process.extractOne(
                line.nom.lower(), names[iso2], scorer=scorer, score_cutoff=100 * best[1]
            )
            if hit and hit[1] / 100 > best[1]:
                best = (iso2, str(base[iso2].company(hit[2])["id"])), hit[1] / 100
        found.append(best)
    return found


def _names(base: ShardSet, iso2: str) -> list[str]:
    shard = base[iso2]
    rows = np.arange(shard.rows, dtype=np.uint32)
    return [names[0].decode() for names in folded_names(shard.words, rows)]


PEERS: Final[Mapping[str, Peer]] = {
    "rapidfuzz WRatio": rapidfuzz_wratio,
    "rapidfuzz token_sort_ratio": rapidfuzz_sorted,
}
