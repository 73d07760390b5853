"""The rules of an edge: a balance of calls per day and account, refilled from the centre.

Functions of one transaction over the edge's own rows. The centre counts a call as used when it
lends it. The limit therefore holds whatever happens to an edge, and calls on a lost disk are lost to
the account.

Calls travel in *moves*. A move gets a random name and is stored here before it is sent; the centre
performs it once per name (`redis/lua/move.lua`). Any process that finds a stored move sends it
again, so a lost reply does no harm, and the first process that enters the reply deletes the move.

A block has the name of the move that brought it, and the move that returns it is named after it. So
it is given back at most once, by whatever copies of the edge's file there are.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from quota.accounts import Account, dump, load_account
from quota.ledger import row_format
from quota.ledger.calls import Meter
from quota.ledger.row_format import ReadTransaction, WriteTransaction
from quota.periods import Period, day

# A block is 1/BLOCKS of the daily limit, at least one call…
BLOCKS: Final = 50
# … and at most 1/PARTS of the calls left at the centre, so that the last ones go out in small blocks.
PARTS: Final = 8
# How long the centre's reply that no calls are left is valid: other edges may return some.
REFUSED_S: Final = 5
# What the name of the move that returns a block has after the name of the block (`lua/move.lua`).
RETURNED: Final = "-"

# The blocks of a balance: name, calls left. Only the last one may have none.
Blocks = list[tuple[str, int]]


class TakeResult(NamedTuple):
    """The outcome of `take`.

    Attributes:
        meter: None if only the centre can tell whether a call is left.
        low: the balance should be refilled now.
    """

    meter: Meter | None
    low: bool


class Move(NamedTuple):
    """A block between edge and centre: `calls` requested, or returned if negative."""

    day: str
    account: str
    name: str
    calls: int
    limit: int


def block(limit: int) -> int:
    """The number of calls to request at once.

    >>> block(1000), block(30)
    (20, 1)
    """
    return max(1, limit // BLOCKS)


# -- calls -------------------------------------------------------------------------


def take(txn: WriteTransaction, account: str, limit: int, now: datetime) -> TakeResult:
    """Take one call of the balance, or refuse it if the limit is known to be reached."""
    today = day(now)
    key = row_format.join(row_format.BALANCE, today.key, account)
    used, heard, blocks = row_format.balance(txn.get(key))
    left = _calls_left(blocks)
    if left and used - left < limit:
        txn.put(key, row_format.pack_balance(used, _second(now), _less_one(blocks)))
        meter = Meter("appels_jour", limit, used - left + 1, True, today.end)
        size = block(limit)
        return TakeResult(meter, low=left - 1 <= size // 4 and limit - used >= size)
    if used - left >= limit and abs(_second(now) - heard) < REFUSED_S:
        return TakeResult(Meter("appels_jour", limit, used - left, False, today.end), low=False)
    return TakeResult(None, low=True)


def give_back(txn: WriteTransaction, account: str, taken: datetime) -> None:
    """Undo a call whose response failed; it is lost if its block was given back meanwhile."""
    key = row_format.join(row_format.BALANCE, day(taken).key, account)
    used, heard, blocks = row_format.balance(txn.get(key))
    if blocks:
        (name, left), *others = blocks
        blocks = [(name, left + 1), *others]
        txn.put(key, row_format.pack_balance(max(used, _calls_left(blocks)), heard, blocks))


def calls(txn: ReadTransaction, account: str, limit: int, now: datetime) -> Meter | None:
    """The calls of the day as far as this edge knows; None if it has no balance."""
    today = day(now)
    stored = txn.get(row_format.join(row_format.BALANCE, today.key, account))
    if stored is None:
        return None
    used, _, blocks = row_format.balance(stored)
    granted = used - _calls_left(blocks)
    return Meter("appels_jour", limit, granted, granted < limit, today.end)


def _calls_left(blocks: Blocks) -> int:
    return sum(left for _, left in blocks)


def _less_one(blocks: Blocks) -> Blocks:
    """The blocks after a call of the first one; the last one stays, for calls that are given back."""
    (name, left), *others = blocks
    return others if left == 1 and others else [(name, left - 1), *others]


# -- moves -------------------------------------------------------------------------


def next_move(txn: WriteTransaction, account: str, name: str, limit: int, today: Period) -> Move:
    """The move to send for a block: one without a reply yet, or a new one of this `name`."""
    waiting = [move for move in _moves(txn, f"{today.key}/{account}/") if move.calls > 0]
    if waiting:
        return waiting[0]
    move = Move(today.key, account, name, block(limit), limit)
    txn.put(_key(move), row_format.pack_move(move.calls, limit))
    return move


def settle(txn: WriteTransaction, move: Move, moved: int, used: int, now: datetime) -> None:
    """Enter the reply of the centre (calls moved, calls used), once per move."""
    if txn.get(_key(move)) is None:
        return
    txn.delete(_key(move))
    key = row_format.join(row_format.BALANCE, move.day, move.account)
    stored = txn.get(key)
    _, heard, blocks = row_format.balance(stored)
    if move.calls > 0:
        if moved:
            blocks = [*(one for one in blocks if one[1]), (move.name, moved)]
        heard = _second(now)
    elif stored is None:
        return
    elif not _calls_left(blocks):
        txn.delete(key)  # from here on only the centre knows the count
        return
    txn.put(key, row_format.pack_balance(max(used, _calls_left(blocks)), heard, blocks))


def give_up(txn: WriteTransaction, before: datetime, now: datetime) -> None:
    """Store moves that return the balances last used before `before`, or of a day that is over."""
    today = day(now).key
    for key, stored in list(txn.scan(row_format.BALANCE)):
        used, heard, blocks = row_format.balance(stored)
        period, account = key[len(row_format.BALANCE) :].decode().split("/", 1)
        if period >= today and heard >= _second(before):
            continue
        if not _calls_left(blocks):
            txn.delete(key)
            continue
        for name, left in blocks:
            if left:
                move = Move(period, account, f"{name}{RETURNED}", -left, 0)
                txn.put(_key(move), row_format.pack_move(-left, 0))
        txn.put(key, row_format.pack_balance(used - _calls_left(blocks), heard, []))


def unanswered_moves(txn: ReadTransaction) -> list[Move]:
    """Moves without a reply of the centre."""
    return list(_moves(txn, ""))


def _moves(txn: ReadTransaction, beginning: str) -> Iterator[Move]:
    for key, stored in txn.scan(row_format.join(row_format.MOVING, beginning)):
        period, account, name = key[len(row_format.MOVING) :].decode().split("/")
        yield Move(period, account, name, *row_format.move(stored))


def _key(move: Move) -> bytes:
    return row_format.join(row_format.MOVING, move.day, move.account, move.name)


# -- keys --------------------------------------------------------------------------


def remember(txn: WriteTransaction, digest: bytes, account: Account | None, second: int) -> None:
    """Store the account of a key; nothing is stored for a key that never had one."""
    key = row_format.KNOWN + digest
    if account is not None or txn.get(key) is not None:
        txn.put(key, row_format.pack_known(second, dump(account) if account else b""))


def recall(txn: ReadTransaction, digest: bytes) -> tuple[int, Account | None] | None:
    """The second of the last look-up of a key at the centre, and its account; None if never."""
    stored = txn.get(row_format.KNOWN + digest)
    if stored is None:
        return None
    second, account = row_format.read_last_used(stored)
    return second, load_account(account) if account else None


def _second(moment: datetime) -> int:
    return int(moment.timestamp())
