"""/compte/membres: the people of an organisation, their roles, and invitations (extension X10).

Everybody sees the members. Administrators invite, give roles, remove people, and make the link by which
a member chooses another password; anybody may leave. A link is shown in the response that made it, and
never again: the store has only its SHA-256.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from quota.errors import NotAllowedError, UnknownError
from quota.ledger.people import ADMINISTRATOR, MEMBER, ROLES, is_email
from quota.ledger.tickets import INVITATION, Ticket
from serve.access.call import Response
from serve.features.account import outbox
from serve.features.account.login_throttle import throttle_of
from serve.features.account.outbox import PATHS
from serve.surfaces.site import page_errors
from serve.surfaces.site.page_request import PageRequest, Session
from serve.surfaces.site.render import page, see_other

_MEMBERS: Final = "/compte/membres"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of a form, shown above the members; `link` is the path of a new link."""

    news: str = ""
    status: int = 200
    link: str = ""
    email: str = ""


async def show(request: PageRequest) -> Response:
    """The members, and the invitations that can still be used.

    Raises:
        StoreUnavailable
    """
    return await _page(request, _Outcome())


async def change(request: PageRequest) -> Response:
    """Do what the form says: invite, give a role, remove, make a link, withdraw an invitation.

    Raises:
        ApiError: 400, 403, 404, 429.
        StoreUnavailable
    """
    session = _session(request)
    act = request.form.get("geste", "")
    leaves = act == "retrait" and request.form.get("personne") == session.person.id
    if session.person.role != ADMINISTRATOR and not leaves:
        raise page_errors.administrateurs_seulement()
    if act not in _ACTS:
        raise page_errors.geste_inconnu(act)
    if not leaves and request.is_unconfirmed:
        raise page_errors.adresse_non_confirmee(session.person.email)
    try:
        return await _ACTS[act](request, session)
    except UnknownError as error:
        wanted = request.form.get("personne") or request.form.get("billet", "")
        raise page_errors.personne_introuvable(wanted) from error
    except NotAllowedError:
        return await _page(request, _Outcome("refused", 409))


async def _invite(request: PageRequest, session: Session) -> Response:
    email, role = request.form.get("email", "").strip(), request.form.get("role", MEMBER)
    if not is_email(email) or role not in ROLES:
        return await _page(request, _Outcome("bad_email", 422, email=email))
    _count(request, session)
    if request.mails:
        throttle_of(request.server).mail(email, request.now)
    ticket, token = await request.accounts.tickets.invite(
        session.account.id, email, role, request.now, mail=request.mails, lang=request.lang
    )
    return await _show_link(request, ticket, token)


async def _make_link(request: PageRequest, session: Session) -> Response:
    """A link by which a member of this organisation chooses another password."""
    wanted = request.form.get("personne", "")
    people = await request.accounts.people_of(session.account.id)
    person = next((person for person in people if person.id == wanted), None)
    if person is None:
        raise page_errors.personne_introuvable(wanted)
    _count(request, session)
    ticket, token = await request.accounts.tickets.ask_for_password(
        person.email, request.now, mail=request.mails, lang=request.lang
    )
    return await _show_link(request, ticket, token)


async def _hand_over(request: PageRequest, session: Session) -> Response:
    """A link to hand over in place of a mail that does not go out; it replaces the mail."""
    open_tickets = await request.accounts.tickets.of_account(session.account.id, request.now)
    wanted = request.form.get("billet", "")
    known = next((ticket for ticket in open_tickets if ticket.id == wanted), None)
    if known is None:
        raise page_errors.lien_perime()
    _count(request, session)
    book = request.accounts.tickets
    if known.kind == INVITATION:
        ticket, token = await book.invite(
            session.account.id, known.email, known.role, request.now, mail=False, lang=known.lang
        )
    else:
        ticket, token = await book.ask_for_password(
            known.email, request.now, mail=False, lang=known.lang
        )
    return await _show_link(request, ticket, token)


def _count(request: PageRequest, session: Session) -> None:
    """Count an invitation or a link. Raises ApiError 429."""
    address = request.trace.address
    throttle_of(request.server).invite(session.account, session.person.id, address, request.now)


async def _show_link(request: PageRequest, ticket: Ticket, token: str) -> Response:
    if not token:
        outbox.wake(request.server)
        return see_other(_MEMBERS)
    link = f"{request.origin}/{PATHS[ticket.kind]}/{token}"
    return await _page(request, _Outcome("linked", link=link, email=ticket.email))


async def _set_role(request: PageRequest, session: Session) -> Response:
    person, role = request.form.get("personne", ""), request.form.get("role", "")
    await request.accounts.set_role(session.account.id, person, role)
    return see_other(_MEMBERS)


async def _remove(request: PageRequest, session: Session) -> Response:
    person = request.form.get("personne", "")
    await request.accounts.remove_person(session.account.id, person)
    return see_other("/" if person == session.person.id else _MEMBERS)


async def _withdraw(request: PageRequest, session: Session) -> Response:
    await request.accounts.tickets.withdraw(session.account.id, request.form.get("billet", ""))
    return see_other(_MEMBERS)


_ACTS: Final[Mapping[str, Callable[[PageRequest, Session], Awaitable[Response]]]] = {
    "invitation": _invite,
    "lien": _make_link,
    "role": _set_role,
    "retrait": _remove,
    "annulation": _withdraw,
    "remise": _hand_over,
}


async def _page(request: PageRequest, outcome: _Outcome) -> Response:
    session = _session(request)
    account, book = session.account, request.accounts
    with request.store.batch_reads():
        people, tickets = (
            book.people_of(account.id),
            book.tickets.of_account(account.id, request.now),
        )
    return page(
        request, "members.html",
        status=outcome.status,
        account=account,
        me=session.person,
        people=await people,
        tickets=await tickets,
        at=lambda seconds: datetime.fromtimestamp(seconds, UTC),
        outcome_=outcome,
    )  # fmt: skip


def _session(request: PageRequest) -> Session:
    assert request.session  # the route is `personal`
    return request.session
