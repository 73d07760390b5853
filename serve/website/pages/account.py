"""/compte: the plan of an organisation, its usage, its keys, and the password of the person.

A key, or a reconciliation address, is shown in the response that made it, and never again (A11). Reloading
that page makes no second one: the form contains their number at the time it was drawn.
"""

from dataclasses import dataclass, replace
from typing import Final

from quota.accounts import Key, effective, has_tool, subscribed_plan
from quota.errors import NotAllowedError
from quota.ledger import passwords
from quota.ledger.tickets import SENT
from serve.access.result import Response
from serve.api.routes import RECONCILIATION_PATH
from serve.website import page_errors, sessions
from serve.website.page_request import PageRequest, Session
from serve.website.render import page, see_other

_LONGEST_LABEL: Final = 60


@dataclass(frozen=True, slots=True)
class _Notice:
    """The outcome of a form, shown above the account.

    Attributes:
        news: its name in the template.
        made: the key or address that was made, and `text`, its full text.
        cookie: a Set-Cookie header.
    """

    news: str = ""
    status: int = 200
    made: Key | None = None
    text: str = ""
    cookie: str | None = None


async def show(request: PageRequest) -> Response:
    """The account.

    Raises:
        StoreUnavailable
    """
    return await _page(request, _session(request), _Notice())


async def create_key(request: PageRequest) -> Response:
    """Make one more key, if the plan allows it (§5 rule 6)."""
    session = _session(request)
    keys = await request.store.keys_of(session.account.id)
    if request.form.get("connues") != str(len(keys)):
        return await _page(request, session, _Notice("already", 409))
    return await new_key(request, request.form.get("libelle", "").strip()[:_LONGEST_LABEL])


async def new_key(request: PageRequest, label: str, *, cookie: str | None = None) -> Response:
    """Make a key and show it; `cookie` is set by the same response."""
    session = _session(request)
    try:
        key, text = await request.accounts.create_key(
            session.account.id, request.server.plans, request.now, label=label
        )
    except NotAllowedError:
        return await _page(request, session, _Notice("too_many", 409))
    return await _page(request, session, _Notice("made", made=key, text=text, cookie=cookie))


async def revoke_key(request: PageRequest) -> Response:
    """Revoke a key of this organisation.

    Raises:
        ApiError: 404: the key does not exist, or belongs to another organisation.
    """
    session = _session(request)
    wanted = request.form.get("cle", "")
    if wanted not in {key.id for key in await request.store.keys_of(session.account.id)}:
        raise page_errors.cle_introuvable()
    await request.accounts.revoke_key(wanted, request.now)
    return see_other("/compte#cles")


async def create_address(request: PageRequest) -> Response:
    """Make one more reconciliation address, for a client that sends no header (extensions X5)."""
    session = _session(request)
    known = await request.accounts.addresses_of(session.account.id)
    if request.form.get("connues") != str(len(known)):
        return await _page(request, session, _Notice("address_already", 409))
    label = request.form.get("libelle", "").strip()[:_LONGEST_LABEL]
    try:
        made, token = await request.accounts.create_address(
            session.account.id, request.server.plans, request.now, label=label
        )
    except NotAllowedError:
        return await _page(request, session, _Notice("too_many_addresses", 409))
    text = f"{request.origin}{RECONCILIATION_PATH}/{token}"
    return await _page(request, session, _Notice("address", made=made, text=text))


async def revoke_address(request: PageRequest) -> Response:
    """Revoke a reconciliation address of this organisation.

    Raises:
        ApiError: 404: it does not exist, or belongs to another organisation.
    """
    session = _session(request)
    wanted = request.form.get("adresse", "")
    known = await request.accounts.addresses_of(session.account.id)
    if wanted not in {one.id for one in known}:
        raise page_errors.cle_introuvable()
    await request.accounts.revoke_address(wanted, request.now)
    return see_other("/compte#adresses")


async def change_password(request: PageRequest) -> Response:
    """Change the password: all sessions end, and a new one begins here.

    Raises:
        ApiError: 429, 503.
    """
    session, throttle = _session(request), request.context.throttle
    throttle.log_in(request.trace.address, session.person.email, request.now)
    if not await throttle.is_right(request.form.get("actuel", ""), session.person.password):
        return await _page(request, session, _Notice("wrong_password", 403))
    new = request.form.get("nouveau", "")
    if wrong_password(request, new):
        return await _page(request, session, _Notice("bad_password", 422))
    hashed = await throttle.hashed(new)
    person = await request.accounts.set_password(session.person.id, hashed)
    session, cookie = await sessions.opened(request.context, person, request.now)
    return await _page(request, session, _Notice("password_changed", cookie=cookie))


def wrong_password(request: PageRequest, password: str) -> str | None:
    """The reason why this cannot be a password, or None."""
    if passwords.is_allowed(password):
        return None
    return request.t(
        f"{passwords.SHORTEST} caractères au moins, pas toujours les mêmes. Une phrase convient.",
        f"At least {passwords.SHORTEST} characters, not always the same. A phrase will do.",
    )


async def _page(request: PageRequest, session: Session, notice: _Notice) -> Response:
    plans, account = request.server.plans, session.account
    plan = subscribed_plan(account, plans)
    keys = sorted(
        await request.store.keys_of(account.id), key=lambda key: key.created, reverse=True
    )
    return page(
        replace(request, session=session), "account.html",
        status=notice.status,
        headers={"Set-Cookie": notice.cookie} if notice.cookie else {},
        account=account,
        person=session.person,
        plan=plan,
        key_plan=effective(account, plans),
        has_tool=has_tool(account, plans),
        usage=await request.store.usage(account.id, plan, request.now),
        keys=keys,
        active=sum(key.revoked is None for key in keys),
        addresses=await request.accounts.addresses_of(account.id),
        last_used=await request.accounts.last_used([key.id for key in keys]),
        people=len(await request.accounts.people_of(account.id)),
        unsent=sum(
            bool(ticket.error) and ticket.mail != SENT
            for ticket in await request.accounts.tickets.of(account.id, request.now)
        ),
        news=notice.news,
        made=notice.made,
        text=notice.text,
    )  # fmt: skip


def _session(request: PageRequest) -> Session:
    assert request.session  # the routes of these pages are `personal`
    return request.session
