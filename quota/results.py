"""What the store answers: counters as they stand, what was granted, when they start anew."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

MeterType = Literal["appels_jour", "exports_mois"]


@dataclass(frozen=True, slots=True)
class Meter:
    """A counter (D3, D4): `used` of `limit`, this use included if it was `granted`.

    In a `Usage`, `granted` says whether one more would be. `used` may be over `limit` where a plan
    was lowered within the period.
    """

    type: MeterType
    limit: int
    used: int
    granted: bool
    reset: datetime


@dataclass(frozen=True, slots=True)
class Charge:
    """What became of a full record (D9, D11): `cost` was debited now, `left` remains."""

    outcome: Literal["charged", "already", "refused"]
    cost: int
    left: int
    reset: datetime


@dataclass(frozen=True, slots=True)
class Credits:
    """Credits of a month: the grant, how much of it is used, packs left, and the sum left."""

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


@dataclass(frozen=True, slots=True)
class Reservation:
    """An export under way: it holds one of the month's `limit` until `expires`."""

    id: str
    account: str
    month: str
    limit: int
    expires: datetime
    meter: Meter


@dataclass(frozen=True, slots=True)
class Refusal:
    """No export now: the month's are used up (`quota`), or too many run at once (`simultanes`)."""

    reason: Literal["quota", "simultanes"]
    meter: Meter
