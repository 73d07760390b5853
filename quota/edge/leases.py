"""The rules of an edge: a balance of calls per day and account, refilled from the centre.

Functions of one transaction over the edge's own rows. A *balance* has the calls that the edge can still grant to an
account on a day, and the number of calls of that day that the centre counts as used. The centre counts a call as used
when it lends the call to an edge. The limit therefore holds whatever happens to an edge, and if the disk of an edge is
lost, the account loses the calls that were stored there.

A *move* transfers calls from the centre to an edge, or back. A move gets a random name and is stored here
before it is sent; the centre performs each named move once (`redis/lua/move.lua`). Any process that reads a
stored move sends the move again, so a lost reply does no harm, and the first process that applies the reply
deletes the move.

The calls of one move to the edge are a *block*. A block has the name of its move, and the move that returns
the rest of the block is named after the block. So a block is given back at most once, even if the edge's file
was copied.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from quota.accounts import Account, dump, load_account
from quota.ledger import row_format
from quota.ledger.calls import Meter
from quota.ledger.row_format import ReadTransaction, WriteTransaction
from quota.periods import Period, day

# An edge requests 1/BLOCKS of the daily limit at once, but at least one call.
BLOCKS: Final = 50
# The centre lends at most 1/PARTS of the calls that are left, so that several edges can share the last calls.
PARTS: Final = 8
# Seconds for which an edge refuses calls after the centre replied "no calls left". After that the edge sends a
# new request, because other edges can have returned calls.
REFUSED_S: Final = 5
# A move that returns a block is named with the name of the block and this suffix (`lua/move.lua`).
RETURNED: Final = "-"

# The blocks of a balance: name, calls left. Only the last block can have 0 calls left.
CallBlocks = list[tuple[str, int]]


class TakeResult(NamedTuple):
    """The outcome of `take`.

    Attributes:
        meter: None if only the centre knows whether a call is left.
        low: whether another block should be requested now.
    """

    meter: Meter | None
    low: bool


class Move(NamedTuple):
    """A transfer of calls between an edge and its centre.

    Attributes:
        day: the day of the calls ("2026-11-21").
        calls: the number requested; negative for calls that are returned.
        limit: the daily limit of the account; 0 if calls are returned.
    """

    day: str
    account: str
    name: str
    calls: int
    limit: int


def block_size(limit: int) -> int:
    """The number of calls to request at once, for a daily limit.

    >>> block_size(1000), block_size(30)
    (20, 1)
    """
    return max(1, limit // BLOCKS)


# -- calls -------------------------------------------------------------------------


def take(txn: WriteTransaction, account: str, limit: int, now: datetime) -> TakeResult:
    """Take one call from the balance, or refuse the call if the edge knows that the limit is reached.

    The meter of the result is None if neither is possible; the centre must then lend a block of calls. `low` asks to
    borrow the next block soon.
    """
    today = day(now)
    key = row_format.join(row_format.BALANCE, today.key, account)
    used, last_use, blocks = row_format.unpack_balance(txn.get(key))
    left = _calls_left(blocks)
    # `used` includes the calls left in the blocks, which nobody has made yet: `used - left` calls were made.
    if left and used - left < limit:
        txn.put(key, row_format.pack_balance(used, _unix_second(now), _use_one_call(blocks)))
        meter = Meter("appels_jour", limit, used - left + 1, True, today.end)
        size = block_size(limit)
        # Low: a quarter of a block is left at most, and the centre still has a complete block to lend.
        return TakeResult(meter, low=left - 1 <= size // 4 and limit - used >= size)
    # The centre replied "no calls left" less than REFUSED_S ago.
    if used - left >= limit and abs(_unix_second(now) - last_use) < REFUSED_S:
        return TakeResult(Meter("appels_jour", limit, used - left, False, today.end), low=False)
    return TakeResult(None, low=True)


def give_back(txn: WriteTransaction, account: str, counted_at: datetime) -> None:
    """Undo a call whose response failed; the call is lost if its block was given back meanwhile."""
    key = row_format.join(row_format.BALANCE, day(counted_at).key, account)
    used, last_use, blocks = row_format.unpack_balance(txn.get(key))
    if blocks:
        (name, left), *later_blocks = blocks
        blocks = [(name, left + 1), *later_blocks]
        txn.put(key, row_format.pack_balance(max(used, _calls_left(blocks)), last_use, blocks))


def calls(txn: ReadTransaction, account: str, limit: int, now: datetime) -> Meter | None:
    """The calls of the day as far as this edge knows; None if it has no balance."""
    today = day(now)
    stored = txn.get(row_format.join(row_format.BALANCE, today.key, account))
    if stored is None:
        return None
    used, _, blocks = row_format.unpack_balance(stored)
    granted = used - _calls_left(blocks)
    return Meter("appels_jour", limit, granted, granted < limit, today.end)


def _calls_left(blocks: CallBlocks) -> int:
    """The calls that can still be granted from these blocks."""
    return sum(left for _, left in blocks)


def _use_one_call(blocks: CallBlocks) -> CallBlocks:
    """The blocks after one call is taken from the first block.

    An empty block is removed, except the last block: a call that is given back needs a block.
    """
    (name, left), *later_blocks = blocks
    return later_blocks if left == 1 and later_blocks else [(name, left - 1), *later_blocks]


# -- moves -------------------------------------------------------------------------


def next_move(txn: WriteTransaction, account: str, name: str, limit: int, today: Period) -> Move:
    """The move that requests a block: a stored move without a reply, or a new move with this `name`."""
    unanswered = [move for move in _stored_moves(txn, f"{today.key}/{account}/") if move.calls > 0]
    if unanswered:
        return unanswered[0]
    move = Move(today.key, account, name, block_size(limit), limit)
    txn.put(_move_key(move), row_format.pack_move(move.calls, limit))
    return move


def apply_reply(txn: WriteTransaction, move: Move, moved: int, used: int, now: datetime) -> None:
    """Apply the reply of the centre to a move, once per move; a further reply to the same move changes nothing.

    Args:
        moved: the calls that the centre lent, or took back (negative).
        used: the calls that the centre counts as used on that day.
    """
    if txn.get(_move_key(move)) is None:
        return
    txn.delete(_move_key(move))
    key = row_format.join(row_format.BALANCE, move.day, move.account)
    stored = txn.get(key)
    _, last_use, blocks = row_format.unpack_balance(stored)
    if move.calls > 0:
        if moved:
            blocks = [*(block for block in blocks if block[1]), (move.name, moved)]
        last_use = _unix_second(now)
    elif stored is None:  # the balance was deleted after the move was stored
        return
    elif not _calls_left(blocks):
        txn.delete(key)  # the edge no longer knows the count: the next request asks the centre
        return
    txn.put(key, row_format.pack_balance(max(used, _calls_left(blocks)), last_use, blocks))


def return_idle_blocks(txn: WriteTransaction, before: datetime, now: datetime) -> None:
    """Store moves that return the blocks of balances of past days, and of balances last used before `before`.

    Such a balance without calls left is deleted.
    """
    today = day(now).key
    for key, stored in list(txn.scan(row_format.BALANCE)):
        used, last_use, blocks = row_format.unpack_balance(stored)
        period, account = key[len(row_format.BALANCE) :].decode().split("/", 1)
        if period >= today and last_use >= _unix_second(before):
            continue
        if not _calls_left(blocks):
            txn.delete(key)
            continue
        for name, left in blocks:
            if left:
                move = Move(period, account, f"{name}{RETURNED}", -left, 0)
                txn.put(_move_key(move), row_format.pack_move(-left, 0))
        txn.put(key, row_format.pack_balance(used - _calls_left(blocks), last_use, []))


def unanswered_moves(txn: ReadTransaction) -> list[Move]:
    """The stored moves: each waits for a reply of the centre."""
    return list(_stored_moves(txn, ""))


def _stored_moves(txn: ReadTransaction, beginning: str) -> Iterator[Move]:
    """The stored moves whose "<day>/<account>/<name>" begins with `beginning`."""
    for key, stored in txn.scan(row_format.join(row_format.MOVING, beginning)):
        period, account, name = key[len(row_format.MOVING) :].decode().split("/")
        yield Move(period, account, name, *row_format.unpack_move(stored))


def _move_key(move: Move) -> bytes:
    """The key of the row of a move."""
    return row_format.join(row_format.MOVING, move.day, move.account, move.name)


# -- keys --------------------------------------------------------------------------


def remember_key(
    txn: WriteTransaction, digest: bytes, account: Account | None, second: int
) -> None:
    """Store the result of looking up a key at the centre at `second` (s since 1970).

    An unknown key (`account` is None) is stored only if an earlier look-up found an account.
    """
    key = row_format.KEY_LOOKUP + digest
    if account is not None or txn.get(key) is not None:
        txn.put(key, row_format.pack_number_and_rest(second, dump(account) if account else b""))


def recall_key(txn: ReadTransaction, digest: bytes) -> tuple[int, Account | None] | None:
    """The second of the last stored look-up of a key at the centre, and the account; None without a look-up."""
    stored = txn.get(row_format.KEY_LOOKUP + digest)
    if stored is None:
        return None
    second, account = row_format.unpack_number_and_rest(stored)
    return second, load_account(account) if account else None


def _unix_second(moment: datetime) -> int:
    """The second since 1970 in which a moment is."""
    return int(moment.timestamp())
