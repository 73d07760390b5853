"""API keys and passwords: the form of each, and its digest or hash, which is all that a store has of it.

A key (contract A11) is `soc_live_`, 32 random base62 characters, and 6 characters of their CRC32. 190 random bits
cannot be guessed, so a plain SHA-256 is safe to store. With the checksum a mistyped key is refused without a look-up,
and secret scanners can recognise keys. A key is shown once, when it is created; from then on only its digest and its
last four characters exist.

Passwords are chosen by people, so their hash is slow on purpose (argon2id, RFC 9106): 64 MiB and some tens of
milliseconds. The functions that hash must therefore not run on an event loop, and the server bounds how many run at
once (serve/features/account/login_throttle.py).
"""

import hashlib
import re
import unicodedata
import zlib
from collections.abc import Callable
from typing import Final

import argon2

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

    >>> make_key(lambda below: 0)
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


def sealed_name(token: str, session: bytes) -> bytes:
    """The name of a key that waits sealed for one session: a hash, from which the key cannot be derived."""
    return hashlib.sha256(b"name" + token.encode() + session).digest()


def seal_or_open(token: str, session: bytes, text: bytes) -> bytes:
    """A text sealed, or a sealed one opened: XORed with SHAKE-256 of the token, which is random and used once."""
    pad = hashlib.shake_256(b"seal" + token.encode() + session).digest(len(text))
    return bytes(a ^ b for a, b in zip(text, pad, strict=True))


def _draw(random: Random, count: int) -> str:
    return "".join(ALPHABET[random(len(ALPHABET))] for _ in range(count))


def _check(secret: str) -> str:
    number = zlib.crc32(secret.encode())
    digits = ""
    for _ in range(CHECK):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits


# -- passwords -----------------------------------------------------------------------

# In characters. NIST SP 800-63B asks for a minimum length, and for no kinds of characters.
SHORTEST_PASSWORD: Final = 10
LONGEST_PASSWORD: Final = 200

# The second choice of RFC 9106 §4: 3 passes over 64 MiB; one lane, since the cores have other work.
HASHER: Final = argon2.PasswordHasher(time_cost=3, memory_cost=64 * 1024, parallelism=1)

# The hash of a text that nobody knows; a log-in of an unknown person is compared with it.
NOBODY: Final = (
    "$argon2id$v=19$m=65536,t=3,p=1$"
    "WYpe8MpLVYSxwiI21edYkQ$RaT/vdJKBDpWbw4r7EmMlegjPj31PghoYKrmz3814Ak"
)


def fold_password(password: str) -> str:
    """A password in the Unicode form NFKC, because keyboards differ in how they write accents."""
    return unicodedata.normalize("NFKC", password)


def is_allowed_password(password: str) -> bool:
    """Whether the password has 10 to 200 characters, more than three of them different.

    >>> [is_allowed_password(text) for text in ("correct cheval", "aaaaaaaaaaaa", "court")]
    [True, False, False]
    """
    text = fold_password(password)
    return SHORTEST_PASSWORD <= len(text) <= LONGEST_PASSWORD and len(set(text)) > 3


def hash_password(password: str) -> str:
    """The hash to store, with its salt and parameters in it."""
    return HASHER.hash(fold_password(password))


def is_right_password(password: str, stored: str | None) -> bool:
    """Whether `stored` is the hash of the password; None (no such person) takes as long."""
    try:
        HASHER.verify(stored or NOBODY, fold_password(password))
    except argon2.exceptions.VerificationError:
        return False
    return stored is not None
