"""Passwords: their argon2id hashes (RFC 9106) and the rule for new ones.

A hash is slow on purpose: 64 MiB and some tens of milliseconds. These functions must therefore not
run on an event loop, and the server bounds how many run at once (serve/features/account/login_throttle.py).
"""

import unicodedata
from typing import Final

import argon2

# In characters. NIST SP 800-63B asks for a minimum length, and for no kinds of characters.
SHORTEST: Final = 10
LONGEST: Final = 200

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


def is_allowed(password: str) -> bool:
    """Whether the password has 10 to 200 characters, more than three of them different.

    >>> is_allowed("correct cheval"), is_allowed("aaaaaaaaaaaa"), is_allowed("court")
    (True, False, False)
    """
    text = fold_password(password)
    return SHORTEST <= len(text) <= LONGEST and len(set(text)) > 3


def hash_password(password: str) -> str:
    """The hash to store, with its salt and parameters in it."""
    return HASHER.hash(fold_password(password))


def is_right(password: str, stored: str | None) -> bool:
    """Whether `stored` is the hash of the password; None (no such person) takes as long."""
    try:
        HASHER.verify(stored or NOBODY, fold_password(password))
    except argon2.exceptions.VerificationError:
        return False
    return stored is not None
