"""The bytes of the quota store: every key and value of its one LMDB database (ARCHITECTURE.md).

A key is text with `/` between its parts, so that a prefix is a table, an account or a period;
only a key's digest is raw bytes. Counters and charges have the period first: those of today lie on
neighbouring pages, which is what a commit has to write, and an old period is one stretch to delete.
Numbers are unsigned, 8 bytes, big-endian. A change here is a new VERSION.
"""

import struct
from typing import Final

VERSION: Final = b"1"

FORMAT: Final = b"format"  # -> VERSION
FLOOR: Final = b"floor"  # -> month before which nothing is kept any more ("2025-10")
ACCOUNT: Final = b"a/"  # a/<account> -> JSON of an Account
KEY: Final = b"k/"  # k/<SHA-256, 32 bytes> -> JSON of a Key
KEY_ID: Final = b"i/"  # i/<key id> -> SHA-256
KEY_OF: Final = b"o/"  # o/<account>/<key id> -> SHA-256
PACKS: Final = b"p/"  # p/<account> -> credits of packs: bought, spent
RESERVED: Final = b"r/"  # r/<account>/<reservation> -> expiry (ms since 1970), month ("2026-11")
CALLS: Final = b"d/"  # d/<day>/<account> -> calls
EXPORTS: Final = b"e/"  # e/<month>/<account> -> exports
GRANT: Final = b"g/"  # g/<month>/<account> -> credits of the grant used
# Only with edges, at the centre: calls that a move took for an edge, or gave back (-n).
MOVES: Final = (
    b"m/"  # m/<day>/<account>/<move> -> calls, as text (or, by a process, the move that got none)
)
PERSON: Final = b"u/"  # u/<person> -> JSON of a Person
EMAIL: Final = b"w/"  # w/<SHA-256 of the address, 32 bytes> -> person
SESSION: Final = b"s/"  # s/<person>/<SHA-256 of the token, hex> -> expiry (s since 1970)
LAST: Final = b"l/"  # l/<key id> -> day of its last use ("2026-11-21")
CHARGE: Final = b"c/"  # c/<month>/<account>/<ISO2>/<id> -> cost: from the grant, from packs

# At an edge: calls that it may still grant, what the centre counted, when they were last used.
BALANCE: Final = b"b/"  # b/<day>/<account> -> left, used, second
MOVING: Final = b"q/"  # q/<day>/<account>/<move> -> calls asked for, or given back (-n), and limit
KNOWN: Final = b"n/"  # n/<SHA-256> -> second at which it was asked, JSON of the account if any

# Tables whose second part is a period; the rest is kept for ever.
PERIODIC: Final = (CALLS, EXPORTS, GRANT, CHARGE, MOVES)

MAX_KEY: Final = 511  # of LMDB

_NUMBER: Final = struct.Struct(">Q")
_PAIR: Final = struct.Struct(">QQ")
_TRIPLE: Final = struct.Struct(">QQQ")
_MOVE: Final = struct.Struct(">qQ")


def join(table: bytes, *parts: str) -> bytes:
    """The key of a row: its table, then its parts."""
    return table + "/".join(parts).encode()


def number(stored: bytes | None) -> int:
    """A counter; one that was never written is 0."""
    return 0 if stored is None else int.from_bytes(stored, "big")


def pack(value: int) -> bytes:
    return _NUMBER.pack(value)


def pair(stored: bytes | None) -> tuple[int, int]:
    """Two numbers; (0, 0) where none were written."""
    if stored is None:
        return 0, 0
    first, second = _PAIR.unpack(stored)
    return first, second


def pack_pair(first: int, second: int) -> bytes:
    return _PAIR.pack(first, second)


def hold(stored: bytes) -> tuple[int, str]:
    """The expiry and the month of a reservation."""
    return number(stored[: _NUMBER.size]), stored[_NUMBER.size :].decode()


def pack_hold(expires: int, month: str) -> bytes:
    return _NUMBER.pack(expires) + month.encode()


def triple(stored: bytes | None) -> tuple[int, int, int]:
    """Three numbers; zeros where none were written."""
    return (0, 0, 0) if stored is None else _TRIPLE.unpack(stored)


def pack_triple(first: int, second: int, third: int) -> bytes:
    return _TRIPLE.pack(first, second, third)


def move(stored: bytes) -> tuple[int, int]:
    """The calls of a move, which may be negative, and the limit that it was asked with."""
    calls, limit = _MOVE.unpack(stored)
    return calls, limit


def pack_move(calls: int, limit: int) -> bytes:
    return _MOVE.pack(calls, limit)


def known(stored: bytes) -> tuple[int, bytes]:
    """When a key was asked about, and the account it leads to; empty: to none."""
    return number(stored[: _NUMBER.size]), stored[_NUMBER.size :]


def pack_known(second: int, account: bytes) -> bytes:
    return _NUMBER.pack(second) + account
