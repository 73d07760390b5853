"""API keys (contract A11): `soc_live_`, 32 random base62 characters, 6 characters of their CRC32.

190 random bits cannot be guessed, so a plain SHA-256 is safe to store; slow hashes are for
passwords, which people choose. With the checksum a mistyped key is refused without a look-up, and
secret scanners can recognise keys. A key is shown once, when it is created; from then on only its
digest and its last four characters exist.
"""

import hashlib
import re
import zlib
from collections.abc import Callable
from typing import Final

PREFIX: Final = "soc_live_"
ADDRESS_PREFIX: Final = "soc_rec_"  # of the token in a reconciliation address
ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SECRET: Final = 32
CHECK: Final = 6  # 62 ** 6 > 2 ** 32
SHOWN: Final = 4

KEY_ID: Final = "k_"
ADDRESS_ID: Final = "r_"
ACCOUNT_ID: Final = "a_"
PERSON_ID: Final = "p_"
TICKET_ID: Final = "t_"
_ID: Final = 12

_SHAPE: Final = re.compile(rf"([0-9A-Za-z]{{{SECRET}}})([0-9A-Za-z]{{{CHECK}}})")

# A random number below the argument, all equally likely: `secrets.randbelow`.
Random = Callable[[int], int]


def make_key(random: Random, prefix: str = PREFIX) -> str:
    """A new key, or with ADDRESS_PREFIX the token of a reconciliation address.

    >>> make(lambda below: 0)
    'soc_live_000000000000000000000000000000002wjyrI'
    """
    secret = _draw(random, SECRET)
    return prefix + secret + _check(secret)


def make_id(kind: str, random: Random) -> str:
    """A public identifier: a prefix (KEY_ID, ADDRESS_ID, ACCOUNT_ID, PERSON_ID, TICKET_ID) and 12 random characters."""
    return kind + _draw(random, _ID)


def is_well_formed(key: str, prefix: str = PREFIX) -> bool:
    """Whether the text has the form of a key; it has not if one character was changed."""
    if not key.startswith(prefix):
        return False
    match = _SHAPE.fullmatch(key, len(prefix))
    return match is not None and match[2] == _check(match[1])


def key_digest(key: str) -> bytes:
    """The SHA-256 of a key (32 bytes), under which it is stored."""
    return hashlib.sha256(key.encode()).digest()


def last4(key: str) -> str:
    """The characters of a key that may be shown after its creation."""
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
