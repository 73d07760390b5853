"""Sessions (contract A12): a signed cookie, and a row of the store that can end the session.

The cookie is `<person>.<token>.<signature>`. A forged signature is refused before the store is asked. A
session that was closed, or whose person has changed the password since, has no row. So a log-out takes
effect at the next request, in every process.

A second cookie, `appareil`, proves that somebody has logged in from this browser before; it opens nothing.
It keeps a place for that browser in the limits of log-ins, so whoever tries passwords of an account from
everywhere does not lock its owner out (OWASP, "Slow Down Online Guessing Attacks with Device Cookies").
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

LASTS: Final = timedelta(days=14)
_SHAPE: Final = re.compile(r"(p_[0-9A-Za-z]{12})\.([0-9a-f]{64})\.([A-Za-z0-9_-]{43})")
_PURPOSE: Final = "session"
_BYTES: Final = 32

DEVICE_LASTS: Final = timedelta(days=180)
_DEVICE: Final = re.compile(r"([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})")
_DEVICE_PURPOSE: Final = "device"


async def find_session(context: PageContext, cookie: str | None, now: datetime) -> Session | None:
    """The session of a cookie, or None if the cookie is not that of an open session.

    Raises:
        StoreUnavailable
    """
    shape = _SHAPE.fullmatch(cookie or "")
    if shape is None or not is_signed(context, cookie):
        return None
    token = bytes.fromhex(shape[2])
    found = await context.ledger.session(shape[1], token, seconds(now))
    return None if found is None else Session(*found, token)


def is_signed(context: PageContext, cookie: str | None) -> bool:
    """Whether a cookie is one of ours, whatever became of its session; for pages while the store does not answer."""
    shape = _SHAPE.fullmatch(cookie or "")
    return shape is not None and context.signer.is_valid(
        shape[3], _PURPOSE, f"{shape[1]}.{shape[2]}"
    )


async def begin_session(context: PageContext, person: Person, now: datetime) -> tuple[Session, str]:
    """A new session, and the Set-Cookie header that gives it to the browser."""
    token = secrets.token_bytes(_BYTES)
    start, end = seconds(now), seconds(now + LASTS)
    await context.ledger.submit(people.open_session, person.id, token, start, end)
    text = f"{person.id}.{token.hex()}"
    value = f"{text}.{context.signer.signature(_PURPOSE, text)}"
    lifetime = int(LASTS.total_seconds())
    cookie = cookies.set_cookie(cookies.SESSION, value, lifetime, secure=context.is_secure)
    account = await context.ledger.read(account_rows.account_of, person.account)
    return Session(person, account, token), cookie


async def end_session(context: PageContext, session: Session) -> str:
    """End a session; return the Set-Cookie header that removes it from the browser."""
    await context.ledger.submit(people.close_session, session.person.id, session.token)
    return cookies.set_cookie(cookies.SESSION, "", 0, secure=context.is_secure)


def device(context: PageContext, cookie: str, email: str) -> str | None:
    """The name of the browser of a cookie, if a person with this address has logged in from it."""
    shape = _DEVICE.fullmatch(cookie)
    if shape is None:
        return None
    proves = context.signer.is_valid(shape[2], _DEVICE_PURPOSE, f"{shape[1]}.{fold_email(email)}")
    return shape[1] if proves else None


def device_cookie(context: PageContext, person: Person) -> str:
    """The Set-Cookie header by which a browser is known for this person."""
    name = secrets.token_urlsafe(16)
    signature = context.signer.signature(_DEVICE_PURPOSE, f"{name}.{fold_email(person.email)}")
    lifetime = int(DEVICE_LASTS.total_seconds())
    return cookies.set_cookie(
        cookies.DEVICE, f"{name}.{signature}", lifetime, secure=context.is_secure
    )
