"""Sign-up, log-in, log-out, and the links of mails: invitations, other passwords, confirmations of an address.

The pages are /inscription, /connexion, /deconnexion, /invitation/<token>, /mot-de-passe/<token>, /confirmation/<token>.

No response reveals whether an e-mail address is known. A sign-up looks the same in both cases, after a
hash and a commit in both: "log in with your password". So the first key is made at the first log-in,
and shown there. A failed log-in says the same, and takes as long, for a wrong password and an unknown
address.

A link can be used once. To show it uses nothing up, because mail scanners open links; sending its form does. A link
that was used, has expired or never existed gets one and the same page.
"""

import re
from dataclasses import replace
from typing import Final

from quota.accounts import FREE
from quota.errors import NotAllowedError
from quota.ledger import account_rows, people, tickets
from quota.ledger.people import is_email
from quota.ledger.tickets import Ticket
from quota.new_values import new_account, new_person, new_ticket, token_digest
from quota.periods import seconds
from serve.access.call import Response
from serve.contract.errors import ApiError
from serve.features.account import account_page, outbox
from serve.features.account.login_throttle import throttle_of
from serve.surfaces.site import sessions
from serve.surfaces.site.page_request import PageRequest, last_value
from serve.surfaces.site.render import page, see_other

_LONGEST_NAME: Final = 120
_ACCOUNT: Final = "/compte"
# A path of this server: not `//host` or `/\\host`, which browsers take for another server.
_OWN_PATH: Final = re.compile(r"/(?![/\\])[!-\[\]-~]*")


async def sign_up_form(request: PageRequest) -> Response:
    """The form of a sign-up.

    Raises:
        ApiError: 503: this server has no accounts.
        StoreUnavailable
    """
    _ = request.ledger
    if request.session:
        return see_other(_ACCOUNT)
    free = request.server.plans["free"]
    return page(request, "sign_up.html", wrong={}, given={}, free=free)


async def sign_up(request: PageRequest) -> Response:
    """Create a free organisation and its first person, if the address is new.

    Raises:
        ApiError: 429, 503.
        StoreUnavailable
    """
    plans, throttle = request.server.plans, throttle_of(request.server)
    given = {name: request.form.get(name, "").strip() for name in ("organisation", "email")}
    password = request.form.get("mot_de_passe", "")
    if wrong := _wrong_fields(request, given, password):
        free = plans["free"]
        return page(request, "sign_up.html", status=422, wrong=wrong, given=given, free=free)
    throttle.sign_up(request.trace.address, request.now)
    hashed = await throttle.hash_password(password)
    account = new_account(FREE, request.now, nom=given["organisation"])
    person = new_person(
        account.id, given["email"], hashed, request.now, confirmed=not request.mails
    )
    await request.ledger.submit(people.sign_up, account, person, plans)
    return page(request, "log_in.html", news="signed_up", email=given["email"], suite="")


async def log_in_form(request: PageRequest) -> Response:
    """The form of a log-in.

    Raises:
        ApiError: 503: this server has no accounts.
        StoreUnavailable
    """
    _ = request.ledger
    suite = last_value(request.pairs, "suite") or ""
    if request.session:
        return see_other(_own_path(suite))
    return page(request, "log_in.html", news="", email="", suite=suite)


async def log_in(request: PageRequest) -> Response:
    """Open a session for a right password, and make the first key of an organisation without keys.

    Raises:
        ApiError: 429, 503.
        StoreUnavailable
    """
    form, throttle = request.form, throttle_of(request.server)
    email, password = form.get("email", "").strip(), form.get("mot_de_passe", "")
    suite = form.get("suite", "")
    device = sessions.device(request.context, request.device, email)
    throttle.log_in(request.trace.address, email, request.now, device)
    person = await request.ledger.read(people.by_email, email)
    stored = person.password if person else None
    is_right = await throttle.is_right(password, stored, known=device is not None)
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
    """`suite` if it is a path of this server, or else the account: no link leads elsewhere."""
    return suite if _OWN_PATH.fullmatch(suite) else _ACCOUNT


def _wrong_fields(request: PageRequest, given: dict[str, str], password: str) -> dict[str, str]:
    """The message for each field that is invalid."""
    wrong = {}
    organisation = given["organisation"]
    if not 1 <= len(organisation) <= _LONGEST_NAME or not organisation.isprintable():
        wrong["organisation"] = request.t(
            f"Indiquez le nom de votre organisation, {_LONGEST_NAME} caractères au plus.",
            f"Give the name of your organisation, at most {_LONGEST_NAME} characters.",
        )
    if not is_email(given["email"]):
        wrong["email"] = request.t(
            "Cette adresse n’est pas une adresse e-mail : nom@exemple.fr.",
            "This is not an e-mail address: name@example.com.",
        )
    if message := account_page.wrong_password(request, password):
        wrong["mot_de_passe"] = message
    return wrong


async def show_invitation(request: PageRequest) -> Response:
    """The form by which an invited person chooses a password.

    Raises:
        ApiError: 404: the link cannot be used.
        StoreUnavailable
    """
    return await _form(request, await _ticket(request, tickets.INVITATION))


