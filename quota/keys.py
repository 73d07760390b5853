"""API keys (contract A11): `soc_live_`, 32 random base62 characters, 6 of their CRC32.

190 bits of chance cannot be guessed, so that a plain SHA-256 is enough to keep them by: there is no
password here to be found by trial. The checksum lets a typing mistake be refused before the store
is asked, and lets secret scanners tell a key from a text that looks like one. A key is seen once,
when it is made; after that only its digest and its last four characters exist.
"""

import hashlib
import re
import zlib
from collections.abc import Callable
from typing import Final

PREFIX: Final = "soc_live_"
ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SECRET: Final = 32
CHECK: Final = 6  # 62 ** 6 > 2 ** 32
LENGTH: Final = len(PREFIX) + SECRET + CHECK
SHOWN: Final = 4

KEY_ID: Final = "k_"
ACCOUNT_ID: Final = "a_"
PERSON_ID: Final = "p_"
_ID: Final = 12

_SHAPE: Final = re.compile(rf"{PREFIX}([0-9A-Za-z]{{{SECRET}}})([0-9A-Za-z]{{{CHECK}}})")

# A number below the one that is given, each as likely as another: `secrets.randbelow`.
Random = Callable[[int], int]


def make(random: Random) -> str:
    """A new key.

    >>> make(lambda below: 0)
    'soc_live_000000000000000000000000000000002wjyrI'
    """
    secret = _draw(random, SECRET)
    return PREFIX + secret + _check(secret)


def make_id(kind: str, random: Random) -> str:
    """A public identifier: one of the kinds above and 12 characters, drawn apart from any key."""
    return kind + _draw(random, _ID)


def is_well_formed(key: str) -> bool:
    """Could this be a key? Not with any one character changed."""
    found = _SHAPE.fullmatch(key)
    return found is not None and found[2] == _check(found[1])


def digest(key: str) -> bytes:
    """The 32 bytes that a key is known by: its SHA-256."""
    return hashlib.sha256(key.encode()).digest()


def last4(key: str) -> str:
    """What may be shown of a key after it was created."""
    return key[-SHOWN:]


def _draw(random: Random, count: int) -> str:
    return "".join(ALPHABET[random(len(ALPHABET))] for _ in range(count))


def _check(secret: str) -> str:
    number = zlib.crc32(secret.encode())
    digits = ""
    for _ in range(CHECK):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits
