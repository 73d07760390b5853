"""API keys and passwords: their form, and the digest of a key or hash of a password, which is stored instead.

A key (contract A11) is `soc_live_`, 32 random base62 characters, and the CRC32 of these in 6 characters. 190 random
bits cannot be guessed, so a plain SHA-256 is safe to store. With the checksum a mistyped key is refused without a
look-up, and secret scanners can recognise keys. A key is shown once, when it is created; from then on only its digest
and its last four characters exist.

People choose passwords that can be guessed, so the hash of a password is slow on purpose (argon2id, RFC 9106): 64 MiB
and some tens of milliseconds. The functions that hash must therefore not run on an event loop, and the server limits
the number that run at once (serve/features/account/login_throttle.py).
"""

import hashlib
import re
import unicodedata
import zlib
from collections.abc import Callable
from typing import Final

import argon2

PREFIX: Final = "soc_live_"  # of a key
ADDRESS_PREFIX: Final = "soc_rec_"  # of the token in a reconciliation address
# Base62: its characters need no escape in a header, a path or a form.
ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SECRET_LENGTH: Final = 32  # random characters
CHECK_LENGTH: Final = 6  # characters of the checksum: 62 ** 6 > 2 ** 32
SHOWN_LENGTH: Final = 4  # last characters, which stay visible after the creation of a key

# The prefixes of public identifiers.
KEY_ID: Final = "k_"
ADDRESS_ID: Final = "r_"
ACCOUNT_ID: Final = "a_"
PERSON_ID: Final = "p_"
TICKET_ID: Final = "t_"
_ID_LENGTH: Final = 12  # random characters of a public identifier

_SECRET_AND_CHECKSUM: Final = re.compile(
    rf"([0-9A-Za-z]{{{SECRET_LENGTH}}})([0-9A-Za-z]{{{CHECK_LENGTH}}})"
)

# Returns a random number from 0 to the argument - 1, with equal probabilities: `secrets.randbelow`.
Random = Callable[[int], int]


def make_key(random: Random, prefix: str = PREFIX) -> str:
    """A new key, or with ADDRESS_PREFIX the token of a reconciliation address.

    >>> make_key(lambda below: 0)
    'soc_live_000000000000000000000000000000002wjyrI'
    """
    secret = _random_text(random, SECRET_LENGTH)
    return prefix + secret + _checksum(secret)


def make_id(prefix: str, random: Random) -> str:
    """A public identifier: a prefix (KEY_ID, ADDRESS_ID, ACCOUNT_ID, PERSON_ID, TICKET_ID) and 12 random characters."""
    return prefix + _random_text(random, _ID_LENGTH)


def is_well_formed(key: str, prefix: str = PREFIX) -> bool:
    """Whether the text has the form of a key, with the right checksum."""
    if not key.startswith(prefix):
        return False
    match = _SECRET_AND_CHECKSUM.fullmatch(key, len(prefix))
    return match is not None and match[2] == _checksum(match[1])


def secret_digest(secret: str) -> bytes:
    """The SHA-256 (32 bytes) of a key, a token or the code of a list; the store has it in place of a key or token."""
    return hashlib.sha256(secret.encode()).digest()


def last4(key: str) -> str:
    """The characters of a key that may be shown after its creation."""
    return key[-SHOWN_LENGTH:]


def sealed_name(token: str, session: bytes) -> bytes:
    """The name under which a sealed key of a session is stored: a hash, which does not reveal the token."""
    return hashlib.sha256(b"name" + token.encode() + session).digest()


def seal_or_open(token: str, session: bytes, text: bytes) -> bytes:
    """Encrypt a text, or decrypt an encrypted text: XOR with SHAKE-256 of the token, which is random and used once."""
    pad = hashlib.shake_256(b"seal" + token.encode() + session).digest(len(text))
    return bytes(a ^ b for a, b in zip(text, pad, strict=True))


def _random_text(random: Random, count: int) -> str:
    """`count` random characters of ALPHABET."""
    return "".join(ALPHABET[random(len(ALPHABET))] for _ in range(count))


def _checksum(secret: str) -> str:
    """The checksum of a key: the CRC32 of its random characters, in base62."""
    number = zlib.crc32(secret.encode())
    digits = ""
    for _ in range(CHECK_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits


# -- passwords -----------------------------------------------------------------------

# The lengths of a password, in characters. NIST SP 800-63B requires a minimum length and no mix of kinds of characters,
# so no such mix is checked.
SHORTEST_PASSWORD: Final = 10
LONGEST_PASSWORD: Final = 200

# The second choice of RFC 9106 §4: 3 passes over 64 MiB; one lane, because the other cores serve requests.
HASHER: Final = argon2.PasswordHasher(time_cost=3, memory_cost=64 * 1024, parallelism=1)

# The hash of a secret random text. The log-in of an unknown person is compared with this hash, so that it takes as long
# as the log-in of a known person.
NOBODY: Final = (
    "$argon2id$v=19$m=65536,t=3,p=1$"
    "WYpe8MpLVYSxwiI21edYkQ$RaT/vdJKBDpWbw4r7EmMlegjPj31PghoYKrmz3814Ak"
)


def fold_password(password: str) -> str:
    """A password in the Unicode form NFKC, because keyboards differ in how they write accents."""
    return unicodedata.normalize("NFKC", password)


def is_allowed_password(password: str) -> bool:
    """Whether the password has 10 to 200 characters, and more than three different ones.

    >>> [is_allowed_password(text) for text in ("correct cheval", "aaaaaaaaaaaa", "court")]
    [True, False, False]
    """
    text = fold_password(password)
    return SHORTEST_PASSWORD <= len(text) <= LONGEST_PASSWORD and len(set(text)) > 3


def hash_password(password: str) -> str:
    """The hash to store, with its salt and parameters in it."""
    return HASHER.hash(fold_password(password))


def is_right_password(password: str, stored: str | None) -> bool:
    """Whether `stored` is the hash of the password. For None (no such person) the check takes the same time."""
    try:
        HASHER.verify(stored or NOBODY, fold_password(password))
    except argon2.exceptions.VerificationError:
        return False
    return stored is not None
