"""Sign-up, log-in, log-out, and the links in mails: invitations, new passwords, confirmations of an address.

The pages are /inscription, /connexion, /deconnexion, /invitation/<token>, /mot-de-passe/<token>, /confirmation/<token>.

No response reveals whether an e-mail address has an account. A sign-up gives the same response for a known and for a
new address, after the same work (a hash and a commit): "log in with your password". So the first key is made and shown
at the first log-in. A failed log-in gives the same answer, after the same time, for a wrong password and for an unknown
address.

A link works once. Opening its page does not use up the link, because mail scanners open links; only sending the form
does. All links that were used, have expired or never existed get the same page.
"""

import re
from dataclasses import replace
from typing import Final

from quota.accounts import FREE
from quota.credentials import secret_digest
from quota.errors import NotAllowedError
from quota.ledger import account_rows, people, tickets
from quota.ledger.people import is_email
from quota.ledger.tickets import Ticket
from quota.new_values import new_account, new_person, new_ticket
from quota.periods import seconds
from serve.access.call import Response
from serve.contract.errors import ApiError
from serve.features.account import account_page, outbox
from serve.features.account.login_throttle import throttle_of
from serve.surfaces.site import sessions
from serve.surfaces.site.page_request import PageRequest, last_value
from serve.surfaces.site.render import page, see_other

_LONGEST_NAME: Final = 120  # characters of the name of an organisation
_ACCOUNT: Final = "/compte"  # the page of the account
# A path of this server; not `//host` or `/\\host`, which browsers take for another server.
_OWN_PATH: Final = re.compile(r"/(?![/\\])[!-\[\]-~]*")


async def sign_up_form(request: PageRequest) -> Response:
    """The form of the sign-up.

    Raises:
        ApiError: 503: this server has no accounts.
        StoreUnavailable
    """
    _ = request.ledger  # raises 503 if this server has no accounts
    if request.session:
        return see_other(_ACCOUNT)
    free = request.server.plans["free"]
    return page(request, "sign_up.html", wrong={}, fields={}, free=free)


async def sign_up(request: PageRequest) -> Response:
    """Create a free organisation and its first person, if the address is new.

    The response is the log-in, whether the address was new or not; invalid fields show the form again (422).

    Raises:
        ApiError: 429, 503.
        StoreUnavailable
    """
    plans, throttle = request.server.plans, throttle_of(request.server)
    fields = {name: request.form.get(name, "").strip() for name in ("organisation", "email")}
    password = request.form.get("mot_de_passe", "")
    if wrong := _field_faults(request, fields, password):
        free = plans["free"]
        return page(request, "sign_up.html", status=422, wrong=wrong, fields=fields, free=free)
    throttle.count_sign_up(request.trace.address, request.now)
    hashed = await throttle.hash_password(password)
    account = new_account(FREE, request.now, nom=fields["organisation"])
    person = new_person(
        account.id, fields["email"], hashed, request.now, confirmed=not request.mails
    )
    await request.ledger.submit(people.sign_up, account, person, plans)
    return page(request, "log_in.html", news="signed_up", email=fields["email"], suite="")


async def log_in_form(request: PageRequest) -> Response:
    """The form of the log-in.

    Raises:
        ApiError: 503: this server has no accounts.
        StoreUnavailable
    """
    _ = request.ledger  # raises 503 if this server has no accounts
    suite = last_value(request.pairs, "suite") or ""
    if request.session:
        return see_other(_own_path(suite))
    return page(request, "log_in.html", news="", email="", suite=suite)


async def log_in(request: PageRequest) -> Response:
    """Open a session if the password is right, and make the first key of an organisation without keys.

    Redirects to the page that shows this key, else to the path in the field `suite` or to the account. A wrong password
    shows the form again (403).

    Raises:
        ApiError: 429, 503.
        StoreUnavailable
    """
    form, throttle = request.form, throttle_of(request.server)
    email, password = form.get("email", "").strip(), form.get("mot_de_passe", "")
    suite = form.get("suite", "")
    device = sessions.device(request.context, request.device, email)
    throttle.count_log_in(request.trace.address, email, request.now, device)
    person = await request.ledger.read(people.find_by_email, email)
    stored = person.password if person else None
    is_right = await throttle.is_right(password, stored, trusted=device is not None)
    if person is None or not is_right:
        return page(request, "log_in.html", status=403, news="refused", email=email, suite=suite)
    session, cookie = await sessions.begin_session(request.context, person, request.now)
    if not await request.store.read(account_rows.keys_of, session.account.id):
        label = request.t("Première clé", "First key")
        return await account_page.new_key(replace(request, session=session), label, cookie=cookie)
    return see_other(_own_path(suite), cookie)


