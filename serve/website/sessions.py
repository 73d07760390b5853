"""Who is logged in (contract A12): a signed cookie, and a row of the store that can end it.

The cookie is `<person>.<token>.<seal>`. A seal that is not ours is refused before the store is
asked; a session that was closed, or whose person has another password since, is in no row. So a
log-out counts at the next request, in every process.
"""

import re
import secrets
from datetime import datetime, timedelta
from typing import Final

from quota.ledger.people import Person
from serve.website import cookies
from serve.website.page_request import PageContext, Session

LASTS: Final = timedelta(days=14)
_SHAPE: Final = re.compile(r"(p_[0-9A-Za-z]{12})\.([0-9a-f]{64})\.([A-Za-z0-9_-]{43})")
_PURPOSE: Final = "session"
_BYTES: Final = 32


async def current(desk: PageContext, cookie: str | None, now: datetime) -> Session | None:
    """The session of a request, or None for whatever is none.

    Raises:
        StoreUnavailable
    """
    shape = _SHAPE.fullmatch(cookie or "")
    if shape is None or not desk.seals.is_of(shape[3], _PURPOSE, f"{shape[1]}.{shape[2]}"):
        return None
    token = bytes.fromhex(shape[2])
    person = await desk.accounts.in_session(shape[1], token, now)
    if person is None:
        return None
    return Session(person, await desk.accounts.get(person.account), token)


async def opened(desk: PageContext, person: Person, now: datetime) -> tuple[Session, str]:
    """A new session, and the header that gives it to the browser."""
    token = secrets.token_bytes(_BYTES)
    await desk.accounts.open_session(person.id, token, now, now + LASTS)
    text = f"{person.id}.{token.hex()}"
    value = f"{text}.{desk.seals.of(_PURPOSE, text)}"
    cookie = cookies.written(cookies.SESSION, value, int(LASTS.total_seconds()), secure=desk.secure)
    return Session(person, await desk.accounts.get(person.account), token), cookie


async def closed(desk: PageContext, session: Session) -> str:
    """End it; the header that takes it from the browser."""
    await desk.accounts.close_session(session.person.id, session.token)
    return cookies.written(cookies.SESSION, "", 0, secure=desk.secure)
