"""/inscription, /connexion, /deconnexion: how a person gets in and out.

Nothing tells whether an address is known. A sign-up answers alike in both cases, after a hash and a
commit in both: log in with your password. So the first key is made at the first log-in, and shown
there. A log-in that fails says the same, and takes as long, for a wrong password and for nobody.
"""

import re
from dataclasses import replace
from typing import Final

from quota.accounts import Account
from quota.ledger.people import is_email
from serve.access.result import Response
from serve.website import sessions
from serve.website.page_request import PageContext, PageRequest, last
from serve.website.pages import account
from serve.website.render import page, see_other

_LONGEST_NAME: Final = 120
_ACCOUNT: Final = "/compte"
_INSIDE: Final = re.compile(r"/(?![/\\])[!-\[\]-~]*")


async def sign_up_form(desk: PageContext, visit: PageRequest) -> Response:
    """
    Raises:
        ApiError: 503: there are no accounts here.
        StoreUnavailable
    """
    _ = desk.store
    if visit.session:
        return see_other(desk, visit, _ACCOUNT)
    return page(desk, visit, "sign_up.html", wrong={}, given={}, free=desk.site.plans["free"])


async def sign_up(desk: PageContext, visit: PageRequest) -> Response:
    """A free organisation and its first person, if the address is new; the answer does not tell.

    Raises:
        ApiError: 429, 503.
        StoreUnavailable
    """
    given = {name: visit.form.get(name, "").strip() for name in ("organisation", "email")}
    password = visit.form.get("mot_de_passe", "")
    if wrong := _wrong(visit, given, password):
        free = desk.site.plans["free"]
        return page(desk, visit, "sign_up.html", status=422, wrong=wrong, given=given, free=free)
    desk.guard.sign_up(visit.trace.address, visit.now)
    hashed = await desk.guard.hashed(password)
    await desk.accounts.sign_up(
        given["organisation"], given["email"], hashed, desk.site.plans, visit.now
    )
    return page(desk, visit, "log_in.html", news="signed_up", email=given["email"], suite="")


async def log_in_form(desk: PageContext, visit: PageRequest) -> Response:
    """
    Raises:
        ApiError: 503: there are no accounts here.
        StoreUnavailable
    """
    _ = desk.store
    suite = last(visit.pairs, "suite") or ""
    if visit.session:
        return see_other(desk, visit, _inside(suite))
    return page(desk, visit, "log_in.html", news="", email="", suite=suite)


async def log_in(desk: PageContext, visit: PageRequest) -> Response:
    """A session for who knows the password, and the first key of an organisation that has none.

    Raises:
        ApiError: 429, 503.
        StoreUnavailable
    """
    email, password = visit.form.get("email", "").strip(), visit.form.get("mot_de_passe", "")
    suite = visit.form.get("suite", "")
    desk.guard.log_in(visit.trace.address, email, visit.now)
    person = await desk.accounts.person_by_email(email)
    right = await desk.guard.is_right(password, person.password if person else None)
    if person is None or not right:
        return page(
            desk, visit, "log_in.html", status=403, news="refused", email=email, suite=suite
        )
    session, cookie = await sessions.opened(desk, person, visit.now)
    inside = replace(visit, session=session)
    if await _may_have_a_first_key(desk, session.account):
        label = visit.t("Première clé", "First key")
        return await account.new_key(desk, inside, label, cookie=cookie)
    return see_other(desk, visit, _inside(suite), cookie)


async def log_out(desk: PageContext, visit: PageRequest) -> Response:
    """The end of the session, here and in every process."""
    if visit.session is None:
        return see_other(desk, visit, "/")
    return see_other(desk, visit, "/", await sessions.closed(desk, visit.session))


async def _may_have_a_first_key(desk: PageContext, organisation: Account) -> bool:
    return not await desk.store.keys_of(organisation.id)


def _inside(suite: str) -> str:
    """A path of this site, or else the account: a link of somebody else leads nowhere else."""
    return suite if _INSIDE.fullmatch(suite) else _ACCOUNT


def _wrong(visit: PageRequest, given: dict[str, str], password: str) -> dict[str, str]:
    """What cannot be taken, by field."""
    wrong = {}
    organisation = given["organisation"]
    if not 1 <= len(organisation) <= _LONGEST_NAME or not organisation.isprintable():
        wrong["organisation"] = visit.t(
            f"Indiquez le nom de votre organisation, {_LONGEST_NAME} caractères au plus.",
            f"Give the name of your organisation, at most {_LONGEST_NAME} characters.",
        )
    if not is_email(given["email"]):
        wrong["email"] = visit.t(
            "Cette adresse n’est pas une adresse e-mail : nom@exemple.fr.",
            "This is not an e-mail address: name@example.com.",
        )
    if told := account.wrong_password(visit, password):
        wrong["mot_de_passe"] = told
    return wrong
