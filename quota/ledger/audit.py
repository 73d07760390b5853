"""The audit of a store: the charges, counted again, against the sums that every request relies on.

For each account and month, what its charges took from the grant is its row `g/`; what its charges of all
months took from packs is what `p/` says was spent, or less where `compact` has dropped old months. A store
of one host is read at one moment. A server of several hosts is read in pieces while others write, so the
sums are read before and after the charges: they only grow, and the charges must lie between them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from quota.errors import QuotaError
from quota.ledger import row_format

Rows = Callable[[bytes], Iterable[tuple[bytes, bytes]]]

_SHOWN: Final = 5


class AuditError(QuotaError):
    """Sums differ from the charges, or charges from each other."""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit has read.

    Attributes:
        credits: of all charges, those of the grant and those of packs.
        differences: a sentence for each sum that is not that of its charges.
    """

    accounts: int
    months: int
    charges: int
    credits: int
    differences: Sequence[str]

    def require(self) -> None:
        """Raise AuditError if there is a difference."""
        if not self.differences:
            return
        more = len(self.differences) - _SHOWN
        raise AuditError(
            f"{'; '.join(self.differences[:_SHOWN])}{f'; and {more} more' if more > 0 else ''}. "
            "Restore a backup, or keep the file and report it: no command writes such rows"
        )


@dataclass(frozen=True, slots=True)
class _Sums:
    """The sums that are stored: of grants by (month, account), of packs by account (bought, spent)."""

    floor: str
    grants: Mapping[tuple[str, str], int]
    packs: Mapping[str, tuple[int, int]]


def audit(rows: Rows) -> AuditReport:
    """Compare all charges of a store with its sums.

    Args:
        rows: returns the rows of a table, by its prefix. If other writers go on meanwhile, each call may see
            a later state.
    """
    before = _sums(rows)
    charges = 0
    grants: dict[tuple[str, str], int] = defaultdict(int)
    packs: dict[str, int] = defaultdict(int)
    for key, value in rows(row_format.CHARGE):
        month, account, _ = key[2:].decode().split("/", 2)
        if month < before.floor:  # `compact` is dropping them
            continue
        from_grant, from_packs = row_format.pair(value)
        charges += 1
        grants[month, account] += from_grant
        packs[account] += from_packs
    after = _sums(rows)
    return AuditReport(
        accounts=len({account for _, account in grants}),
        months=len({month for month, _ in grants}),
        charges=charges,
        credits=sum(grants.values()) + sum(packs.values()),
        differences=[
            *_grant_differences(before, grants, after),
            *_pack_differences(before, packs, after),
        ],
    )


def _sums(rows: Rows) -> _Sums:
    floor = next((value.decode() for _, value in rows(row_format.FLOOR)), "")
    grants = {}
    for key, value in rows(row_format.GRANT):
        month, account = key[2:].decode().split("/", 1)
        if month >= floor:
            grants[month, account] = row_format.number(value)
    packs = {key[2:].decode(): row_format.pair(value) for key, value in rows(row_format.PACKS)}
    return _Sums(floor, grants, packs)


def _grant_differences(
    before: _Sums, charged: Mapping[tuple[str, str], int], after: _Sums
) -> Iterable[str]:
    for month, account in sorted({*before.grants, *charged}):
        if month < after.floor:
            continue
        least = before.grants.get((month, account), 0)
        most = after.grants.get((month, account), 0)
        found = charged.get((month, account), 0)
        if not least <= found <= most:
            yield f"charges of {account} in {month} took {found} credits of the grant, its sum is {most}"


def _pack_differences(before: _Sums, charged: Mapping[str, int], after: _Sums) -> Iterable[str]:
    for account in sorted({*before.packs, *charged}):
        found = charged.get(account, 0)
        _, least = before.packs.get(account, (0, 0))
        bought, most = after.packs.get(account, (0, 0))
        if found > most or (found < least and not after.floor):
            yield f"charges of {account} took {found} credits of packs, {most} is their sum"
        if most > bought:
            yield f"{account} spent {most} credits of packs and bought {bought}"
