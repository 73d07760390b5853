"""What every page is made with: the site, its seals, its guard, its figures.

One for a serving process. The limits and rights are those of the site: pages add none of their own.
"""

from dataclasses import dataclass, field
from datetime import datetime

from quota.store import Store
from serve.config import Debit
from serve.gate import Limiter
from serve.pages.figures import Figures
from serve.pages.guard import Guard
from serve.pages.seals import Seals
from serve.site import Site


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
    def store(self) -> Store:
        """Raises StoreUnavailable."""
        return self.site.counters.store


def make_desk(site: Site, seals: Seals, limiter: Limiter, debit: Debit) -> Desk:
    return Desk(site, seals, Guard(limiter, debit), site.now())
