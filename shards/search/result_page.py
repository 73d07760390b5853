"""The result of a search: a total, and the rows of one page."""

from dataclasses import dataclass
from typing import NamedTuple


class MergedRow(NamedTuple):
    """A company: its country and its row number there."""

    iso2: str
    row: int


@dataclass(frozen=True, slots=True)
class ResultPage:
    """`total` companies match in the whole base (§8.2 rule 3); `rows` are the ones asked for."""

    total: int
    rows: tuple[MergedRow, ...]
