"""The result of a search: a total, and the rows of one page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

Place = tuple[int, int]  # a shard, by its place in the table, and a row of it


class Places(Protocol):
    """Pairs of a shard, by its place in `isos`, and a row of it: 64-bit numbers of the shape (number of rows, 2).

    An array of NumPy is one, and so is the memoryview of a page, which is made in a tenth of the time.
    """

    def tolist(self) -> Any: ...
    def tobytes(self) -> bytes: ...
    def __len__(self) -> int: ...


class MergedRow(NamedTuple):
    """A company: its country and its row number there."""

    iso2: str
    row: int


@dataclass(frozen=True, slots=True, eq=False)
class ResultPage:
    """`total` companies match in the whole base (§8.2 rule 3); `places` are the ones asked for.

    Attributes:
        isos: the countries of the base, in alphabetical order.
    """

    total: int
    isos: Sequence[str]
    places: Places

    @property
    def rows(self) -> tuple[MergedRow, ...]:
        """The companies asked for, by country and row number."""
        return merged_rows(self.isos, self.places)


def merged_rows(isos: Sequence[str], places: Places) -> tuple[MergedRow, ...]:
    """Places by the name of their country."""
    return tuple(MergedRow(isos[shard], row) for shard, row in places.tolist())
