"""The reference model of a store: counters, sets and lists, for one caller at a time.

Written from the contract and not from the ledger: it has no rows, no bytes and no transactions.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

# The most credits of a pack, and the most that an account may have from packs.
PACK = 10**9
PACKS = 10**12


@dataclass
class HeldReservation:
    """An export that is reserved and not counted yet; `month` (YYYY-MM) is that of the reservation."""

    account: str
    month: str
    limit: int
    expires: datetime


@dataclass
class Model:
    """Calls are counted by account and day; exports, grants and trials by account and month."""

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    exports: Counter[tuple[str, str]] = field(default_factory=Counter)
    # Credits of the grant that were spent.
    grant: Counter[tuple[str, str]] = field(default_factory=Counter)
    # Credits of packs that are left: bought - spent.
    packs: Counter[str] = field(default_factory=Counter)
    bought: Counter[str] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    trials: Counter[tuple[str, str]] = field(default_factory=Counter)
    charged: set[tuple[str, str, str]] = field(default_factory=set)  # account, month, company
    # By account and month: second, credits and subject of each opening, the newest first.
    opened: dict[tuple[str, str], list[tuple[int, int, str]]] = field(default_factory=dict)
    matched: dict[str, set[str]] = field(default_factory=dict)
    held: dict[str, HeldReservation] = field(default_factory=dict)  # by the id of the reservation
    plan: dict[str, str] = field(default_factory=dict)
    active: dict[str, str] = field(default_factory=dict)  # key text -> account
    key_ids: dict[str, str] = field(default_factory=dict)  # key text -> id
    floor: str = ""  # the first month that is kept; earlier calls count on its first day

    def counted_at(self, now: datetime) -> datetime:
        """The moment in UTC at which something is counted: now, or the start of the first month that is kept."""
        moment = now.astimezone(UTC)
        if self.floor and f"{moment:%Y-%m}" < self.floor:
            return datetime.fromisoformat(f"{self.floor}-01T00:00:00+00:00")
        return moment

    def day(self, now: datetime) -> str:
        """The day on which something is counted now, such as "2026-11-21"."""
        return self.counted_at(now).date().isoformat()

    def month(self, now: datetime) -> str:
        """The month in which something is counted now, such as "2026-11"."""
        return self.counted_at(now).date().isoformat()[:7]

    def add_credits(self, account: str, count: int) -> bool:
        """Add a pack; returns False if it is too small, too large, or beyond the limit of the account."""
        if not 1 <= count <= PACK or self.packs[account] + count > PACKS:
            return False
        self.packs[account] += count
        self.bought[account] += count
        return True

    def take(self, account: str, limit: int, now: datetime) -> bool:
        """Count a call if the day's limit allows it; returns whether it does."""
        granted = self.calls[account, self.day(now)] < limit
        self.calls[account, self.day(now)] += granted
        return granted

    def give_back(self, account: str, now: datetime) -> None:
        """Undo a call of today, if one was counted."""
        counter = account, self.day(now)
        self.calls[counter] = max(0, self.calls[counter] - 1)

    def credits_left(self, account: str, grant: int, now: datetime) -> int:
        """The credits that an account can spend: of the month's grant, and of packs."""
        return max(0, grant - self.grant[account, self.month(now)]) + self.packs[account]

    def try_analysis(self, account: str, subject: str, trials: int, now: datetime) -> str:
        """Open an analysis for one of `trials` trials in a month: "tried", "already" (opened before) or "no_trial".

        A trial is counted, and added to the list of openings.
        """
        month = self.month(now)
        if (account, month, subject) in self.charged:
            return "already"
        if self.trials[account, month] == trials:
            return "no_trial"
        self.trials[account, month] += 1
        self.note_opening(account, subject, 0, now)
        return "tried"

    def charge(self, account: str, company: str, cost: int, grant: int, now: datetime) -> str:
        """Open a company for `cost` credits: "charged", "already" (paid this month) or "refused" (too few credits).

        A charge takes the credits from the grant, then from the packs, and is added to the list of openings.
        """
        month = self.month(now)
        if (account, month, company) in self.charged:
            return "already"
        if self.credits_left(account, grant, now) < cost:
            return "refused"
        self.note_opening(account, company, cost, now)
        for _ in range(cost):  # one credit after the other: the grant first (D8)
            if self.grant[account, month] < grant:
                self.grant[account, month] += 1
            else:
                self.packs[account] -= 1
                self.spent[account] += 1
        return "charged"

    def note_opening(self, account: str, subject: str, cost: int, now: datetime) -> None:
        """Note a subject as opened in this month, for `cost` credits."""
        month, second = self.month(now), int(self.counted_at(now).timestamp())
        self.charged.add((account, month, subject))
        self.opened.setdefault((account, month), []).insert(0, (second, cost, subject))

    def live_reservations(self, account: str, now: datetime, month: str | None = None) -> list[str]:
        """The ids of the reservations of an account that have not expired, of one month or of all."""
        return [
            reservation_id
            for reservation_id, held in self.held.items()
            if held.account == account
            and held.expires > self.counted_at(now)
            and month in (None, held.month)
        ]

    def exports_used(self, account: str, month: str, now: datetime) -> int:
        """The exports of a month that are counted or reserved."""
        return self.exports[account, month] + len(self.live_reservations(account, now, month))

    def reserve(self, account: str, limit: int, at_once: int, now: datetime) -> str:
        """The expected outcome: "granted", "quota" (no export left) or "simultanes" (`at_once` are reserved already).

        Forgets the expired reservations of the account if it grants; `hold` then adds the reservation under its id.
        """
        if self.exports_used(account, self.month(now), now) >= limit:
            return "quota"
        if len(self.live_reservations(account, now)) >= at_once:
            return "simultanes"
        live_ids = self.live_reservations(account, now)
        for reservation_id in [key for key, held in self.held.items() if held.account == account]:
            if reservation_id not in live_ids:
                del self.held[reservation_id]
        return "granted"

    def hold(
        self, reservation_id: str, account: str, limit: int, ttl: timedelta, now: datetime
    ) -> None:
        """Add a reservation that the store has granted."""
        self.held[reservation_id] = HeldReservation(
            account, self.month(now), limit, self.counted_at(now) + ttl
        )

    def commit(self, reservation_id: str, now: datetime) -> bool:
        """Count a reserved export; returns whether the limit of the month of its reservation still allows it.

        A reservation that is unknown, or was counted or released before, is not counted.
        """
        reservation = self.held.pop(reservation_id, None)
        if reservation is None:
            return False
        month = max(reservation.month, self.floor)
        used = self.exports_used(reservation.account, month, now)
        # A live reservation has its own place; an expired one competes with the reservations of others.
        if reservation.expires > self.counted_at(now) and month == reservation.month:
            used = self.exports[reservation.account, month]
        if used >= reservation.limit:
            return False
        self.exports[reservation.account, month] += 1
        return True

    def compact(self, before: str) -> None:
        """Drop the counters and charges before the month `before` (YYYY-MM), which becomes the first month kept."""
        self.floor = max(self.floor, before)
        for counter in (self.calls, self.exports, self.grant, self.trials):
            for account, period in list(counter):
                if period[:7] < self.floor:
                    del counter[account, period]
        self.charged = {charge for charge in self.charged if charge[1] >= self.floor}
