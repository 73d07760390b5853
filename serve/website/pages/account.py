"""/compte: what an organisation may do and has done, its keys, its people's password.

A key is shown in the answer that made it, and never again (A11). Sending that form once more makes
no second key: it says how many keys there were when it was drawn.
"""

from dataclasses import replace
from typing import Any

from quota.accounts import Key, effective, has_tool, subscribed_plan
from quota.errors import NotAllowedError
from quota.ledger import passwords
from serve.access.result import Response
from serve.website import page_errors, sessions
from serve.website.page_request import PageContext, PageRequest, Session
from serve.website.render import page, see_other

_LONGEST_LABEL = 60


async def show(desk: PageContext, visit: PageRequest) -> Response:
    """The account.

    Raises:
        StoreUnavailable
    """
    return await _page(desk, visit, _session(visit))


async def create_key(desk: PageContext, visit: PageRequest) -> Response:
    """One more key, where the plan allows it (§5 rule 6)."""
    session = _session(visit)
    if visit.form.get("connues") != str(len(await desk.store.keys_of(session.account.id))):
        return await _page(desk, visit, session, status=409, news="already")
    return await new_key(desk, visit, visit.form.get("libelle", "").strip()[:_LONGEST_LABEL])


async def new_key(
    desk: PageContext, visit: PageRequest, label: str, *, cookie: str | None = None
) -> Response:
    """Make a key and show it; `cookie` goes with the answer."""
    session = _session(visit)
    try:
        key, text = await desk.accounts.create_key(
            session.account.id, desk.site.plans, visit.now, label=label
        )
    except NotAllowedError:
        return await _page(desk, visit, session, status=409, news="too_many")
    return await _page(desk, visit, session, news="made", made=key, text=text, cookie=cookie)


async def revoke_key(desk: PageContext, visit: PageRequest) -> Response:
    """End a key of this organisation.

    Raises:
        ApiError: 404: it is nobody's, or somebody else's.
    """
    session = _session(visit)
    wanted = visit.form.get("cle", "")
    if wanted not in {key.id for key in await desk.store.keys_of(session.account.id)}:
        raise page_errors.cle_introuvable()
    await desk.accounts.revoke_key(wanted, visit.now)
    return see_other(desk, visit, "/compte#cles")


async def change_password(desk: PageContext, visit: PageRequest) -> Response:
    """Another password: all sessions end, and a new one begins here.

    Raises:
        ApiError: 429, 503.
    """
    session = _session(visit)
    desk.guard.log_in(visit.trace.address, session.person.email, visit.now)
    if not await desk.guard.is_right(visit.form.get("actuel", ""), session.person.password):
        return await _page(desk, visit, session, status=403, news="wrong_password")
    new = visit.form.get("nouveau", "")
    if wrong_password(visit, new):
        return await _page(desk, visit, session, status=422, news="bad_password")
    hashed = await desk.guard.hashed(new)
    person = await desk.accounts.set_password(session.person.id, hashed)
    session, cookie = await sessions.opened(desk, person, visit.now)
    return await _page(desk, visit, session, news="password_changed", cookie=cookie)


def wrong_password(visit: PageRequest, password: str) -> str | None:
    """Why this cannot be a password, or None."""
    if passwords.is_allowed(password):
        return None
    return visit.t(
        f"{passwords.SHORTEST} caractères au moins, pas toujours les mêmes. Une phrase convient.",
        f"At least {passwords.SHORTEST} characters, not always the same. A phrase will do.",
    )


async def _page(
    desk: PageContext,
    visit: PageRequest,
    session: Session,
    *,
    status: int = 200,
    news: str = "",
    made: Key | None = None,
    text: str = "",
    cookie: str | None = None,
) -> Response:
    plans = desk.site.plans
    plan = subscribed_plan(session.account, plans)
    keys = sorted(
        await desk.store.keys_of(session.account.id), key=lambda key: key.created, reverse=True
    )
    active = sum(key.revoked is None for key in keys)
    values: dict[str, Any] = {
        "account": session.account,
        "person": session.person,
        "plan": plan,
        "key_plan": effective(session.account, plans),
        "has_tool": has_tool(session.account, plans),
        "usage": await desk.store.usage(session.account.id, plan, visit.now),
        "keys": keys,
        "active": active,
        "last_used": await desk.accounts.last_used([key.id for key in keys]),
        "news": news,
        "made": made,
        "text": text,
    }
    headers = {"Set-Cookie": cookie} if cookie else {}
    inside = replace(visit, session=session)
    return page(desk, inside, "account.html", status=status, headers=headers, **values)


def _session(visit: PageRequest) -> Session:
    assert visit.session  # serve/website/routes.py: nobody else gets here
    return visit.session
