"""Sessions (contract A12): a signed cookie, and a row of the store.

The cookie is `<person>.<token>.<signature>`. A forged signature is refused before the store is read. The row is deleted
when the session is closed or the person changes the password, so a log-out takes effect at the next request, in every
process.

A second cookie, `appareil`, proves that a person has logged in from this browser before; it gives no rights. The
browser has its own limit of log-ins, so that a person who guesses passwords from many addresses does not lock out the
owner (OWASP, "Slow Down Online Guessing Attacks with Device Cookies").
"""

import re
import secrets
from datetime import datetime, timedelta
from typing import Final

from quota.ledger import account_rows, people
from quota.ledger.people import Person, fold_email
from quota.periods import seconds
from serve.surfaces.site import cookies
from serve.surfaces.site.page_request import PageContext, Session

LASTS: Final = timedelta(days=14)  # the lifetime of a session
# The value of the cookie `session`: the person, the token in hexadecimal, the signature.
_SESSION_COOKIE: Final = re.compile(r"(p_[0-9A-Za-z]{12})\.([0-9a-f]{64})\.([A-Za-z0-9_-]{43})")
_SESSION_PURPOSE: Final = "session"
_TOKEN_BYTES: Final = 32

DEVICE_LASTS: Final = timedelta(days=180)  # the lifetime of the cookie `appareil`
# The value of the cookie `appareil`: the name of the browser, the signature.
_DEVICE_COOKIE: Final = re.compile(r"([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})")
_DEVICE_PURPOSE: Final = "device"


async def find_session(context: PageContext, cookie: str | None, now: datetime) -> Session | None:
    """The open session of a cookie, or None.

    Raises:
        StoreUnavailable
    """
    parts = _SESSION_COOKIE.fullmatch(cookie or "")
    if parts is None or not is_signed(context, cookie):
        return None
    token = bytes.fromhex(parts[2])
    row = await context.ledger.session(parts[1], token, seconds(now))
    return None if row is None else Session(*row, token)


def is_signed(context: PageContext, cookie: str | None) -> bool:
    """Whether this server signed the cookie; its session may be closed. Used by pages while the store is down."""
    parts = _SESSION_COOKIE.fullmatch(cookie or "")
    return parts is not None and context.signer.is_valid(
        parts[3], _SESSION_PURPOSE, f"{parts[1]}.{parts[2]}"
    )


async def begin_session(context: PageContext, person: Person, now: datetime) -> tuple[Session, str]:
    """A new session, and its Set-Cookie header."""
    token = secrets.token_bytes(_TOKEN_BYTES)
    start, end = seconds(now), seconds(now + LASTS)
    await context.ledger.submit(people.open_session, person.id, token, start, end)
    text = f"{person.id}.{token.hex()}"
    value = f"{text}.{context.signer.signature(_SESSION_PURPOSE, text)}"
    lifetime = int(LASTS.total_seconds())
    cookie = cookies.set_cookie(cookies.SESSION, value, lifetime, secure=context.is_secure)
    account = await context.ledger.read(account_rows.account_of, person.account)
    return Session(person, account, token), cookie


async def end_session(context: PageContext, session: Session) -> str:
    """End a session; return the Set-Cookie header that removes it from the browser."""
    await context.ledger.submit(people.close_session, session.person.id, session.token)
    return cookies.set_cookie(cookies.SESSION, "", 0, secure=context.is_secure)


def device(context: PageContext, cookie: str, email: str) -> str | None:
    """The name of the browser in a cookie, if the person with this email address has logged in from this browser."""
    parts = _DEVICE_COOKIE.fullmatch(cookie)
    if parts is None:
        return None
    is_own = context.signer.is_valid(parts[2], _DEVICE_PURPOSE, f"{parts[1]}.{fold_email(email)}")
    return parts[1] if is_own else None


def device_cookie(context: PageContext, person: Person) -> str:
    """The Set-Cookie header that marks a browser for this person."""
    name = secrets.token_urlsafe(16)
    signature = context.signer.signature(_DEVICE_PURPOSE, f"{name}.{fold_email(person.email)}")
    lifetime = int(DEVICE_LASTS.total_seconds())
    return cookies.set_cookie(
        cookies.DEVICE, f"{name}.{signature}", lifetime, secure=context.is_secure
    )
