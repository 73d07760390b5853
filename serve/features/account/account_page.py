"""/compte: the plan of an organisation, its usage, its keys, and the password of the person.

A key or a reconciliation address is shown once (A11), by the page to which the form that made it redirects.
Until then it is kept sealed, for minutes; a reload of that page says that it was shown. A form that is sent
again makes no second one: it contains their number at the time it was drawn.
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

_LONGEST_LABEL: Final = 60
_TOKEN_BYTES: Final = 32
# The parameters with the token of a key, or an address, that is to be shown.
_KEY: Final = "cle"
_ADDRESS: Final = "adresse"
# The parameter that says that the password was changed.
_PASSWORD_CHANGED: Final = "mot_de_passe_change"
# The days of the picture of calls.
_DAYS: Final = 30


@dataclass(frozen=True, slots=True)
class _Notice:
    """The outcome of a form, shown above the account.

    Attributes:
        news: its name in the template.
        text: the key, or the reconciliation address, that was made.
    """

    news: str = ""
    status: int = 200
    text: str = ""


class OpenedRecord(NamedTuple):
    """A record or an analysis that the account opened this month.

    Attributes:
        module: "" for a record, otherwise that of the analysis.
        nom: of the company; its identifier where the served data have no such company (any more), and ""
            for the analysis of a market.
        path: the page of the company, or "".
    """

    at: datetime
    credits: int
    module: str
    iso2: str
    nom: str
    path: str


async def show(request: PageRequest) -> Response:
    """The account.

    Raises:
        StoreUnavailable
    """
    session = _session(request)
    for kind in (_KEY, _ADDRESS):
        token = last_value(request.pairs, kind)
        if token is not None and not request.sent.head:
            text = await _unsealed_text(request, session, token)
            if text and kind == _ADDRESS:
                service = request.server.product.operation("reconcile")
                text = f"{request.origin}{service.path}/{text}" if service else text
            news = f"{kind}_{'made' if text else 'shown'}"
            return await _page(request, _Notice(news, text=text))
    news = _PASSWORD_CHANGED if last_value(request.pairs, _PASSWORD_CHANGED) is not None else ""
    if last_value(request.pairs, "paiement") == "recu":
        news = "paid"
    if (confirmation := last_value(request.pairs, "confirmation")) in ("envoyee", "faite"):
        news = f"confirmation_{confirmation}"
    return await _page(request, _Notice(news))


async def create_key(request: PageRequest) -> Response:
    """Make one more key, if the plan allows it (§5 rule 6)."""
    session = _session(request)
    keys = await request.store.read(account_rows.keys_of, session.account.id)
    if request.form.get("connues") != str(len(keys)):
        return await _page(request, _Notice("already", 409))
    return await new_key(request, request.form.get("libelle", "").strip()[:_LONGEST_LABEL])


async def new_key(request: PageRequest, label: str, *, cookie: str | None = None) -> Response:
    """Make a key and redirect to the page that shows it; `cookie` is set by the same response."""
    session = _session(request)
    throttle_of(request.server).make_key(session.account.id, request.now)
    try:
        text = await _create(request, session.account.id, label, KEYS)
    except NotAllowedError:
        return await _page(request, _Notice("too_many", 409))
    return await _shown_next(request, session, _KEY, text, cookie)


async def _shown_next(
    request: PageRequest, session: Session, kind: str, text: str, cookie: str | None = None
) -> Response:
    """A redirect to the page that shows a new key or address."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    name = credentials.sealed_name(token, session.token)
    sealed = credentials.seal_or_open(token, session.token, text.encode())
    await request.ledger.submit(activity.keep_sealed, name, sealed, seconds(request.now))
    return see_other(f"/compte?{kind}={token}#{kind}", cookie)


async def _unsealed_text(request: PageRequest, session: Session, token: str) -> str:
    """The key or address that this session sealed; "" the second time, and after some minutes."""
    name = credentials.sealed_name(token, session.token)
    sealed = await request.ledger.submit(activity.take_sealed, name, seconds(request.now))
    return credentials.seal_or_open(token, session.token, sealed or b"").decode()


async def _create(request: PageRequest, account: str, label: str, kind: KeyKind) -> str:
    """Make a key or a reconciliation address; returns its text, which is not stored.

    Raises:
        NotAllowedError: the account has as many as its plan allows.
    """
    key, text = new_values.new_key(account, request.now, label=label, kind=kind)
    digest = credentials.key_digest(text)
    await request.ledger.submit(account_rows.create_key, key, digest, request.server.plans, kind)
    return text


async def revoke_key(request: PageRequest) -> Response:
    """Revoke a key of this organisation.

    Raises:
        ApiError: 404: the key does not exist, or belongs to another organisation.
    """
    session = _session(request)
    wanted = request.form.get("cle", "")
    if wanted not in {
        key.id for key in await request.store.read(account_rows.keys_of, session.account.id)
    }:
        raise ApiError("cle_introuvable", key=wanted[:40])
    await request.ledger.submit(account_rows.revoke_key, wanted, iso(request.now))
    return see_other("/compte#cles")


async def create_address(request: PageRequest) -> Response:
    """Make one more reconciliation address, for a client that sends no header (extensions X5)."""
    session = _session(request)
    known = await request.ledger.read(account_rows.keys_of, session.account.id, ADDRESSES)
    if request.form.get("connues") != str(len(known)):
        return await _page(request, _Notice("address_already", 409))
    label = request.form.get("libelle", "").strip()[:_LONGEST_LABEL]
    throttle_of(request.server).make_key(session.account.id, request.now)
    try:
        token = await _create(request, session.account.id, label, ADDRESSES)
    except NotAllowedError:
        return await _page(request, _Notice("too_many_addresses", 409))
    return await _shown_next(request, session, _ADDRESS, token)


