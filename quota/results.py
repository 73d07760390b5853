"""The values that a store returns: counters, charges, reservations, and when they start anew."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

MeterType = Literal["appels_jour", "exports_mois", "essais_mois"]


@dataclass(frozen=True, slots=True)
class Meter:
    """A counter (D3, D4): `used` of `limit`, including this use if it was `granted`.

    In a `Usage`, `granted` says whether one more use would be granted. `used` exceeds `limit` if the
    plan was lowered within the period. `reset` is the end of the period (UTC).
    """

    type: MeterType
    limit: int
    used: int
    granted: bool
    reset: datetime


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge (D9, D11): `cost` credits debited now, `left` credits remaining.

    An analysis on trial costs none: it is `tried`, or `no_trial` where the month has no trial left.
    """

    outcome: Literal["charged", "already", "refused", "tried", "no_trial"]
    cost: int
    left: int
    reset: datetime


@dataclass(frozen=True, slots=True)
class Credits:
    """Credits of a month: the grant, how much of it is used, credits of packs, and the sum left."""

    grant: int
    used: int
    packs: int
    left: int
    reset: datetime


@dataclass(frozen=True, slots=True)
class Usage:
    """All counters of an account."""

    calls: Meter
    exports: Meter
    credits: Credits
    trials: Meter

    @property
    def meters(self) -> tuple[Meter, ...]:
        """The counters with a limit of their own."""
        return self.calls, self.exports, self.trials


@dataclass(frozen=True, slots=True)
class Reservation:
    """An export under way: it occupies one of the month's `limit` until `expires`."""

    id: str
    account: str
    month: str
    limit: int
    expires: datetime
    meter: Meter


@dataclass(frozen=True, slots=True)
class CountedExport:
    """An export that was made and counted.

    Attributes:
        made: the moment, ISO 8601, UTC.
        name: of the file; it says the scope.
        rows: companies in the file.
        total: companies that the search found.
        search: the parameters that make it again, as a query string; None if they are too long to keep.
        key: the last four characters of the key that asked for it; "" for a page.
    """

    made: str
    format: str
    name: str
    rows: int
    total: int
    search: str | None
    key: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """No export now: the month's are used up (`quota`), or too many run (`simultanes`)."""

    reason: Literal["quota", "simultanes"]
    meter: Meter
