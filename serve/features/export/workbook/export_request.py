"""The request and the result of an export: the two values that cross the pipe of a worker process.

The same `ExportRequest` gives the same bytes except for the sheet Journal and its texts: it alone has `now`,
`request_id` and timings. Therefore only the stopwatch of `book.py` reads a clock in this package.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from quota.plans import Plan
from serve.contract.files import OwnList
from serve.request import values
from serve.request.values import FileOptions
from shards.query import Query


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """An export whose parameters were read and allowed.

    Attributes:
        folder: the folder of the generation, DATA/<generation>.
        published: when the generation was published (UTC).
        ids_inconnus: the items of `ids` that name no company, None where it was not sent.
        limit: rows at most, the plan's cap applied (F1).
        lang: fr or en (F11).
        missing: countries whose shards are damaged and stay closed.
        own: the list whose companies these are, in whose order they come.
        given: the parameters as the caller wrote them, for the Journal.
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
    ids_inconnus: tuple[str, ...] | None = None
    missing: frozenset[str] = frozenset()
    file: FileOptions = values.WORKBOOK
    own: OwnList | None = None


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The counts of a file: rows, companies in the whole scope, companies with their statements."""

    lignes: int
    total: int
    comptes: int
