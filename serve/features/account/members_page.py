"""/compte/membres: the people of an organisation, their roles, and invitations (extension X10).

All members see the list of members. Administrators invite, set roles, remove people, and make the link with which a
member chooses a new password; each member can leave. A link is shown only in the response to the form that made the
link: the store has only the SHA-256 of its token.
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
    """The outcome of a form, shown above the members. `link` is the address of a new link."""

    news: str = ""
    status: int = 200
    link: str = ""
    email: str = ""


async def show(request: PageRequest) -> Response:
    """The members, and the invitations that are still valid.

    Raises:
        StoreUnavailable
    """
    return await _members_page(request, _Outcome())


async def change(request: PageRequest) -> Response:
    """Carry out the form: invite, set a role, remove, make a link, withdraw an invitation.

    Raises:
        ApiError: 400, 403, 404, 429.
        StoreUnavailable
    """
    session = _session(request)
    # A member who is not an administrator can only leave, which needs no confirmed address.
    action = request.form.get("geste", "")
    leaves = action == "retrait" and request.form.get("personne") == session.person.id
    if session.person.role != ADMINISTRATOR and not leaves:
        raise ApiError("administrateurs_seulement")
    if action not in _ACTIONS:
        raise ApiError("geste_inconnu", act=action[:40])
    if not leaves and request.is_unconfirmed:
        raise ApiError("adresse_non_confirmee", email=session.person.email)
    try:
        return await _ACTIONS[action](request, session)
    except UnknownError as error:
        name = request.form.get("personne") or request.form.get("billet", "")
        raise ApiError("personne_introuvable", person=name[:40]) from error
    except NotAllowedError:
        return await _members_page(request, _Outcome("refused", 409))


async def _invite(request: PageRequest, session: Session) -> Response:
    """Make an invitation; its link is mailed, or shown if this server sends no mail."""
    email, role = request.form.get("email", "").strip(), request.form.get("role", MEMBER)
    if not is_email(email) or role not in ROLES:
        return await _members_page(request, _Outcome("bad_email", 422, email=email))
    _count_link(request, session)
    if request.mails:
        throttle_of(request.server).count_invitation_mail(email, request.now)
    new = new_ticket(
        tickets.INVITATION, email, request.now,
        mail=request.mails, account=session.account.id, role=role, lang=request.lang,
    )  # fmt: skip
    return await _issue_link(request, new)


async def _make_link(request: PageRequest, session: Session) -> Response:
    """Show a link with which a member of this organisation chooses a new password."""
    person_id = request.form.get("personne", "")
    members = await request.ledger.read(people.people_of, session.account.id)
    person = next((person for person in members if person.id == person_id), None)
    if person is None:
        raise ApiError("personne_introuvable", person=person_id[:40])
    _count_link(request, session)
    new = new_ticket(
        tickets.PASSWORD, person.email, request.now, mail=request.mails, lang=request.lang
    )
    return await _issue_link(request, new)


async def _replace_mail(request: PageRequest, session: Session) -> Response:
    """Show a new link in place of the link of a mail that was not sent, for the administrator to pass on.

    The new link has the kind, the address and the role of the old one, and counts in the same daily limits.
    """
    open_tickets = await request.ledger.read(
        tickets.valid_tickets, session.account.id, seconds(request.now)
    )
    ticket_id = request.form.get("billet", "")
    unsent = next((ticket for ticket in open_tickets if ticket.id == ticket_id), None)
    if unsent is None:
        raise ApiError("lien_perime")
    _count_link(request, session)
    if unsent.kind == tickets.INVITATION:
        new = new_ticket(
            tickets.INVITATION, unsent.email, request.now,
            mail=False, account=session.account.id, role=unsent.role, lang=unsent.lang,
        )  # fmt: skip
    else:
        new = new_ticket(tickets.PASSWORD, unsent.email, request.now, mail=False, lang=unsent.lang)
    return await _issue_link(request, new)


def _count_link(request: PageRequest, session: Session) -> None:
    """Count an invitation, or a link for a new password, against the daily limits. Raises ApiError 429."""
    address = request.trace.address
    throttle_of(request.server).count_new_link(
        session.account, session.person.id, address, request.now
    )


async def _issue_link(request: PageRequest, new: NewTicket) -> Response:
    """Store an invitation, or a ticket for a new password, and show its link unless it is mailed."""
    is_invitation = new.ticket.kind == tickets.INVITATION
    store = tickets.issue if is_invitation else tickets.ask_for_link
    ticket = await request.ledger.submit(store, new.ticket, new.digest)
    if not new.token:
        outbox.wake(request.server)
        return see_other(_MEMBERS)
    link = f"{request.origin}/{PATHS[ticket.kind]}/{new.token}"
    return await _members_page(request, _Outcome("linked", link=link, email=ticket.email))


async def _set_role(request: PageRequest, session: Session) -> Response:
    """Set the role of a person, and show the members again."""
    person, role = request.form.get("personne", ""), request.form.get("role", "")
    await request.ledger.submit(people.set_role, session.account.id, person, role)
    return see_other(_MEMBERS)


async def _remove(request: PageRequest, session: Session) -> Response:
    """Remove a person from the organisation; a person who leaves gets the front page."""
    person = request.form.get("personne", "")
    await request.ledger.submit(tickets.remove_person, session.account.id, person)
    return see_other("/" if person == session.person.id else _MEMBERS)


async def _withdraw(request: PageRequest, session: Session) -> Response:
    """Withdraw an invitation, so that its link no longer works."""
    ticket = request.form.get("billet", "")
    await request.ledger.submit(tickets.withdraw, session.account.id, ticket)
    return see_other(_MEMBERS)


# The function for each value of the field `geste` of the form.
_ACTIONS: Final[Mapping[str, Callable[[PageRequest, Session], Awaitable[Response]]]] = {
    "invitation": _invite,
    "lien": _make_link,
    "role": _set_role,
    "retrait": _remove,
    "annulation": _withdraw,
    "remise": _replace_mail,
}


async def _members_page(request: PageRequest, outcome: _Outcome) -> Response:
    """The page of the members, with the outcome of a form."""
    session = _session(request)
    account, ledger = session.account, request.ledger
    with ledger.batch_reads():
        members = ledger.read(people.people_of, account.id)
        open_tickets = ledger.read(tickets.valid_tickets, account.id, seconds(request.now))
    return page(
        request, "members.html",
        status=outcome.status,
        account=account,
        me=session.person,
        people=await members,
        tickets=await open_tickets,
        at=lambda seconds: datetime.fromtimestamp(seconds, UTC),
        outcome_=outcome,  # `page` has a parameter `outcome`
    )  # fmt: skip


def _session(request: PageRequest) -> Session:
    """The session of the person, who is logged in because the route is `personal`."""
    assert request.session  # the route is `personal`
    return request.session
