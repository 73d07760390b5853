"""What every page is made with: the site, its seals, its guard, its figures.

One for a serving process. The limits and rights are those of the site: pages add none of their own.
"""

from dataclasses import dataclass, field
from datetime import datetime

from quota.ledger_store import LedgerStore
from serve.config import Debit
from serve.gate import Limiter
from serve.site import Site
from serve.website import refusals
from serve.website.figures import Figures
from serve.website.guard import Guard
from serve.website.seals import Seals


@dataclass(frozen=True, slots=True)
class Desk:
    """`started`: of this process, for /statut."""

    site: Site
    seals: Seals
    guard: Guard
    started: datetime
    figures: Figures = field(default_factory=Figures)

    @property
    def secure(self) -> bool:
        """Do visitors come over https? Then no cookie goes over anything else."""
        return self.site.base_url.startswith("https://")

    @property
    def store(self) -> LedgerStore:
        """The store, with its accounts and people.

        Raises:
            ApiError: 503: an edge has neither (`quota/lease_store.py`).
            StoreUnavailable
        """
        store = self.site.counters.store
        if not isinstance(store, LedgerStore):
            raise refusals.comptes_au_centre()
        return store


def make_desk(site: Site, seals: Seals, limiter: Limiter, debit: Debit) -> Desk:
    return Desk(site, seals, Guard(limiter, debit), site.now())
