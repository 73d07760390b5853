"""/compte: the plan of an organisation, its usage, its keys, and the password of the person.

A form that makes a key or a reconciliation address redirects to a page that shows the key or address once (A11). Until
then, for some minutes, the text is stored sealed: it can be read only with the token in the address and that of the
session. A reload of the page says that the text was shown. A form that is sent twice makes one key, since the form
contains the number of keys at the time when its page was made.
"""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlencode

from quota import credentials, new_values
from quota.accounts import effective_plan, has_tool, subscribed_plan
from quota.errors import NotAllowedError
from quota.ledger import account_rows, activity, calls, exports, lists, payments, people, tickets
from quota.ledger.account_rows import ADDRESSES, KEYS, KeyKind
from quota.ledger.calls import Opening
from quota.ledger.exports import CountedExport
from quota.periods import iso, seconds
from serve.access.call import Response
from serve.access.rights import ENTREPRISE, MARCHE
from serve.contract.errors import ApiError
from serve.features.account.login_throttle import throttle_of
from serve.features.account.stripe_account import StripeAccount
from serve.surfaces.docs.manual import manual
from serve.surfaces.docs.request_example import CodeText
from serve.surfaces.site import sessions
from serve.surfaces.site.page_request import (
    EXPORT_FIELDS,
    PageRequest,
    Session,
    last_value,
    pairs_without,
)
from serve.surfaces.site.render import page, see_other
from shards.search.search import ShardSet

_LONGEST_LABEL: Final = 60  # characters of the name of a key or address
_TOKEN_BYTES: Final = 32  # of the token in the address that shows a new key
# The parameters with the token of a new key or of a new reconciliation address; also the kinds of these texts.
_KEY: Final = "cle"
_ADDRESS: Final = "adresse"
# With this parameter, the page reports that the password was changed.
_PASSWORD_CHANGED: Final = "mot_de_passe_change"
# The number of days in the chart of calls.
_DAYS: Final = 30


@dataclass(frozen=True, slots=True)
class _Notice:
    """The outcome of a form, shown above the account.

    Attributes:
        news: the name of the message in the template.
        text: the new key or reconciliation address.
    """

    news: str = ""
    status: int = 200
    text: str = ""


class OpenedRecord(NamedTuple):
    """A record or an analysis that the account opened this month.

    Attributes:
        module: "" for a record, otherwise the module of the analysis.
        nom: the name of the company; its identifier if the served data do not have the company; "" for the analysis
            of a market.
        path: the page of the company, or "".
    """

    at: datetime
    credits: int
    module: str
    iso2: str
    nom: str
    path: str


async def show(request: PageRequest) -> Response:
    """The page of the account, with a new key or address if the request has its token, or the outcome of a form.

    Raises:
        StoreUnavailable
    """
    session = _session(request)
    for kind in (_KEY, _ADDRESS):
        token = last_value(request.pairs, kind)
        if token is not None and not request.sent.head:  # a HEAD request must not use up the text
            text = await _unsealed_text(request, session, token)
            if text and kind == _ADDRESS:
                service = request.server.product.operation("reconcile")
                text = f"{request.origin}{service.path}/{text}" if service else text
            news = f"{kind}_{'made' if text else 'shown'}"
            return await _account_page(request, _Notice(news, text=text))
    news = _PASSWORD_CHANGED if last_value(request.pairs, _PASSWORD_CHANGED) is not None else ""
    if last_value(request.pairs, "paiement") == "recu":  # Stripe sends people back to this address
        news = "paid"
    if (confirmation := last_value(request.pairs, "confirmation")) in ("envoyee", "faite"):
        news = f"confirmation_{confirmation}"
    return await _account_page(request, _Notice(news))


