"""A question to all engines, with its kind and the goal of that kind."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shards.query import Query

PAGE: Final = 50  # rows per page


@dataclass(frozen=True, slots=True)
class Goal:
    """Goals: milliseconds of p50 and p99, speed relative to the best peer; None for no goal."""

    p50: float | None = None
    p99: float | None = None
    ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A search with its page; `table` and `kind` name its line in the report."""

    table: str
    kind: str
    query: Query
    offset: int = 0
    limit: int = PAGE

    @property
    def text(self) -> str:
        """The parameters that differ from a search of everything.

        >>> Question("mix", "sector", Query(secteurs=("62",), tri="nom"), offset=50).text
        "secteurs=('62',) tri='nom' offset=50"
        """
        parameters = [
            f"{field.name}={value!r}"
            for field in dataclasses.fields(Query)
            if (value := getattr(self.query, field.name)) != field.default
        ]
        page = [f"offset={self.offset}"] if self.offset else []
        page += [f"limit={self.limit}"] if self.limit != PAGE else []
        return " ".join(parameters + page) or "everything"


@dataclass(frozen=True, slots=True)
class Answer:
    """The exact total, and the rows of the page, each as JSON."""

    total: int
    rows: Sequence[bytes]
