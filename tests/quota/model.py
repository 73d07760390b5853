"""The reference model of a store: counters, sets and lists, for one caller at a time.

Written from the contract and not from the ledger: it knows no rows, no bytes and no transaction.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

PACK = 10**9
PACKS = 10**12


@dataclass
class Held:
    account: str
    month: str
    limit: int
    expires: datetime


@dataclass
class Model:
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    exports: Counter[tuple[str, str]] = field(default_factory=Counter)
    grant: Counter[tuple[str, str]] = field(default_factory=Counter)
    packs: Counter[str] = field(default_factory=Counter)
    bought: Counter[str] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    trials: Counter[tuple[str, str]] = field(default_factory=Counter)
    charged: set[tuple[str, str, str]] = field(default_factory=set)
    opened: dict[tuple[str, str], list[tuple[int, int, str]]] = field(default_factory=dict)
    matched: dict[str, set[str]] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)
    plan: dict[str, str] = field(default_factory=dict)
    active: dict[str, str] = field(default_factory=dict)  # key text -> account
    key_ids: dict[str, str] = field(default_factory=dict)  # key text -> id
    floor: str = ""

    def at(self, now: datetime) -> datetime:
        moment = now.astimezone(UTC)
        if self.floor and f"{moment:%Y-%m}" < self.floor:
            return datetime.fromisoformat(f"{self.floor}-01T00:00:00+00:00")
        return moment

    def day(self, now: datetime) -> str:
        return self.at(now).date().isoformat()

    def month(self, now: datetime) -> str:
        return self.at(now).date().isoformat()[:7]

    def add_credits(self, account: str, count: int) -> bool:
        if not 1 <= count <= PACK or self.packs[account] + count > PACKS:
            return False
        self.packs[account] += count
        self.bought[account] += count
        return True

    def take(self, account: str, limit: int, now: datetime) -> bool:
        granted = self.calls[account, self.day(now)] < limit
        self.calls[account, self.day(now)] += granted
        return granted

    def give_back(self, account: str, now: datetime) -> None:
        counter = account, self.day(now)
        self.calls[counter] = max(0, self.calls[counter] - 1)

    def left(self, account: str, grant: int, now: datetime) -> int:
        return max(0, grant - self.grant[account, self.month(now)]) + self.packs[account]

    def tried(self, account: str, subject: str, trials: int, now: datetime) -> str:
        month = self.month(now)
        if (account, month, subject) in self.charged:
            return "already"
        if self.trials[account, month] == trials:
            return "no_trial"
        self.trials[account, month] += 1
        self.open(account, subject, 0, now)
        return "tried"

    def charge(self, account: str, company: str, cost: int, grant: int, now: datetime) -> str:
        month = self.month(now)
        if (account, month, company) in self.charged:
            return "already"
        if self.left(account, grant, now) < cost:
            return "refused"
        self.open(account, company, cost, now)
        for _ in range(cost):  # one credit after the other: the grant first (D8)
            if self.grant[account, month] < grant:
                self.grant[account, month] += 1
            else:
                self.packs[account] -= 1
                self.spent[account] += 1
        return "charged"

    def open(self, account: str, subject: str, cost: int, now: datetime) -> None:
        month, second = self.month(now), int(self.at(now).timestamp())
        self.charged.add((account, month, subject))
        self.opened.setdefault((account, month), []).insert(0, (second, cost, subject))

    def live(self, account: str, now: datetime, month: str | None = None) -> list[str]:
        return [
            name
            for name, held in self.held.items()
            if held.account == account
            and held.expires > self.at(now)
            and month in (None, held.month)
        ]

    def exports_used(self, account: str, month: str, now: datetime) -> int:
        return self.exports[account, month] + len(self.live(account, now, month))

    def reserve(self, account: str, limit: int, at_once: int, now: datetime) -> str:
        """The expected outcome; `hold` then enters a granted reservation, under its id."""
        if self.exports_used(account, self.month(now), now) >= limit:
            return "quota"
        if len(self.live(account, now)) >= at_once:
            return "simultanes"
        live = self.live(account, now)
        for name in [n for n, held in self.held.items() if held.account == account]:
            if name not in live:
                del self.held[name]
        return "granted"

    def hold(self, name: str, account: str, limit: int, ttl: timedelta, now: datetime) -> None:
        self.held[name] = Held(account, self.month(now), limit, self.at(now) + ttl)

    def commit(self, name: str, now: datetime) -> bool:
        held = self.held.pop(name, None)
        if held is None:
            return False
        month = max(held.month, self.floor)
        used = self.exports_used(held.account, month, now)
        if held.expires > self.at(now) and month == held.month:
            used = self.exports[held.account, month]
        if used >= held.limit:
            return False
        self.exports[held.account, month] += 1
        return True

    def compact(self, before: str) -> None:
        self.floor = max(self.floor, before)
        for counter in (self.calls, self.exports, self.grant, self.trials):
            for account, period in list(counter):
                if period[:7] < self.floor:
                    del counter[account, period]
        self.charged = {charge for charge in self.charged if charge[1] >= self.floor}
