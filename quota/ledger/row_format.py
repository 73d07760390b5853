"""The bytes of the quota store: every key and value (quota/README.md), and the transaction that reads and writes them.

A key is text with `/` between its parts, so that a prefix is a table, an account or a period; only
digests are raw bytes. In the keys of counters and charges the period comes first. The rows of today
then lie on neighbouring pages, so that a commit writes few of them, and the rows of an old period
are one range to delete. Numbers are unsigned, 8 bytes, big-endian. A change here is a new VERSION.

During a transaction of the ledger no other one writes. Three implementations exist: over LMDB (`store/lmdb_store.py`),
over Redis (`redis/transaction.py`), and over a dict, in the tests of the ledger.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import orjson


class ReadTransaction(Protocol):
    """A consistent view of the store."""

    def get(self, key: bytes, /) -> bytes | None: ...

    def expect(self, keys: Sequence[bytes], /) -> object:
        """Name rows that will be read: a store at a distance fetches them in one round trip.

        A key without its last part names all rows that begin with it (`o/<account>/`), and the
        tables after it the rows of theirs that those name (`k/`, `l/`).
        """

    def scan(self, prefix: bytes, /) -> Iterable[tuple[bytes, bytes]]:
        """The rows whose key begins with `prefix`, in ascending order of the keys."""
        ...


class WriteTransaction(ReadTransaction, Protocol):
    """A view that can be changed; all changes are kept, or none."""

    def put(self, key: bytes, value: bytes, /) -> object: ...

    def delete(self, key: bytes, /) -> object: ...


VERSION: Final = b"2"
UNINDEXED: Final = b"1"  # the version without the rows that `upkeep.migrate` adds

FORMAT: Final = b"format"  # -> VERSION
IDENTITY: Final = b"identity"  # -> the random name of a store of several hosts
FLOOR: Final = b"floor"  # -> the first month that is kept ("2025-10")
ACCOUNT: Final = b"a/"  # a/<account> -> JSON of an Account
KEY: Final = b"k/"  # k/<SHA-256, 32 bytes> -> JSON of a Key
KEY_ID: Final = b"i/"  # i/<key id> -> SHA-256
KEY_OF: Final = b"o/"  # o/<account>/<key id> -> SHA-256
ADDRESS: Final = b"v/"  # v/<SHA-256, 32 bytes> -> JSON of a Key: a reconciliation address
ADDRESS_OF: Final = b"x/"  # x/<account>/<address id> -> SHA-256; i/<address id> is as of a key
PACKS: Final = b"p/"  # p/<account> -> credits of packs: bought, spent
RESERVED: Final = b"r/"  # r/<account>/<reservation> -> expiry (ms since 1970), month ("2026-11")
CALLS: Final = b"d/"  # d/<day>/<account> -> calls
EXPORTS: Final = b"e/"  # e/<month>/<account> -> exports
LAST_EXPORTS: Final = b"E/"  # E/<account> -> JSON list of the last exports, the newest first
GRANT: Final = b"g/"  # g/<month>/<account> -> credits of the grant used
# At a centre with edges: the calls that a move took for an edge, or gave back (-n), as text.
# m/<day>/<account>/<process> -> the last move of this process that got no calls
MOVES: Final = b"m/"  # m/<day>/<account>/<move> -> calls
PERSON: Final = b"u/"  # u/<person> -> JSON of a Person
EMAIL: Final = b"w/"  # w/<SHA-256 of the address, 32 bytes> -> person
SESSION: Final = b"s/"  # s/<person>/<SHA-256 of the token, hex> -> expiry (s since 1970)
LAST: Final = b"l/"  # l/<key id> -> day of its last use ("2026-11-21")
PAYMENT: Final = b"y/"  # y/<account>/<id at Stripe> -> JSON of a Payment
PAID: Final = b"z/"  # z/<id at Stripe> -> states of it that were stored
UNAPPLIED: Final = b"Z/"  # Z/<id at Stripe> -> JSON of an Unapplied: paid for, and without effect
KEY_CALLS: Final = b"D/"  # D/<account>/<day>/<key id> -> calls, added every minute
SEALED: Final = b"f/"  # f/<SHA-256 of a token, 32 bytes> -> expiry (s since 1970), a sealed key
MEMBER_OF: Final = b"U/"  # U/<account>/<person> -> 1
TICKET: Final = b"j/"  # j/<ticket> -> JSON of a Ticket: an invitation, or another password
# T/<account>/<person, or SHA-256 of the address that is invited, hex> -> ticket
TICKET_OF: Final = b"T/"
TOKEN: Final = b"h/"  # h/<SHA-256 of a token, 32 bytes> -> ticket/<end of the link, s since 1970>
AGENDA: Final = b"J/"  # J/<kind><hour>/<s since 1970>/<name> -> 1 (`agenda.py`)
AGENDA_FROM: Final = b"agenda/"  # agenda/<kind> -> the first hour with entries
CHARGE: Final = b"c/"  # c/<month>/<account>/<ISO2>/<id> -> cost: from the grant, from packs
# c/<month>/<account>/<module>/<subject> -> the same, of an analysis
# The last of them, the newest first, as lines: second of the charge, credits, <ISO2>/<id>
OPENED: Final = b"C/"  # C/<month>/<account> -> lines
TRIALS: Final = b"t/"  # t/<month>/<account> -> analyses that were tried
MATCHED: Final = b"M/"  # M/<account> -> digests of companies that it matched, the newest last
LIST: Final = b"L/"  # L/<list> -> JSON of a MatchedList
LIST_OF: Final = b"O/"  # O/<account>/<list> -> 1
# N/<list>/table -> how the list was read, N/<list>/<chunk> -> lines: bytes that only the pages read
LIST_LINES: Final = b"N/"
LIST_MARKS: Final = (
    b"Q/"  # Q/<list> -> of each line the letter of its verdict, the chosen candidate
)
VISITOR_LISTS: Final = b"visitor lists"  # -> how many lists visitors have

# At an edge: calls counted at the centre, second of the last use, blocks with the calls left in each.
BALANCE: Final = b"b/"  # b/<day>/<account> -> JSON: used, second, [name, left] of each block
MOVING: Final = b"q/"  # q/<day>/<account>/<move> -> calls requested or given back (-n), limit
KNOWN: Final = b"n/"  # n/<SHA-256> -> second of the last look-up, JSON of the account if any

# Tables with a period in their keys; `compact` never deletes rows of the others.
PERIODIC: Final = (CALLS, EXPORTS, GRANT, CHARGE, OPENED, TRIALS, MOVES)

MAX_KEY: Final = 511  # of LMDB

_NUMBER: Final = struct.Struct(">Q")
_PAIR: Final = struct.Struct(">QQ")
_MOVE: Final = struct.Struct(">qQ")


def join(table: bytes, *parts: str) -> bytes:
    """The key of a row: its table, then its parts."""
    return table + "/".join(parts).encode()


def number(stored: bytes | None) -> int:
    """A counter; 0 if it was never written."""
    return 0 if stored is None else int.from_bytes(stored, "big")


def pack(value: int) -> bytes:
    return _NUMBER.pack(value)


def pair(stored: bytes | None) -> tuple[int, int]:
    """Two numbers; (0, 0) if they were never written."""
    if stored is None:
        return 0, 0
    first, second = _PAIR.unpack(stored)
    return first, second


def pack_pair(first: int, second: int) -> bytes:
    return _PAIR.pack(first, second)


def numbers(stored: bytes | None) -> tuple[int, ...]:
    """A list of numbers; none if it was never written."""
    return struct.unpack(f">{len(stored or b'') // _NUMBER.size}Q", stored or b"")


def pack_numbers(values: Sequence[int]) -> bytes:
    return struct.pack(f">{len(values)}Q", *values)


def hold(stored: bytes) -> tuple[int, str]:
    """The expiry (ms since 1970) and the month of a reservation."""
    return number(stored[: _NUMBER.size]), stored[_NUMBER.size :].decode()


def pack_hold(expires: int, month: str) -> bytes:
    return _NUMBER.pack(expires) + month.encode()


def balance(stored: bytes | None) -> tuple[int, int, list[tuple[str, int]]]:
    """Calls counted at the centre, second of the last use, names of blocks with the calls left in each."""
    if stored is None or not stored.startswith(b"["):  # none, or of a version without names
        return 0, 0, []
    used, second, blocks = orjson.loads(stored)
    return used, second, [(name, left) for name, left in blocks]


def pack_balance(used: int, second: int, blocks: Sequence[tuple[str, int]]) -> bytes:
    return orjson.dumps([used, second, blocks])


def move(stored: bytes) -> tuple[int, int]:
    """The calls of a move, negative if given back, and the limit of its request."""
    calls, limit = _MOVE.unpack(stored)
    return calls, limit


def pack_move(calls: int, limit: int) -> bytes:
    return _MOVE.pack(calls, limit)


def read_last_used(stored: bytes) -> tuple[int, bytes]:
    """The second of the last look-up of a key, and the JSON of its account, b"" for none."""
    return number(stored[: _NUMBER.size]), stored[_NUMBER.size :]


def pack_known(second: int, account: bytes) -> bytes:
    return _NUMBER.pack(second) + account
