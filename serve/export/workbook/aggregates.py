"""Sums over the companies of a scope and the rows of a file: pure functions.

Counts are of the whole scope and of the file; amounts are of the rows in the file only, since only
these were read. A median of nothing is None, and so is a sum: a column of them is left out.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import median
from typing import Final, TypeVar

K = TypeVar("K", bound=Hashable)

# Bounds in euros between the bands of turnover of the sheet Périmètre.
BOUNDS: Final = (0.0, 1e5, 1e6, 1e7, 5e7, 2.5e8)


@dataclass(frozen=True, slots=True)
class Share:
    """Companies of a part: in the scope, in the file; and the turnovers in the file, in euros."""

    scope: int
    file: int
    sum: float | None
    median: float | None


def share(scope: int, turnovers: Sequence[float | None]) -> Share:
    """The figures of `turnovers`, one a row of the file, None where there is none.

    >>> share(9, [3.0, None, 1.0])
    Share(scope=9, file=3, sum=4.0, median=2.0)
    """
    known = [amount for amount in turnovers if amount is not None]
    if not known:
        return Share(scope, len(turnovers), None, None)
    return Share(scope, len(turnovers), fsum(known), median(known))


def by(
    key: Iterable[K], turnovers: Iterable[float | None], scope: Mapping[K, int]
) -> dict[K, Share]:
    """The figures of each part, the largest in the scope first.

    Args:
        key: the part of each row of the file; every one is in `scope`.
    """
    held: defaultdict[K, list[float | None]] = defaultdict(list)
    for part, amount in zip(key, turnovers, strict=True):
        held[part].append(amount)
    # Ties go by name, none last, so that equal input gives equal output.
    parts = sorted(scope, key=lambda part: (-scope[part], part is None, str(part)))
    return {part: share(scope[part], held[part]) for part in parts}


def bands(turnovers: Sequence[float | None]) -> list[Share]:
    """The rows without a turnover, then those of each band between BOUNDS, from the lowest.

    >>> [band.file for band in bands([None, -1.0, 0.0, 1e5, 3e8])]
    [1, 1, 1, 1, 0, 0, 0, 1]
    """
    held: list[list[float | None]] = [[] for _ in range(len(BOUNDS) + 2)]
    for amount in turnovers:
        place = 0 if amount is None else 1 + bisect_right(BOUNDS, amount)
        held[place].append(amount)
    return [share(len(one), one) for one in held]
