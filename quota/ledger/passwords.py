"""Passwords as argon2id keeps them (RFC 9106), and what a password must be.

Slow on purpose: 64 MiB and some tens of milliseconds each. So nothing here is called on an event
loop, and the server bounds how many run at once (serve/website/login_throttle.py).
"""

import unicodedata
from typing import Final

import argon2

SHORTEST: Final = (
    10  # characters; NIST SP 800-63B asks for a length, and for no kinds of characters
)
LONGEST: Final = 200

# The second choice of RFC 9106 §4: 3 passes over 64 MiB; one lane, since the cores have other work.
HASHER: Final = argon2.PasswordHasher(time_cost=3, memory_cost=64 * 1024, parallelism=1)

# The hash of a text that nobody knows, to be looked at where there is no person.
NOBODY: Final = (
    "$argon2id$v=19$m=65536,t=3,p=1$"
    "WYpe8MpLVYSxwiI21edYkQ$RaT/vdJKBDpWbw4r7EmMlegjPj31PghoYKrmz3814Ak"
)


def folded(password: str) -> str:
    """A password in one Unicode form: keyboards differ in how they write accents."""
    return unicodedata.normalize("NFKC", password)


def is_allowed(password: str) -> bool:
    """Is it neither too short nor too long, and not one character repeated?

    >>> is_allowed("correct cheval"), is_allowed("aaaaaaaaaaaa"), is_allowed("court")
    (True, False, False)
    """
    text = folded(password)
    return SHORTEST <= len(text) <= LONGEST and len(set(text)) > 3


def hashed(password: str) -> str:
    return HASHER.hash(folded(password))


def is_right(password: str, stored: str | None) -> bool:
    """Is this the password whose hash is stored? None, for nobody, is refused as slowly."""
    try:
        HASHER.verify(stored or NOBODY, folded(password))
    except argon2.exceptions.VerificationError:
        return False
    return stored is not None
