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
from quota.ledger import people, tickets
from quota.ledger.people import ADMINISTRATOR, MEMBER, ROLES, is_email
from quota.new_values import NewTicket, new_ticket
from quota.periods import seconds
from serve.access.call import Response
from serve.contract.errors import ApiError
from serve.features.account import outbox
from serve.features.account.login_throttle import throttle_of
from serve.features.account.outbox import PATHS
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
        raise ApiError("administrateurs_seulement")
    if act not in _ACTS:
        raise ApiError("geste_inconnu", act=act[:40])
    if not leaves and request.is_unconfirmed:
        raise ApiError("adresse_non_confirmee", email=session.person.email)
    try:
        return await _ACTS[act](request, session)
    except UnknownError as error:
        wanted = request.form.get("personne") or request.form.get("billet", "")
        raise ApiError("personne_introuvable", person=wanted[:40]) from error
    except NotAllowedError:
        return await _page(request, _Outcome("refused", 409))


async def _invite(request: PageRequest, session: Session) -> Response:
    email, role = request.form.get("email", "").strip(), request.form.get("role", MEMBER)
    if not is_email(email) or role not in ROLES:
        return await _page(request, _Outcome("bad_email", 422, email=email))
    _count(request, session)
    if request.mails:
        throttle_of(request.server).mail(email, request.now)
    new = new_ticket(
        tickets.INVITATION, email, request.now,
        mail=request.mails, account=session.account.id, role=role, lang=request.lang,
    )  # fmt: skip
    return await _show_link(request, new)


async def _make_link(request: PageRequest, session: Session) -> Response:
    """A link by which a member of this organisation chooses another password."""
    wanted = request.form.get("personne", "")
    members = await request.ledger.read(people.people_of, session.account.id)
    person = next((person for person in members if person.id == wanted), None)
    if person is None:
        raise ApiError("personne_introuvable", person=wanted[:40])
    _count(request, session)
    new = new_ticket(
        tickets.PASSWORD, person.email, request.now, mail=request.mails, lang=request.lang
    )
    return await _show_link(request, new)


async def _hand_over(request: PageRequest, session: Session) -> Response:
    """A link to hand over in place of a mail that does not go out; it replaces the mail."""
    open_tickets = await request.ledger.read(
        tickets.of_account, session.account.id, seconds(request.now)
    )
    wanted = request.form.get("billet", "")
    known = next((ticket for ticket in open_tickets if ticket.id == wanted), None)
    if known is None:
        raise ApiError("lien_perime")
    _count(request, session)
    if known.kind == tickets.INVITATION:
        new = new_ticket(
            tickets.INVITATION, known.email, request.now,
            mail=False, account=session.account.id, role=known.role, lang=known.lang,
        )  # fmt: skip
    else:
        new = new_ticket(tickets.PASSWORD, known.email, request.now, mail=False, lang=known.lang)
    return await _show_link(request, new)


def _count(request: PageRequest, session: Session) -> None:
    """Count an invitation or a link. Raises ApiError 429."""
    address = request.trace.address
    throttle_of(request.server).invite(session.account, session.person.id, address, request.now)


async def _show_link(request: PageRequest, new: NewTicket) -> Response:
    """Store an invitation, or a ticket for another password, and show its link unless it is mailed."""
    is_invitation = new.ticket.kind == tickets.INVITATION
    store = tickets.issue if is_invitation else tickets.ask_for_link
    ticket = await request.ledger.submit(store, new.ticket, new.digest)
    if not new.token:
        outbox.wake(request.server)
        return see_other(_MEMBERS)
    link = f"{request.origin}/{PATHS[ticket.kind]}/{new.token}"
    return await _page(request, _Outcome("linked", link=link, email=ticket.email))


async def _set_role(request: PageRequest, session: Session) -> Response:
    person, role = request.form.get("personne", ""), request.form.get("role", "")
    await request.ledger.submit(people.set_role, session.account.id, person, role)
    return see_other(_MEMBERS)


async def _remove(request: PageRequest, session: Session) -> Response:
    person = request.form.get("personne", "")
    await request.ledger.submit(tickets.remove_person, session.account.id, person)
    return see_other("/" if person == session.person.id else _MEMBERS)


async def _withdraw(request: PageRequest, session: Session) -> Response:
    ticket = request.form.get("billet", "")
    await request.ledger.submit(tickets.withdraw, session.account.id, ticket)
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
    account, ledger = session.account, request.ledger
    with ledger.batch_reads():
        members = ledger.read(people.people_of, account.id)
        open_tickets = ledger.read(tickets.of_account, account.id, seconds(request.now))
    return page(
        request, "members.html",
        status=outcome.status,
        account=account,
        me=session.person,
        people=await members,
        tickets=await open_tickets,
        at=lambda seconds: datetime.fromtimestamp(seconds, UTC),
        outcome_=outcome,
    )  # fmt: skip


def _session(request: PageRequest) -> Session:
    assert request.session  # the route is `personal`
    return request.session
