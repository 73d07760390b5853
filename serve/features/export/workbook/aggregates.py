"""Counts, sums and medians over the scope of an export and the rows of its file. Pure.

Counts cover the whole scope and the file; amounts cover the rows in the file only, since only these
were read. The sum and the median of no amounts are None, and a column of None is left out.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import median
from typing import Final, TypeVar

K = TypeVar("K", bound=Hashable)

# The bounds in euros between the turnover bands of the sheet Périmètre.
BOUNDS: Final = (0.0, 1e5, 1e6, 1e7, 5e7, 2.5e8)


@dataclass(frozen=True, slots=True)
class Share:
    """Companies of a part, in the scope and in the file, with the turnovers in the file in euros."""

    scope: int
    file: int
    sum: float | None
    median: float | None


def share(scope: int, turnovers: Sequence[float | None]) -> Share:
    """The figures of a part; `turnovers` has one value per row of the file, None if unknown.

    >>> share(9, [3.0, None, 1.0])
    Share(scope=9, file=3, sum=4.0, median=2.0)
    """
    known = [amount for amount in turnovers if amount is not None]
    if not known:
        return Share(scope, len(turnovers), None, None)
    return Share(scope, len(turnovers), fsum(known), median(known))


def shares_by(
    key: Iterable[K], turnovers: Iterable[float | None], scope: Mapping[K, int]
) -> dict[K, Share]:
    """The figures of each part, the largest in the scope first; ties are sorted by name, None last.

    Args:
        key: the part of each row of the file; every one is in `scope`.
    """
    held: defaultdict[K, list[float | None]] = defaultdict(list)
    for part, amount in zip(key, turnovers, strict=True):
        held[part].append(amount)
    parts = sorted(scope, key=lambda part: (-scope[part], part is None, str(part)))
    return {part: share(scope[part], held[part]) for part in parts}


def bands(turnovers: Sequence[float | None]) -> list[Share]:
    """The figures of the rows without a turnover, then of each band, from the lowest.

    >>> [band.file for band in bands([None, -1.0, 0.0, 1e5, 3e8])]
    [1, 1, 1, 1, 0, 0, 0, 1]
    """
    held: list[list[float | None]] = [[] for _ in range(len(BOUNDS) + 2)]
    for amount in turnovers:
        place = 0 if amount is None else 1 + bisect_right(BOUNDS, amount)
        held[place].append(amount)
    return [share(len(one), one) for one in held]