async def log_out(request: PageRequest) -> Response:
    """End the session, in every process."""
    if request.session is None:
        return see_other("/")
    return see_other("/", await sessions.end_session(request.context, request.session))


def _own_path(suite: str) -> str:
    """The page after the log-in: `suite` if it is a path of this server, else the account.

    So a link to the log-in cannot lead to another site.
    """
    return suite if _OWN_PATH.fullmatch(suite) else _ACCOUNT


def _field_faults(request: PageRequest, fields: dict[str, str], password: str) -> dict[str, str]:
    """The messages for the invalid fields of a sign-up, by the name of the field; empty if all are valid."""
    wrong = {}
    organisation = fields["organisation"]
    if not 1 <= len(organisation) <= _LONGEST_NAME or not organisation.isprintable():
        wrong["organisation"] = request.t(
            f"Indiquez le nom de votre organisation, {_LONGEST_NAME} caractères au plus.",
            f"Enter the name of your organisation, at most {_LONGEST_NAME} characters.",
        )
    if not is_email(fields["email"]):
        wrong["email"] = request.t(
            "Cette adresse n’est pas une adresse e-mail : nom@exemple.fr.",
            "This is not an e-mail address: name@example.com.",
        )
    if message := account_page.password_fault(request, password):
        wrong["mot_de_passe"] = message
    return wrong


async def show_invitation(request: PageRequest) -> Response:
    """The form in which an invited person chooses a password.

    Raises:
        ApiError: 404: the link cannot be used.
        StoreUnavailable
    """
    return await _link_form(request, await _valid_ticket(request, tickets.INVITATION))


async def show_password(request: PageRequest) -> Response:
    """The form in which a person chooses a new password, at the address of a link. Raises ApiError 404."""
    return await _link_form(request, await _valid_ticket(request, tickets.PASSWORD))


async def accept_invitation(request: PageRequest) -> Response:
    """Add the invited person to the organisation, and open a session.

    Raises:
        ApiError: 404, 429, 503.
        StoreUnavailable
    """
    return await _use_link(request, tickets.INVITATION)


async def set_password(request: PageRequest) -> Response:
    """Replace the password, end all sessions of the person, and open a new session. Raises ApiError: 404, 429, 503."""
    return await _use_link(request, tickets.PASSWORD)


async def show_confirmation(request: PageRequest) -> Response:
    """The form behind the link of a mail, where a logged-in person confirms their address. Raises ApiError 404."""
    return await _link_form(request, await _own_confirmation(request))


async def confirm_address(request: PageRequest) -> Response:
    """Confirm the address of the person who is logged in, with the link from a mail.

    Raises:
        ApiError: 404, 429.
        StoreUnavailable
    """
    ticket = await _own_confirmation(request)
    throttle_of(request.server).count_link_use(request.trace.address, ticket.id, request.now)
    token, person = request.segments[0], ticket.person
    moment = seconds(request.now)
    if await request.ledger.submit(tickets.confirm, secret_digest(token), person, moment) is None:
        raise ApiError("lien_perime")
    return see_other(f"{_ACCOUNT}?confirmation=faite")


async def send_confirmation(request: PageRequest) -> Response:
    """Mail a link that confirms the address of the person who is logged in, as often as the ledger allows."""
    assert request.session  # the route is `personal`
    person = request.session.person
    if not request.mails or person.confirmed:
        return see_other(_ACCOUNT)
    new = new_ticket(tickets.CONFIRMATION, person.email, request.now, mail=True, lang=request.lang)
    await request.ledger.submit(tickets.ask_for_link, new.ticket, new.digest)
    outbox.wake(request.server)
    return see_other(f"{_ACCOUNT}?confirmation=envoyee")