async def create_key(request: PageRequest) -> Response:
    """Make a key if the plan allows a further key (§5 rule 6), and redirect to the page that shows it."""
    session = _session(request)
    keys = await request.store.read(account_rows.keys_of, session.account.id)
    # `connues` is the number of keys when the form was made. If it differs, the form was sent twice, or a
    # further key was made since.
    if request.form.get("connues") != str(len(keys)):
        return await _account_page(request, _Notice("already", 409))
    return await new_key(request, request.form.get("libelle", "").strip()[:_LONGEST_LABEL])


async def new_key(request: PageRequest, label: str, *, cookie: str | None = None) -> Response:
    """Make a key and redirect to the page that shows the key; the response also sets `cookie`."""
    session = _session(request)
    throttle_of(request.server).count_new_key(session.account.id, request.now)
    try:
        text = await _create_secret(request, session.account.id, label, KEYS)
    except NotAllowedError:
        return await _account_page(request, _Notice("too_many", 409))
    return await _redirect_to_secret(request, session, _KEY, text, cookie)


async def _redirect_to_secret(
    request: PageRequest, session: Session, kind: str, text: str, cookie: str | None = None
) -> Response:
    """Store `text`, a new key or address, encrypted for a short time; redirect to the page that shows it once."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    name = credentials.sealed_name(token, session.token)
    sealed = credentials.seal_or_open(token, session.token, text.encode())
    await request.ledger.submit(activity.keep_sealed, name, sealed, seconds(request.now))
    return see_other(f"/compte?{kind}={token}#{kind}", cookie)


async def _unsealed_text(request: PageRequest, session: Session, token: str) -> str:
    """Take out and decrypt the new key or address that `_redirect_to_secret` stored encrypted for this session.

    "" if it was shown before or has expired.
    """
    name = credentials.sealed_name(token, session.token)
    sealed = await request.ledger.submit(activity.take_sealed, name, seconds(request.now))
    return credentials.seal_or_open(token, session.token, sealed or b"").decode()


async def _create_secret(request: PageRequest, account: str, label: str, kind: KeyKind) -> str:
    """Make a key or a reconciliation address; return its text, which is not stored.

    Raises:
        NotAllowedError: the account has as many as its plan allows.
    """
    key, text = new_values.new_key(account, request.now, label=label, kind=kind)
    digest = credentials.secret_digest(text)
    await request.ledger.submit(account_rows.create_key, key, digest, request.server.plans, kind)
    return text


async def revoke_key(request: PageRequest) -> Response:
    """Revoke a key of this organisation.

    Raises:
        ApiError: 404: the key does not exist, or belongs to another organisation.
    """
    session = _session(request)
    key_id = request.form.get("cle", "")
    if key_id not in {
        key.id for key in await request.store.read(account_rows.keys_of, session.account.id)
    }:
        raise ApiError("cle_introuvable", key=key_id[:40])
    await request.ledger.submit(account_rows.revoke_key, key_id, iso(request.now))
    return see_other("/compte#cles")


async def create_address(request: PageRequest) -> Response:
    """Make a reconciliation address, for a client that cannot send its key in a header (extensions X5).

    Redirects to the page that shows the address once. If the form was sent twice, or the account has as many addresses
    as it may have, the response is the page of the account with a message (409).
    """
    session = _session(request)
    addresses = await request.ledger.read(account_rows.keys_of, session.account.id, ADDRESSES)
    # As in `create_key`, a different number means that the form was sent twice.
    if request.form.get("connues") != str(len(addresses)):
        return await _account_page(request, _Notice("address_already", 409))
    label = request.form.get("libelle", "").strip()[:_LONGEST_LABEL]
    throttle_of(request.server).count_new_key(session.account.id, request.now)
    try:
        token = await _create_secret(request, session.account.id, label, ADDRESSES)
    except NotAllowedError:
        return await _account_page(request, _Notice("too_many_addresses", 409))
    return await _redirect_to_secret(request, session, _ADDRESS, token)


async def revoke_address(request: PageRequest) -> Response:
    """Revoke a reconciliation address (a secret URL for OpenRefine, which sends no key in a header).

    The form has the id of the address; the response leads back to the list of addresses.

    Raises:
        ApiError: 404: the address does not exist, or belongs to another organisation.
    """
    session = _session(request)
    address_id = request.form.get("adresse", "")
    addresses = await request.ledger.read(account_rows.keys_of, session.account.id, ADDRESSES)
    if address_id not in {address.id for address in addresses}:
        raise ApiError("cle_introuvable", key=address_id[:40])
    await request.ledger.submit(account_rows.revoke_key, address_id, iso(request.now), ADDRESSES)
    return see_other("/compte#adresses")


async def change_password(request: PageRequest) -> Response:
    """Change the password: all sessions end, and a new one begins here.

    The account is shown with a message if the current password is wrong (403) or the new one cannot be used (422).

    Raises:
        ApiError: 429, 503.
    """
    session, throttle = _session(request), throttle_of(request.server)
    email = session.person.email
    device = sessions.device(request.context, request.device, email)
    # The check of the current password counts as an attempt to log in.
    throttle.count_log_in(request.trace.address, email, request.now, device)
    current = request.form.get("actuel", "")
    if not await throttle.is_right(current, session.person.password, trusted=True):
        return await _account_page(request, _Notice("wrong_password", 403))
    new = request.form.get("nouveau", "")
    if password_fault(request, new):
        return await _account_page(request, _Notice("bad_password", 422))
    hashed = await throttle.hash_password(new, trusted=True)
    person = await request.ledger.submit(tickets.replace_password, session.person.id, hashed)
    _, cookie = await sessions.begin_session(request.context, person, request.now)
    return see_other(f"/compte?{_PASSWORD_CHANGED}=1#mot-de-passe", cookie)


def password_fault(request: PageRequest, password: str) -> str | None:
    """The reason why this text cannot be a password, or None."""
    if credentials.is_allowed_password(password):
        return None
    return request.t(
        f"{credentials.SHORTEST_PASSWORD} caractères au moins, pas toujours les mêmes. Une phrase convient.",
        f"At least {credentials.SHORTEST_PASSWORD} characters, not always the same. A phrase will do.",
    )


async def _account_page(request: PageRequest, notice: _Notice) -> Response:
    """The page of the account: plan, usage, keys, addresses, payments and exports, below the outcome of a form.

    If the browser is not yet marked for this person, the response also sets the cookie of the device.
    """
    session = _session(request)
    plans, account = request.server.plans, session.account
    plan = subscribed_plan(account, plans)
    cookie = None
    if request.keep is None and not sessions.device(
        request.context, request.device, session.person.email
    ):
        # The response of the log-in sets the cookie of the session, and a response can set only one cookie. So the
        # cookie of the device is set here, on the page to which the log-in redirects.
        cookie = sessions.device_cookie(request.context, session.person)
    ledger, now, unsaved = request.ledger, request.now, request.server.key_usage.unsaved_calls
    with ledger.batch_reads():
        all_keys = ledger.read(account_rows.keys_of, account.id)
        addresses = ledger.read(account_rows.keys_of, account.id, ADDRESSES)
        usage = ledger.usage(account.id, plan, now)
        paid = ledger.read(payments.payments_of, account.id)
        exported = ledger.read(exports.counted_exports, account.id)
        members = ledger.read(people.count_people, account.id)
        by_day = ledger.read(activity.calls_by_day, account.id, _DAYS, now)
        open_tickets = ledger.read(tickets.valid_tickets, account.id, seconds(now))
        key_use = ledger.read(activity.key_use, account.id, _DAYS, now, *unsaved)
        charges = ledger.read(calls.recent_charges, account.id, now)
        own_lists = ledger.read(lists.lists_of, account.id, seconds(now))
    use = await key_use
    last_exports = await exported
    keys = sorted(await all_keys, key=lambda key: key.created, reverse=True)
    return page(
        request, "account.html",
        status=notice.status,
        headers={"Set-Cookie": cookie} if cookie else {},
        account=account,
        person=session.person,
        unconfirmed=request.is_unconfirmed,
        plan=plan,
        key_plan=effective_plan(account, plans),
        has_tool=has_tool(account, plans),
        opened=_opened_records(request, await charges),
        usage=await usage,
        keys=keys,
        lists=await own_lists,
        lists_most=lists.LISTS_MOST,
        active=sum(key.revoked is None for key in keys),
        addresses=await addresses,
        payments=await paid,
        exports=[(export, _repeat_fields(export)) for export in last_exports],
        has_lists=_has_lists(last_exports),
        billing=request.server.service(StripeAccount) is not None,
        plan_name=lambda slug: request.t(plans[slug].nom, plans[slug].nom_en),
        day_of=lambda seconds: datetime.fromtimestamp(seconds, UTC).date().isoformat(),
        by_day=await by_day,
        by_key=use.calls,
        last_used=use.last,
        people=await members,
        unsent=sum(
            bool(ticket.error) and ticket.mail != tickets.SENT
            for ticket in await open_tickets
        ),
        news=notice.news,
        text=notice.text,
        first_call=_first_call(request, notice.text) if notice.news == f"{_KEY}_made" else (),
    )  # fmt: skip


def _first_call(request: PageRequest, key: str) -> Sequence[CodeText]:
    """Programs that search with a new key, in each language of the manual; none if the product lacks search or docs."""
    search = manual(request.server.product).references["en"].operations.get("searchCompanies")
    if search is None or "/docs" not in request.context.pages:
        return ()
    return search.request.replace_query(limit=3).texts(request.origin, key)


def _session(request: PageRequest) -> Session:
    """The session of the person, who is logged in because the routes are `personal`."""
    assert request.session  # always, because the routes of these pages are `personal`
    return request.session


def _opened_records(request: PageRequest, opened: Sequence[Opening]) -> Sequence[OpenedRecord]:
    """The records of the last openings of the month, in the order of `opened`."""
    try:
        with request.server.published.lease() as generation:
            return [_opened_record(request, generation.shards, opening) for opening in opened]
    except ApiError:  # no data are served yet, so the page has identifiers instead of names
        return [_opened_record(request, None, opening) for opening in opened]


def _opened_record(request: PageRequest, base: ShardSet | None, opening: Opening) -> OpenedRecord:
    """An opening, with the name and the page of the company if the served data have the company.

    The subject of an opening is `<iso2>/<identifier>` for a record. For an analysis, the module comes first.
    """
    at, credits, subject = opening.at, opening.credits, opening.subject
    module_name, _, company = subject.partition("/")
    if module_name == MARCHE:
        return OpenedRecord(at, credits, MARCHE, "", "", "")
    module = ENTREPRISE if module_name == ENTREPRISE else ""
    iso2, _, identifier = (company if module else subject).partition("/")
    shard = base.get(iso2) if base else None
    row = None if shard is None else shard.find(identifier)
    if shard is None or row is None:
        return OpenedRecord(at, credits, module, iso2, identifier, "")
    nom = str(shard.company(row)["nom"] or identifier)
    path = request.context.pages.company_path(iso2, identifier)
    return OpenedRecord(at, credits, module, iso2, nom, path)


def _has_lists(exports: Iterable[CountedExport]) -> bool:
    """Whether one of these exports was of several `ids`, so of a list, whose own columns a repeated export lacks."""
    return any(
        name == "ids" and "," in value
        for export in exports
        for name, value in parse_qsl(export.search or "")
    )


def _repeat_fields(export: CountedExport) -> dict[str, str]:
    """The fields of the form that repeats an export; empty if the parameters of the export were not stored."""
    if export.search is None:
        return {}
    parameters = parse_qsl(export.search)
    fields = {
        name: ",".join(value for parameter, value in parameters if parameter == name)
        for name in EXPORT_FIELDS
    }
    search = urlencode(pairs_without(parameters, EXPORT_FIELDS))
    return {"recherche": search, **fields, "format": export.format}
