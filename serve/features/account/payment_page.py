"""/tarifs: the table of plans (§8.1) and purchases; invoices, and the events of Stripe at /paiement/evenements (X10).

People pay on pages of Stripe; card data do not reach this server. An event only names its subject. The state of a
subscription is read from Stripe, so an event that comes twice, late or out of order changes nothing
(quota/ledger/payments.py). Stripe sends an event again after any response other than 200.
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
from serve.access.rights import is_visitor_plan, monthly_price
from serve.config import PACK_CREDITS
from serve.contract import errors
from serve.contract.errors import ApiError
from serve.contract.seed_tables import RECORD_CREDITS, analysis_credits
from serve.features.account.stripe_account import Buyer, SignatureError, StripeAccount, StripeError
from serve.surfaces.site.page_request import PageRequest, Session
from serve.surfaces.site.render import is_token_valid, page, see_other

# Attempts to store the state of a subscription, if other processes change it at the same time.
_ATTEMPTS: Final = 5

# The limits by which `_cheaper_plan` compares plans.
_LIMITS: Final = (
    "resultats_par_recherche", "lignes_par_appel", "appels_api_par_jour", "exports_par_mois",
    "lignes_par_export", "societes_avec_comptes_par_export", "coordonnees", "etats_financiers",
    "cles_actives", "credits_par_mois",
)  # fmt: skip

_log: Final = logging.getLogger("serve.features.account.payment_page")


async def prices(request: PageRequest) -> Response:
    """The page with the plans side by side, their prices and the forms to buy them."""
    all_plans = request.server.plans.values()
    plans = [plan for plan in all_plans if not is_visitor_plan(plan)]
    return page(
        request, "prices.html",
        plans=plans,
        visitor=next(plan for plan in all_plans if is_visitor_plan(plan)),
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
    """Redirect to the page of Stripe where a plan or a pack of credits is paid; a visitor is sent to the log-in.

    An organisation with a subscription is sent to Stripe's portal to end it first; otherwise it would have two.

    Raises:
        ApiError: 403, 503.
        StoreUnavailable
    """
    stripe = _stripe_account(request)
    session = request.session
    if session is None:
        return see_other("/connexion?suite=/tarifs")
    _check_buyer(request, session)
    past_payments = await request.ledger.read(payments.payments_of, session.account.id)
    running = served_subscription(past_payments)
    customer = next((payment.customer for payment in past_payments if payment.customer), "")
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
    stripe, session = _stripe_account(request), request.session
    assert session  # the route is `personal`
    _check_buyer(request, session)
    past_payments = await request.ledger.read(payments.payments_of, session.account.id)
    customer = next((payment.customer for payment in past_payments if payment.customer), "")
    if not customer:
        raise ApiError("sans_facture")
    try:
        return see_other(await stripe.portal(customer))
    except StripeError as error:
        _log.error("Stripe: %s; see its dashboard, the caller was asked to try again", error)
        raise ApiError("indisponible", "paiement_indisponible") from error


async def receive_event(request: PageRequest) -> Response:
    """Carry out an event of Stripe, once: store the state of a subscription, or add the credits of a paid pack.

    The response is 200 also for an event about neither, so that Stripe does not send it again.

    Raises:
        ApiError: 400: not signed by Stripe; 503: Stripe sends it again.
        StoreUnavailable
    """
    stripe = _stripe_account(request)
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
    """Whether the plan has a price and is not free."""
    return bool(plan.prix_annuel_eur)


def _cheaper_plan(plan: Plan, plans: Sequence[Plan]) -> Plan | None:
    """The most expensive plan with a price that has no higher limit and no further module than `plan`."""
    contained = [
        other
        for other in plans
        if other is not plan
        and other.prix_annuel_eur is not None
        and all(getattr(other, name) <= getattr(plan, name) for name in _LIMITS)
        and set(other.modules) <= set(plan.modules)
    ]
    return max(contained, key=lambda other: other.prix_annuel_eur or 0, default=None)


async def _synchronize(request: PageRequest, stripe: StripeAccount, subscription_id: str) -> None:
    """Store the current state of a subscription.

    Raises:
        StripeError: Stripe cannot be reached, or other processes were faster each time.
        ApiError: as `_apply`.
    """
    # If another process stores a state meanwhile, the state read here may be older, so it is read again.
    for _ in range(_ATTEMPTS):
        version = await request.ledger.read(payments.version, subscription_id)
        state = await stripe.subscription(subscription_id)
        if state is None:
            return
        applying = partial(
            request.ledger.submit, payments.apply_subscription, state, version, request.server.plans
        )
        if await _apply(request, state, applying):
            return
    raise StripeError(f"{subscription_id} is being changed by other processes")


async def _apply(
    request: PageRequest, payment: Payment, apply: Callable[[], Awaitable[bool]]
) -> bool:
    """Apply a payment, or record for the operator that the payment has no effect.

    Returns the result of `apply`: for a subscription, False if another process has stored a state meanwhile.

    Raises:
        ApiError: 503: the account was removed, or the plan no longer exists; Stripe sends the event again for days.
    """
    try:
        return await apply()
    except (UnknownError, NotAllowedError) as error:
        moment = seconds(request.now)
        await request.ledger.submit(payments.note_unapplied, payment, str(error), moment)
        _log.error(
            "%s was paid but not applied: %s; `quota payment unapplied` lists it", payment.id, error
        )
        raise ApiError("indisponible", "paiement_sans_effet") from error


def _stripe_account(request: PageRequest) -> StripeAccount:
    """The service for payments. Raises ApiError 503: this server takes no payments."""
    if stripe := request.server.service(StripeAccount):
        return stripe
    raise errors.not_set_up(
        "paiement", request.server.config.operator_address, page="paiement_ferme"
    )


def _check_buyer(request: PageRequest, session: Session) -> None:
    """Check that an administrator sent a form of this site. Raises ApiError 403.

    The forms of /tarifs are checked here, because that route is not `guarded`.
    """
    if not is_token_valid(request):
        raise ApiError("formulaire_refuse")
    if session.person.role != ADMINISTRATOR:
        raise ApiError("administrateurs_seulement")
    if request.is_unconfirmed:
        raise ApiError("adresse_non_confirmee", email=session.person.email)