async def show_password(request: PageRequest) -> Response:
    """The form by which a person chooses another password; as `show_invitation`."""
    return await _form(request, await _ticket(request, tickets.PASSWORD))


async def accept(request: PageRequest) -> Response:
    """Add the invited person to the organisation, and open a session.

    Raises:
        ApiError: 404, 429, 503.
        StoreUnavailable
    """
    return await _use(request, tickets.INVITATION)


async def set_password(request: PageRequest) -> Response:
    """Replace the password, end all sessions of the person, and open one; as `accept`."""
    return await _use(request, tickets.PASSWORD)


async def show_confirmation(request: PageRequest) -> Response:
    """The form by which somebody who is logged in confirms their address; as `show_invitation`."""
    return await _form(request, await _own_confirmation(request))


async def confirm(request: PageRequest) -> Response:
    """Let the address count: of the person who is logged in, and got the link by mail.

    Raises:
        ApiError: 404, 429.
        StoreUnavailable
    """
    ticket = await _own_confirmation(request)
    throttle_of(request.server).use_link(request.trace.address, ticket.id, request.now)
    token, person = request.segments[0], ticket.person
    moment = seconds(request.now)
    if await request.ledger.submit(tickets.confirm, token_digest(token), person, moment) is None:
        raise ApiError("lien_perime")
    return see_other(f"{_ACCOUNT}?confirmation=faite")


async def send_confirmation(request: PageRequest) -> Response:
    """Mail the person who is logged in a link that confirms their address, as often as the ledger allows."""
    assert request.session  # the route is `personal`
    person = request.session.person
    if not request.mails or person.confirmed:
        return see_other(_ACCOUNT)
    new = new_ticket(tickets.CONFIRMATION, person.email, request.now, mail=True, lang=request.lang)
    await request.ledger.submit(tickets.ask_for_link, new.ticket, new.digest)
    outbox.wake(request.server)
    return see_other(f"{_ACCOUNT}?confirmation=envoyee")


async def lost_form(request: PageRequest) -> Response:
    """The form that asks for a mail with a link, where this server sends mail.

    Raises:
        ApiError: 503: this server has no accounts.
        StoreUnavailable
    """
    _ = request.ledger
    return page(request, "lost_password.html", news="", email="")


async def send_password_link(request: PageRequest) -> Response:
    """Send a mail with a link; the answer is the same whether or not the address is known.

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


async def _use(request: PageRequest, kind: str) -> Response:
    throttle, password = throttle_of(request.server), request.form.get("mot_de_passe", "")
    ticket = await _ticket(request, kind)
    throttle.use_link(request.trace.address, ticket.id, request.now)
    if message := account_page.wrong_password(request, password):
        return await _form(request, ticket, status=422, wrong=message)
    hashed = await throttle.hash_password(password, known=True)
    digest, moment = token_digest(request.segments[0]), seconds(request.now)
    try:
        if kind == tickets.INVITATION:
            new = new_person("", "", hashed, request.now, people.MEMBER)
            person = await request.ledger.submit(
                tickets.accept, digest, new, moment, mails=request.mails
            )
        else:
            person = await request.ledger.submit(tickets.set_password, digest, hashed, moment)
    except NotAllowedError:
        return await _form(request, ticket, status=409, in_use=True)
    if person is None:  # used by another request meanwhile
        raise ApiError("lien_perime")
    _, cookie = await sessions.begin_session(request.context, person, request.now)
    return see_other(_ACCOUNT, cookie)


async def _ticket(request: PageRequest, kind: str) -> Ticket:
    digest, moment = token_digest(request.segments[0]), seconds(request.now)
    ticket = await request.ledger.read(tickets.open_ticket, digest, kind, moment)
    if ticket is None or not ticket.account:
        raise ApiError("lien_perime")
    return ticket


async def _own_confirmation(request: PageRequest) -> Ticket:
    ticket = await _ticket(request, tickets.CONFIRMATION)
    if request.session is None or request.session.person.id != ticket.person:
        raise ApiError("lien_perime")
    return ticket


async def _takes_over(request: PageRequest, ticket: Ticket) -> bool:
    """Whether a link for another password takes the account from whoever used the address without confirming it."""
    if ticket.kind != tickets.PASSWORD or ticket.mail == tickets.NO_MAIL:
        return False
    person = await request.ledger.read(people.by_email, ticket.email)
    if person is None or person.confirmed:
        return False
    return await request.ledger.read(people.is_alone, person)


async def _form(
    request: PageRequest,
    ticket: Ticket,
    *,
    status: int = 200,
    wrong: str = "",
    in_use: bool = False,
) -> Response:
    account = await request.ledger.read(account_rows.account_of, ticket.account)
    return page(
        request, "one_time_link.html",
        status=status, ticket=ticket, account=account, wrong=wrong, in_use=in_use,
        takes_over=await _takes_over(request, ticket),
    )  # fmt: skip
