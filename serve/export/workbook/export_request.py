"""What a workbook is made of, and what came of it: the two values that cross to a worker process.

The same `ExportRequest` gives the same bytes but for the sheet Journal, which alone holds `now` and
`request_id` (and how long things took). So nothing else in this package may look at a clock.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from quota.plans import Plan
from shards.query import Query


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """An export that has been understood.

    Attributes:
        folder: of the generation, DATA/<generation>.
        published: when the generation was published (UTC).
        limit: rows at most, the plan's cap applied (F1).
        lang: fr or en (F11).
        given: the parameters as they came, for the Journal.
    """

    folder: Path
    published: datetime
    query: Query
    limit: int
    lang: str
    plan: Plan
    given: tuple[tuple[str, str], ...]
    request_id: str
    now: datetime


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What is in the file: rows, companies in the whole scope, statements sheets."""

    lignes: int
    total: int
    comptes: int