async def revoke_address(request: PageRequest) -> Response:
    """Revoke a reconciliation address of this organisation.

    Raises:
        ApiError: 404: it does not exist, or belongs to another organisation.
    """
    session = _session(request)
    wanted = request.form.get("adresse", "")
    known = await request.ledger.read(account_rows.keys_of, session.account.id, ADDRESSES)
    if wanted not in {one.id for one in known}:
        raise ApiError("cle_introuvable", key=wanted[:40])
    await request.ledger.submit(account_rows.revoke_key, wanted, iso(request.now), ADDRESSES)
    return see_other("/compte#adresses")


async def change_password(request: PageRequest) -> Response:
    """Change the password: all sessions end, and a new one begins here.

    Raises:
        ApiError: 429, 503.
    """
    session, throttle = _session(request), throttle_of(request.server)
    email = session.person.email
    device = sessions.device(request.context, request.device, email)
    throttle.log_in(request.trace.address, email, request.now, device)
    current = request.form.get("actuel", "")
    if not await throttle.is_right(current, session.person.password, known=True):
        return await _page(request, _Notice("wrong_password", 403))
    new = request.form.get("nouveau", "")
    if wrong_password(request, new):
        return await _page(request, _Notice("bad_password", 422))
    hashed = await throttle.hash_password(new, known=True)
    person = await request.ledger.submit(tickets.replace_password, session.person.id, hashed)
    _, cookie = await sessions.begin_session(request.context, person, request.now)
    return see_other(f"/compte?{_PASSWORD_CHANGED}=1#mot-de-passe", cookie)


def wrong_password(request: PageRequest, password: str) -> str | None:
    """The reason why this cannot be a password, or None."""
    if credentials.is_allowed_password(password):
        return None
    return request.t(
        f"{credentials.SHORTEST_PASSWORD} caractères au moins, pas toujours les mêmes. Une phrase convient.",
        f"At least {credentials.SHORTEST_PASSWORD} characters, not always the same. A phrase will do.",
    )


async def _page(request: PageRequest, notice: _Notice) -> Response:
    session = _session(request)
    plans, account = request.server.plans, session.account
    plan = subscribed_plan(account, plans)
    cookie = None
    if request.keep is None and not sessions.device(
        request.context, request.device, session.person.email
    ):
        # The page to which a log-in leads: a response has one Set-Cookie, and that of the log-in is the session.
        cookie = sessions.device_cookie(request.context, session.person)
    ledger, now, unsaved = request.ledger, request.now, request.server.key_usage.unsaved_calls
    with ledger.batch_reads():
        all_keys = ledger.read(account_rows.keys_of, account.id)
        addresses = ledger.read(account_rows.keys_of, account.id, ADDRESSES)
        usage = ledger.usage(account.id, plan, now)
        paid = ledger.read(payments.of_account, account.id)
        exported = ledger.read(exports.counted_exports, account.id)
        members = ledger.read(people.count_of, account.id)
        by_day = ledger.read(activity.calls_by_day, account.id, _DAYS, now)
        open_tickets = ledger.read(tickets.of_account, account.id, seconds(now))
        key_use = ledger.read(activity.key_use, account.id, _DAYS, now, *unsaved)
        charges = ledger.read(calls.recent_charges, account.id, now)
        own_lists = ledger.read(lists.of_account, account.id, seconds(now))
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
        exports=[(one, _repeat_fields(one)) for one in last_exports],
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
    """A search with a key that was just made, in the languages of the documentation, if the product has both."""
    search = manual(request.server.product).references["en"].operations.get("searchCompanies")
    if search is None or "/docs" not in request.context.pages:
        return ()
    return search.request.with_query(limit=3).texts(request.origin, key)


def _session(request: PageRequest) -> Session:
    assert request.session  # the routes of these pages are `personal`
    return request.session


def _opened_records(request: PageRequest, opened: Sequence[Opening]) -> Sequence[OpenedRecord]:
    """The last openings of the month, in their order."""
    try:
        with request.server.published.lease() as generation:
            return [_opened_record(request, generation.shards, one) for one in opened]
    except ApiError:  # there are no data yet: an account has a page all the same
        return [_opened_record(request, None, one) for one in opened]


def _opened_record(request: PageRequest, base: ShardSet | None, opening: Opening) -> OpenedRecord:
    at, credits, subject = opening.at, opening.credits, opening.subject
    head, _, rest = subject.partition("/")
    if head == MARCHE:
        return OpenedRecord(at, credits, MARCHE, "", "", "")
    module = ENTREPRISE if head == ENTREPRISE else ""
    iso2, _, identifier = (rest if module else subject).partition("/")
    shard = base.get(iso2) if base else None
    row = None if shard is None else shard.find(identifier)
    if shard is None or row is None:
        return OpenedRecord(at, credits, module, iso2, identifier, "")
    nom = str(shard.company(row)["nom"] or identifier)
    path = request.context.pages.company_path(iso2, identifier)
    return OpenedRecord(at, credits, module, iso2, nom, path)


def _has_lists(exports: Iterable[CountedExport]) -> bool:
    """Whether one of these exports has the companies of a list."""
    return any(
        name == "ids" and "," in value
        for export in exports
        for name, value in parse_qsl(export.search or "")
    )


def _repeat_fields(export: CountedExport) -> dict[str, str]:
    """The fields of the form that makes an export again; none if its parameters were not kept."""
    if export.search is None:
        return {}
    given = parse_qsl(export.search)
    fields = {
        name: ",".join(value for known, value in given if known == name) for name in EXPORT_FIELDS
    }
    search = urlencode(pairs_without(given, EXPORT_FIELDS))
    return {"recherche": search, **fields, "format": export.format}
