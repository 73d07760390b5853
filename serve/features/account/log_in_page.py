"""/inscription, /connexion, /deconnexion: sign-up, log-in and log-out.

No response reveals whether an e-mail address is known. A sign-up looks the same in both cases, after a
hash and a commit in both: "log in with your password". So the first key is made at the first log-in,
and shown there. A failed log-in says the same, and takes as long, for a wrong password and an unknown
address.
"""

import re
from dataclasses import replace
from typing import Final

from quota.ledger.people import is_email
from serve.access.call import Response
from serve.features.account import account_page
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
    _ = request.accounts
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
    await request.accounts.sign_up(
        given["organisation"],
        given["email"],
        hashed,
        plans,
        request.now,
        confirmed=not request.mails,
    )
    return page(request, "log_in.html", news="signed_up", email=given["email"], suite="")


async def log_in_form(request: PageRequest) -> Response:
    """The form of a log-in.

    Raises:
        ApiError: 503: this server has no accounts.
        StoreUnavailable
    """
    _ = request.accounts
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
    person = await request.accounts.person_by_email(email)
    stored = person.password if person else None
    is_right = await throttle.is_right(password, stored, known=device is not None)
    if person is None or not is_right:
        return page(request, "log_in.html", status=403, news="refused", email=email, suite=suite)
    session, cookie = await sessions.begin_session(request.context, person, request.now)
    if not await request.store.keys_of(session.account.id):
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
