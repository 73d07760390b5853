"""/tarifs: the grid of §8.1, and buying; invoices, and the events of Stripe at /paiement/evenements (X10).

People pay on pages of Stripe; nothing of a card comes here. An event only says what to look at: the
state of a subscription is asked of Stripe, so an event that comes twice, late or out of order changes
nothing (quota/ledger/payments.py). An answer other than 200 makes Stripe send the event again.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from quota.errors import NotAllowedError, UnknownError
from quota.ledger import payments
from quota.ledger.payments import Payment, served_subscription
from quota.ledger.people import ADMINISTRATOR
from quota.periods import seconds
from quota.plans import Plan
from serve.access.call import Response
from serve.access.rights import apercu, monthly_price
from serve.config import PACK_CREDITS
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.seed_tables import RECORD_CREDITS, analysis_credits
from serve.features.account.stripe_account import Buyer, SignatureError, StripeAccount, StripeError
from serve.surfaces.site.page_request import PageRequest, Session
from serve.surfaces.site.render import is_token_valid, page, see_other

# Attempts to store a state that no other process has outdated meanwhile.
_ATTEMPTS: Final = 5

# What the plans are compared by.
_LIMITS: Final = (
    "resultats_par_recherche", "lignes_par_appel", "appels_api_par_jour", "exports_par_mois",
    "lignes_par_export", "societes_avec_comptes_par_export", "coordonnees", "etats_financiers",
    "cles_actives", "credits_par_mois",
)  # fmt: skip

_log: Final = logging.getLogger("serve.features.account.payment_page")


async def prices(request: PageRequest) -> Response:
    """The plans side by side."""
    all_plans = request.server.plans.values()
    plans = [plan for plan in all_plans if not apercu(plan)]
    return page(
        request, "prices.html",
        plans=plans,
        visitor=next(plan for plan in all_plans if apercu(plan)),
        monthly={plan.slug: monthly_price(plan) for plan in plans},
        contained={plan.slug: _cheaper_plan(plan, plans) for plan in plans},
        sold=[plan.slug for plan in plans if is_sold(plan)],
        stripe=request.server.service(StripeAccount),
        pack=PACK_CREDITS,
        contact=request.server.config.operator_address,
        mine=request.session.account.plan if request.session else None,
        cost=RECORD_CREDITS,
        scale=analysis_credits(),
    )  # fmt: skip


async def buy(request: PageRequest) -> Response:
    """Redirect to the page of Stripe where a plan or a pack is paid.

    An organisation with a subscription is led to Stripe's portal to end it first, or it would have two.

    Raises:
        ApiError: 403, 503.
        StoreUnavailable
    """
    stripe = _account(request)
    session = request.session
    if session is None:
        return see_other("/connexion?suite=/tarifs")
    _check(request, session)
    paid = await request.ledger.read(payments.of_account, session.account.id)
    running = served_subscription(paid)
    customer = next((one.customer for one in paid if one.customer), "")
    buyer = Buyer(session.account.id, session.person.email, customer, request.lang)
    try:
        if "pack" in request.form and stripe.settings.pack_eur:
            return see_other(await stripe.buy_pack(buyer))
        plan = request.server.plans.get(request.form.get("offre", ""))
        if plan is None or not is_sold(plan):
            raise errors.not_set_up(
                "devis", request.server.config.operator_address, page="sur_devis"
            )
        if running:
            return see_other(await stripe.portal(running.customer))
        tool = request.form.get("outil_api") == "1" and plan.outil_api_eur is not None
        return see_other(await stripe.subscribe(buyer, plan, api_tool=tool))
    except StripeError as error:
        _log.error("Stripe: %s; see its dashboard, the caller was asked to try again", error)
        raise ApiError("indisponible", "paiement_indisponible") from error


async def invoices(request: PageRequest) -> Response:
    """Redirect to the page of Stripe with the invoices, the card and the cancellation.

    Raises:
        ApiError: 403, 404, 503.
        StoreUnavailable
    """
    stripe, session = _account(request), request.session
    assert session  # the route is `personal`
    _check(request, session)
    paid = await request.ledger.read(payments.of_account, session.account.id)
    customer = next((one.customer for one in paid if one.customer), "")
    if not customer:
        raise ApiError("sans_facture")
    try:
        return see_other(await stripe.portal(customer))
    except StripeError as error:
        _log.error("Stripe: %s; see its dashboard, the caller was asked to try again", error)
        raise ApiError("indisponible", "paiement_indisponible") from error


async def event(request: PageRequest) -> Response:
    """Do what an event of Stripe asks for, once.

    Raises:
        ApiError: 400: not signed by Stripe; 503: to be sent again.
        StoreUnavailable
    """
    stripe = _account(request)
    try:
        stripe_event = await stripe.event(request.file, request.form.get("signature", ""))
    except SignatureError as error:
        raise ApiError("signature_refusee") from error
    try:
        if stripe_event.subscription:
            await _synchronize(request, stripe, stripe_event.subscription)
        if pack := stripe_event.pack:
            await _apply(request, pack, lambda: request.ledger.submit(payments.add_pack, pack))
    except StripeError as error:
        _log.error("event %s: %s; Stripe sends it again", stripe_event.kind, error)
        raise ApiError("indisponible", "paiement_indisponible") from error
    return Response(200, b"{}", {"Content-Type": "application/json", "Cache-Control": "no-store"})


def is_sold(plan: Plan) -> bool:
    """Whether the plan has a price, and is not free."""
    return bool(plan.prix_annuel_eur)


def _cheaper_plan(plan: Plan, plans: Sequence[Plan]) -> Plan | None:
    """The dearest plan with a price that `plan` exceeds in some limits, and equals in all others."""
    contained = [
        other
        for other in plans
        if other is not plan
        and other.prix_annuel_eur is not None
        and all(getattr(other, name) <= getattr(plan, name) for name in _LIMITS)
        and set(other.modules) <= set(plan.modules)
    ]
    return max(contained, key=lambda other: other.prix_annuel_eur or 0, default=None)


async def _synchronize(request: PageRequest, stripe: StripeAccount, name: str) -> None:
    """Store the state of a subscription as it is now.

    Raises:
        StripeError: it cannot be asked, or other processes were faster each time.
        ApiError: as `_apply`.
    """
    for _ in range(_ATTEMPTS):
        known = await request.ledger.read(payments.version, name)
        state = await stripe.subscription(name)
        if state is None:
            return
        applying = partial(
            request.ledger.submit, payments.apply, state, known, request.server.plans
        )
        if await _apply(request, state, applying):
            return
    raise StripeError(f"{name} is being changed by other processes")


async def _apply(
    request: PageRequest, payment: Payment, apply: Callable[[], Awaitable[bool]]
) -> bool:
    """Apply a payment, or note for the operator that it has no effect.

    Raises:
        ApiError: 503: its account was removed, or its plan is no more; Stripe sends it again for days.
    """
    try:
        return await apply()
    except (UnknownError, NotAllowedError) as error:
        moment = seconds(request.now)
        await request.ledger.submit(payments.note_unapplied, payment, str(error), moment)
        _log.error(
            "%s was paid and not applied: %s; `quota payment unapplied` lists it", payment.id, error
        )
        raise ApiError("indisponible", "paiement_sans_effet") from error


def _account(request: PageRequest) -> StripeAccount:
    if stripe := request.server.service(StripeAccount):
        return stripe
    raise errors.not_set_up(
        "paiement", request.server.config.operator_address, page="paiement_ferme"
    )


def _check(request: PageRequest, session: Session) -> None:
    """Check that an administrator sent a form of ours. Raises ApiError 403."""
    if not is_token_valid(request):
        raise ApiError("formulaire_refuse")
    if session.person.role != ADMINISTRATOR:
        raise ApiError("administrateurs_seulement")
    if request.is_unconfirmed:
        raise ApiError("adresse_non_confirmee", email=session.person.email)