async def lost_password_form(request: PageRequest) -> Response:
    """The form that sends a mail with a link, if this server sends mail.

    Raises:
        ApiError: 503: this server has no accounts.
        StoreUnavailable
    """
    _ = request.ledger  # raises 503 if this server has no accounts
    return page(request, "lost_password.html", news="", email="")


async def send_password_link(request: PageRequest) -> Response:
    """Send a mail with a link; the response is the same for an unknown address.

    Raises:
        ApiError: 429, 503.
        StoreUnavailable
    """
    email = request.form.get("email", "").strip()
    if not request.mails or not is_email(email):
        news = "wrong" if request.mails else ""
        return page(request, "lost_password.html", status=422, news=news, email=email)
    throttle_of(request.server).count_lost_password(request.trace.address, request.now)
    new = new_ticket(tickets.PASSWORD, email, request.now, mail=True, lang=request.lang)
    await request.ledger.submit(tickets.ask_for_link, new.ticket, new.digest)
    outbox.wake(request.server)
    return page(request, "lost_password.html", news="sent", email=email)


async def _use_link(request: PageRequest, kind: str) -> Response:
    """Set the password with a link for a new password, or with an invitation, which adds the person; open a session.

    Redirects to the account. The form of the link is shown again if the password is refused (422), or if the invited
    address has an account in another organisation (409).
    """
    throttle, password = throttle_of(request.server), request.form.get("mot_de_passe", "")
    ticket = await _valid_ticket(request, kind)
    throttle.count_link_use(request.trace.address, ticket.id, request.now)
    if message := account_page.password_fault(request, password):
        return await _link_form(request, ticket, status=422, wrong=message)
    hashed = await throttle.hash_password(password, trusted=True)
    digest, moment = secret_digest(request.segments[0]), seconds(request.now)
    try:
        if kind == tickets.INVITATION:
            # `accept_invitation` adds the organisation, the address and the role of the invitation.
            new = new_person("", "", hashed, request.now, people.MEMBER)
            person = await request.ledger.submit(
                tickets.accept_invitation, digest, new, moment, mails=request.mails
            )
        else:
            person = await request.ledger.submit(tickets.set_password, digest, hashed, moment)
    except NotAllowedError:
        return await _link_form(request, ticket, status=409, in_use=True)
    if person is None:  # another request has used the link meanwhile
        raise ApiError("lien_perime")
    _, cookie = await sessions.begin_session(request.context, person, request.now)
    return see_other(_ACCOUNT, cookie)


async def _valid_ticket(request: PageRequest, kind: str) -> Ticket:
    """The ticket of the link whose token is in the path. Raises ApiError 404: the link cannot be used."""
    digest, moment = secret_digest(request.segments[0]), seconds(request.now)
    ticket = await request.ledger.read(tickets.open_ticket, digest, kind, moment)
    if ticket is None or not ticket.account:
        raise ApiError("lien_perime")
    return ticket


async def _own_confirmation(request: PageRequest) -> Ticket:
    """The ticket of a confirmation link. Raises ApiError 404 unless it is for the person who is logged in."""
    ticket = await _valid_ticket(request, tickets.CONFIRMATION)
    if request.session is None or request.session.person.id != ticket.person:
        raise ApiError("lien_perime")
    return ticket


async def _takes_over(request: PageRequest, ticket: Ticket) -> bool:
    """Whether this ticket takes the account from a person who never confirmed the address.

    A mailed link for a new password does so, because only the owner of the address can open it.
    """
    if ticket.kind != tickets.PASSWORD or ticket.mail == tickets.NO_MAIL:
        return False
    person = await request.ledger.read(people.find_by_email, ticket.email)
    if person is None or person.confirmed:
        return False
    return await request.ledger.read(people.is_alone, person)


async def _link_form(
    request: PageRequest,
    ticket: Ticket,
    *,
    status: int = 200,
    wrong: str = "",
    in_use: bool = False,
) -> Response:
    """The form of a link, in which a person chooses a password.

    After a refused attempt, `wrong` is the message about the password, or `in_use` says that the invited address has an
    account in another organisation.
    """
    account = await request.ledger.read(account_rows.account_of, ticket.account)
    return page(
        request, "one_time_link.html",
        status=status, ticket=ticket, account=account, wrong=wrong, in_use=in_use,
        takes_over=await _takes_over(request, ticket),
    )  # fmt: skip
