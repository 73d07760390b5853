"""The records and analyses that an account opened this month, with the names of their companies."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from quota.ledger.calls import Opening
from serve.access.modules import ENTREPRISE, MARCHE
from serve.contract.errors import ApiError
from serve.surfaces.site import formatting
from serve.surfaces.site.page_request import PageRequest
from shards.search.search import ShardSet


class OpenedRecord(NamedTuple):
    """A line of the list.

    Attributes:
        module: "" for a record, otherwise that of the analysis.
        nom: of the company; its identifier where the served data have no such company (any more), and ""
            for the analysis of a market.
        path: the page of the company, or "".
    """

    at: datetime
    credits: int
    module: str
    iso2: str
    nom: str
    path: str


def opened_records(request: PageRequest, opened: Sequence[Opening]) -> Sequence[OpenedRecord]:
    """The last openings of the month, in their order."""
    try:
        with request.server.published.lease() as generation:
            return [
                _opened_record(generation.shards, one.at, one.credits, one.subject)
                for one in opened
            ]
    except ApiError:  # there are no data yet: an account has a page all the same
        return [_opened_record(None, one.at, one.credits, one.subject) for one in opened]


def _opened_record(base: ShardSet | None, at: datetime, credits: int, subject: str) -> OpenedRecord:
    head, _, rest = subject.partition("/")
    if head == MARCHE:
        return OpenedRecord(at, credits, MARCHE, "", "", "")
    module = ENTREPRISE if head == ENTREPRISE else ""
    iso2, _, identifier = (rest if module else subject).partition("/")
    shard = base.get(iso2) if base else None
    row = None if shard is None else shard.find(identifier)
    if shard is None or row is None:
        return OpenedRecord(at, credits, module, iso2, identifier, "")
    nom = str(shard.company(row)["nom"] or identifier)
    path = formatting.record_path(iso2, identifier)
    return OpenedRecord(at, credits, module, iso2, nom, path)
