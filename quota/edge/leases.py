"""What an edge may grant by itself: a balance of calls a day and account, filled from the centre.

Functions of one transaction over the edge's own rows, like the ledger's. The centre counts a call
as used when it lends it, so whatever happens to an edge the limit is not passed: what is lost with
it is lost to the account. Calls go one way or the other by a *move*, which is written down here
before the centre is asked, under a name drawn by chance, and is done by the centre once for a name.
So a move whose answer was lost is asked again, by whoever finds it written, and the answer is
entered once: by whoever finds it still written.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from quota.accounts import Account, dump, load_account
from quota.ledger import row_format
from quota.ledger.transaction import ReadTransaction, WriteTransaction
from quota.periods import Period, day
from quota.results import Meter

# A block is this part of the day's limit, at least a call…
BLOCKS: Final = 50
# … and at most this part of what is left at the centre, so that the last calls lie in small change.
PARTS: Final = 8
# So long the centre's word that nothing is left is believed: others may give back.
REFUSED_S: Final = 5


class Taken(NamedTuple):
    """`meter` is None where only the centre can tell; `low`: it is time to ask for more."""

    meter: Meter | None
    low: bool


class Move(NamedTuple):
    """A block on its way: `calls` asked for, or given back where they are negative."""

    day: str
    account: str
    name: str
    calls: int
    limit: int


def block(limit: int) -> int:
    """How many calls to ask for at once.

    >>> block(1000), block(30)
    (20, 1)
    """
    return max(1, limit // BLOCKS)


# -- calls -------------------------------------------------------------------------


def take(txn: WriteTransaction, account: str, limit: int, now: datetime) -> Taken:
    """One call of the balance, or what is known of the limit without asking."""
    today = day(now)
    key = row_format.join(row_format.BALANCE, today.key, account)
    left, used, heard = row_format.triple(txn.get(key))
    if left and used - left < limit:
        txn.put(key, row_format.pack_triple(left - 1, used, _second(now)))
        meter = Meter("appels_jour", limit, used - left + 1, True, today.end)
        size = block(limit)
        return Taken(meter, low=left - 1 <= size // 4 and limit - used >= size)
    if used - left >= limit and abs(_second(now) - heard) < REFUSED_S:
        return Taken(Meter("appels_jour", limit, used - left, False, today.end), low=False)
    return Taken(None, low=True)


def give_back(txn: WriteTransaction, account: str, taken: datetime) -> None:
    """Undo a call that came to nothing."""
    key = row_format.join(row_format.BALANCE, day(taken).key, account)
    left, used, heard = row_format.triple(txn.get(key))
    txn.put(key, row_format.pack_triple(left + 1, max(used, left + 1), heard))


def calls(txn: ReadTransaction, account: str, limit: int, now: datetime) -> Meter | None:
    """The calls of the day as far as they are known here; None: not at all."""
    today = day(now)
    stored = txn.get(row_format.join(row_format.BALANCE, today.key, account))
    if stored is None:
        return None
    left, used, _ = row_format.triple(stored)
    return Meter("appels_jour", limit, used - left, used - left < limit, today.end)


# -- moves -------------------------------------------------------------------------


def want(txn: WriteTransaction, account: str, name: str, limit: int, today: Period) -> Move:
    """A move that asks for a block: the one that waits for its answer, or one of this `name`."""
    waiting = [move for move in _moves(txn, f"{today.key}/{account}/") if move.calls > 0]
    if waiting:
        return waiting[0]
    move = Move(today.key, account, name, block(limit), limit)
    txn.put(_key(move), row_format.pack_move(move.calls, limit))
    return move


def settle(txn: WriteTransaction, move: Move, moved: int, used: int, now: datetime) -> None:
    """Enter what the centre answered; once, whoever asked."""
    if txn.get(_key(move)) is None:
        return
    txn.delete(_key(move))
    key = row_format.join(row_format.BALANCE, move.day, move.account)
    stored = txn.get(key)
    left, _, heard = row_format.triple(stored)
    if move.calls > 0:
        txn.put(key, row_format.pack_triple(left + moved, max(used, left + moved), _second(now)))
    elif stored is not None and left:
        txn.put(key, row_format.pack_triple(left, max(used, left), heard))
    elif stored is not None:
        txn.delete(key)  # nothing is known any more but by the centre


def give_up(txn: WriteTransaction, before: datetime, now: datetime, name: str) -> None:
    """Send home the balances that were last used before this moment, or whose day is over.

    `name` begins the names of the moves.
    """
    today = day(now).key
    for number, (key, stored) in enumerate(list(txn.scan(row_format.BALANCE))):
        left, used, heard = row_format.triple(stored)
        period, account = key[len(row_format.BALANCE) :].decode().split("/", 1)
        if period >= today and heard >= _second(before):
            continue
        if not left:
            txn.delete(key)
            continue
        move = Move(period, account, f"{name}{number}", -left, 0)
        txn.put(_key(move), row_format.pack_move(-left, 0))
        txn.put(key, row_format.pack_triple(0, used - left, heard))


def waiting(txn: ReadTransaction) -> list[Move]:
    """Moves that the centre has not answered."""
    return list(_moves(txn, ""))


def _moves(txn: ReadTransaction, beginning: str) -> Iterator[Move]:
    for key, stored in txn.scan(row_format.join(row_format.MOVING, beginning)):
        period, account, name = key[len(row_format.MOVING) :].decode().split("/")
        yield Move(period, account, name, *row_format.move(stored))


def _key(move: Move) -> bytes:
    return row_format.join(row_format.MOVING, move.day, move.account, move.name)


# -- who calls ---------------------------------------------------------------------


def remember(txn: WriteTransaction, digest: bytes, account: Account | None, second: int) -> None:
    """Note where a key leads; of one that never led anywhere nothing is kept."""
    key = row_format.KNOWN + digest
    if account is not None or txn.get(key) is not None:
        txn.put(key, row_format.pack_known(second, dump(account) if account else b""))


def recall(txn: ReadTransaction, digest: bytes) -> tuple[int, Account | None] | None:
    """When the centre was last asked about a key, and where it led; None: never."""
    stored = txn.get(row_format.KNOWN + digest)
    if stored is None:
        return None
    second, account = row_format.known(stored)
    return second, load_account(account) if account else None


def _second(moment: datetime) -> int:
    return int(moment.timestamp())
