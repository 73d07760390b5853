"""The last records and analyses that an account opened in a month, in one row.

The rows of charges (`calls.py`) have no time, so that they are small, and there are many of them. This
row is for a page that shows people what their credits were spent for; nothing is billed by it.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from quota.ledger import row_format
from quota.ledger.transaction import ReadTransaction, WriteTransaction
from quota.periods import Period

# The script `charge.lua` keeps as many.
KEPT: Final = 20


class Opening(NamedTuple):
    """A record or an analysis that was opened, as `Purchase.company` names it, and its credits."""

    at: datetime
    credits: int
    subject: str


def note(
    txn: WriteTransaction, period: Period, account: str, subject: str, credits: int, now: datetime
) -> None:
    """Enter an opening as the last one of the month, and drop the oldest of more than KEPT."""
    row = row_format.join(row_format.OPENED, period.key, account)
    newest = f"{int(now.timestamp())} {credits} {subject}\n".encode()
    older = (txn.get(row) or b"").split(b"\n")[: KEPT - 1]
    txn.put(row, newest + b"\n".join(older))


def of_account(txn: ReadTransaction, period: Period, account: str) -> Sequence[Opening]:
    """The last openings of the month, the newest first."""
    stored = txn.get(row_format.join(row_format.OPENED, period.key, account)) or b""
    lines = (line.split(" ", 2) for line in stored.decode().split("\n") if line)
    return [Opening(datetime.fromtimestamp(int(at), UTC), int(n), what) for at, n, what in lines]
