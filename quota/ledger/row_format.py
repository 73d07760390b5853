"""The bytes of the quota store: every key and value (quota/README.md), and the transaction that reads and writes them.

A key is text with `/` between its parts, so that all rows of a table, an account or a period begin with the
same bytes; only digests are raw bytes. In the keys of counters and charges the period comes first. The rows of
today are then on neighbouring pages, so that a commit writes few pages, and the rows of an old period are one
range to delete. Numbers are unsigned, 8 bytes, big-endian, unless the comment of a table names another form. A
change of these formats needs a new VERSION.

Transactions are serializable: over LMDB there is one writer at a time (`store/lmdb_store.py`), and over Redis a
transaction starts again if another writer changed its rows (`redis/transaction.py`). The tests of the ledger
use transactions over a dict.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import orjson


class ReadTransaction(Protocol):
    """A view of the store in which all rows are as they were at one moment."""

    def get(self, key: bytes, /) -> bytes | None:
        """The value of a row; None if there is no row."""
        ...

    def expect(self, keys: Sequence[bytes], /) -> object:
        """Announce rows that will be read, so that a remote store fetches them in one round trip.

        A key without its last part (`o/<account>/`) announces all rows that begin with that key. A table
        (`k/`, `l/`) after such a key announces the rows of the table to which these rows refer.
        """

    def scan(self, prefix: bytes, /) -> Iterable[tuple[bytes, bytes]]:
        """The rows whose key begins with `prefix`, in ascending order of the keys."""
        ...


class WriteTransaction(ReadTransaction, Protocol):
    """A view that can be changed; either all changes are stored, or none."""

    def put(self, key: bytes, value: bytes, /) -> object: ...

    def delete(self, key: bytes, /) -> object: ...


VERSION: Final = b"2"  # of the formats in this file
UNINDEXED: Final = b"1"  # the version before VERSION, without the rows that `upkeep.migrate` adds

FORMAT: Final = b"format"  # -> VERSION
IDENTITY: Final = b"identity"  # -> the random name of a store of several hosts
FLOOR: Final = b"floor"  # -> the first month whose counters are kept ("2025-10")
ACCOUNT: Final = b"a/"  # a/<account> -> JSON of an Account
KEY: Final = b"k/"  # k/<SHA-256, 32 bytes> -> JSON of a Key
KEY_ID: Final = b"i/"  # i/<key id> -> SHA-256
KEY_OF: Final = b"o/"  # o/<account>/<key id> -> SHA-256
ADDRESS: Final = b"v/"  # v/<SHA-256, 32 bytes> -> JSON of a Key: a reconciliation address
ADDRESS_OF: Final = b"x/"  # x/<account>/<address id> -> SHA-256; i/<address id> as for a key
PACKS: Final = b"p/"  # p/<account> -> credits of packs: bought, spent
RESERVED: Final = b"r/"  # r/<account>/<reservation> -> expiry (ms since 1970), month ("2026-11")
CALLS: Final = b"d/"  # d/<day>/<account> -> calls
EXPORTS: Final = b"e/"  # e/<month>/<account> -> exports
LAST_EXPORTS: Final = b"E/"  # E/<account> -> JSON list of the last exports, the newest first
GRANT: Final = b"g/"  # g/<month>/<account> -> credits of the grant used
# At a centre with edges: the calls that a move (`edge/leases.py`) lent to an edge, or took back (-n), as text.
# m/<day>/<account>/<process> -> the name of the last move of this process of an edge that moved no calls
MOVES: Final = b"m/"  # m/<day>/<account>/<move> -> calls
PERSON: Final = b"u/"  # u/<person> -> JSON of a Person
EMAIL: Final = b"w/"  # w/<SHA-256 of the address, 32 bytes> -> person
SESSION: Final = b"s/"  # s/<person>/<SHA-256 of the token, hex> -> expiry (s since 1970)
LAST: Final = b"l/"  # l/<key id> -> day of its last use ("2026-11-21")
PAYMENT: Final = b"y/"  # y/<account>/<id at Stripe> -> JSON of a Payment
PAID: Final = b"z/"  # z/<id at Stripe> -> the number of its states that were stored
# Z/<id at Stripe> -> JSON of an UnappliedPayment: paid, without effect yet
UNAPPLIED: Final = b"Z/"
KEY_CALLS: Final = b"D/"  # D/<account>/<day>/<key id> -> calls, added every minute
SEALED: Final = b"f/"  # f/<SHA-256 of a token, 32 bytes> -> expiry (s since 1970), a sealed key
MEMBER_OF: Final = b"U/"  # U/<account>/<person> -> 1
# j/<ticket> -> JSON of a Ticket: an invitation, a new password, a confirmation
TICKET: Final = b"j/"
# T/<account>/<person, person.confirmation, or SHA-256 of the invited address, hex> -> ticket
TICKET_OF: Final = b"T/"
TOKEN: Final = b"h/"  # h/<SHA-256 of a token, 32 bytes> -> ticket/<end of the link, s since 1970>
AGENDA: Final = b"J/"  # J/<kind><hour>/<s since 1970>/<name> -> 1 (`agenda.py`)
AGENDA_FROM: Final = b"agenda/"  # agenda/<kind> -> the first hour with entries
CHARGE: Final = b"c/"  # c/<month>/<account>/<ISO2>/<id> -> cost: from the grant, from packs
# c/<month>/<account>/<module>/<subject> -> the same, for an analysis
# The last charges, the newest first, a line each: second of the charge, credits, <ISO2>/<id>
OPENED: Final = b"C/"  # C/<month>/<account> -> lines
TRIALS: Final = b"t/"  # t/<month>/<account> -> analyses on trial
MATCHED: Final = b"M/"  # M/<account> -> digests of the companies that it matched, the newest last
LIST: Final = b"L/"  # L/<list> -> JSON of a MatchedList
LIST_OF: Final = b"O/"  # O/<account>/<list> -> 1
# N/<list>/table -> how the list was parsed, N/<list>/<chunk> -> lines: bytes that only the pages read
LIST_LINES: Final = b"N/"
# Q/<list> -> for each line the letter of its verdict and the chosen candidate
LIST_MARKS: Final = b"Q/"
VISITOR_LISTS: Final = b"visitor lists"  # -> the number of lists of visitors

# Rows of an edge (`edge/leases.py`); `unpack_balance` explains the values of a balance.
BALANCE: Final = b"b/"  # b/<day>/<account> -> JSON: [used, second, [[name, left] of each block]]
MOVING: Final = b"q/"  # q/<day>/<account>/<move> -> calls requested or given back (-n), limit
KEY_LOOKUP: Final = b"n/"  # n/<SHA-256> -> second of the last look-up, JSON of the account if any

# Tables with a period in their keys. `compact` deletes rows of these tables, and otherwise only matched lists.
PERIODIC: Final = (CALLS, EXPORTS, GRANT, CHARGE, OPENED, TRIALS, MOVES)

MAX_KEY: Final = 511  # bytes: the longest key that LMDB accepts

# Numbers are unsigned and big-endian; the calls of a move can be negative.
_NUMBER: Final = struct.Struct(">Q")
_PAIR: Final = struct.Struct(">QQ")
_MOVE: Final = struct.Struct(">qQ")


def join(table: bytes, *parts: str) -> bytes:
    """The key of a row: its table, then its parts."""
    return table + "/".join(parts).encode()


# Each `pack_…` function is the inverse of the `unpack_…` function before it.


def unpack_number(stored: bytes | None) -> int:
    """The number in a row; 0 if there is no row."""
    return 0 if stored is None else int.from_bytes(stored, "big")


def pack_number(value: int) -> bytes:
    """The value of a row with one number (see `unpack_number`)."""
    return _NUMBER.pack(value)


def unpack_pair(stored: bytes | None) -> tuple[int, int]:
    """The two numbers in a row; (0, 0) if there is no row."""
    if stored is None:
        return 0, 0
    first, second = _PAIR.unpack(stored)
    return first, second


def pack_pair(first: int, second: int) -> bytes:
    """The value of a row with two numbers (see `unpack_pair`)."""
    return _PAIR.pack(first, second)


def unpack_numbers(stored: bytes | None) -> tuple[int, ...]:
    """The numbers in a row; none if there is no row."""
    return struct.unpack(f">{len(stored or b'') // _NUMBER.size}Q", stored or b"")


def pack_numbers(values: Sequence[int]) -> bytes:
    """The value of a row with any number of numbers (see `unpack_numbers`)."""
    return struct.pack(f">{len(values)}Q", *values)


def unpack_reservation(stored: bytes) -> tuple[int, str]:
    """The expiry (ms since 1970) and the month of a reservation."""
    return unpack_number(stored[: _NUMBER.size]), stored[_NUMBER.size :].decode()


def pack_reservation(expires: int, month: str) -> bytes:
    """The value of a row of RESERVED: the expiry (ms since 1970) and the month."""
    return _NUMBER.pack(expires) + month.encode()


def unpack_balance(stored: bytes | None) -> tuple[int, int, list[tuple[str, int]]]:
    """The balance of an edge; (0, 0, []) if there is no row.

    Returns:
        The calls that the centre counts as used, the second (since 1970) of the last call or of the last reply
        to a request for calls, and the name of each block with the calls left in it.
    """
    # Rows of an older version, which do not begin with "[", count as absent, because their blocks have no names.
    if stored is None or not stored.startswith(b"["):
        return 0, 0, []
    used, second, blocks = orjson.loads(stored)
    return used, second, [(name, left) for name, left in blocks]


def pack_balance(used: int, second: int, blocks: Sequence[tuple[str, int]]) -> bytes:
    """The value of a row of BALANCE, with the values that `unpack_balance` returns."""
    return orjson.dumps([used, second, blocks])


def unpack_move(stored: bytes) -> tuple[int, int]:
    """The calls of a move of an edge (negative: returned to the centre), and the daily limit of the account."""
    calls, limit = _MOVE.unpack(stored)
    return calls, limit


def pack_move(calls: int, limit: int) -> bytes:
    """The value of a row of MOVING: the calls (negative: returned) and the daily limit of the account."""
    return _MOVE.pack(calls, limit)


def unpack_number_and_rest(stored: bytes) -> tuple[int, bytes]:
    """The number at the beginning of a value, and the bytes after the number.

    Rows `n/` contain the second of the last look-up, and JSON or b""; rows `f/` the expiry, and the sealed key.
    """
    return unpack_number(stored[: _NUMBER.size]), stored[_NUMBER.size :]


def pack_number_and_rest(value: int, rest: bytes) -> bytes:
    """The value of a row with a number and other bytes (see `unpack_number_and_rest`)."""
    return _NUMBER.pack(value) + rest
