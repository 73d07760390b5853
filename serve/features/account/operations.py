"""The operation of an account, and the services of its pages: mail and payments, if the settings have them.

GET /api/v1/compte returns the rights and the usage of an organisation (contract D15). The route is free and not
metered, so that a client can check its credits before a call; only the burst limit applies. Without a valid key, the
route answers 401 `compte_requis` (§7), for a visitor and for an invalid key alike, as a visitor has nothing to see.
"""

from typing import Final

from quota.accounts import Account, Key, has_tool
from quota.ledger import account_rows
from quota.ledger.calls import Meter
from serve.access import counter_headers
from serve.access.burst_gate import Limiter
from serve.access.call import NO_STORE, Request, Result
from serve.access.context import ServerContext
from serve.contract.answers import Quota
from serve.contract.feature import Feature, OpenFeature, Operation
from serve.features.account.answers import (
    Cle,
    Compte,
    Compteurs,
    CreditsDuMois,
    Limites,
    Organisation,
)
from serve.features.account.login_throttle import LoginThrottle
from serve.features.account.outbox import Outbox
from serve.features.account.stripe_account import StripeAccount
from serve.request import reader


async def compte(request: Request) -> Result[Compte]:
    """The plan, its limits, every counter, the credits and the keys of an account.

    Raises:
        ApiError: 400: the route has no parameters.
        StoreUnavailable
    """
    reader.refuse_parameters(request.pairs)
    account, plan, plans = request.account, request.caller.plan, request.context.plans
    with request.store.batch_reads():
        counters = request.store.usage(account.id, plan, request.now)
        keys = request.store.read(account_rows.keys_of, account.id)
    usage = await counters
    content = Compte(
        compte=_organisation(account),
        plan=plan.slug,
        plan_souscrit=account.plan,
        outil_api=has_tool(account, plans),
        limites=Limites(
            resultats_par_recherche=plan.resultats_par_recherche,
            lignes_par_appel=plan.lignes_par_appel,
            appels_api_par_minute=request.limits.par_minute,
            appels_api_par_jour=plan.appels_api_par_jour,
            exports_par_mois=plan.exports_par_mois,
            lignes_par_export=plan.lignes_par_export,
            societes_avec_comptes_par_export=plan.societes_avec_comptes_par_export,
            credits_par_mois=plan.credits_par_mois,
            cles_actives=plans[account.plan].cles_actives,
            coordonnees=plan.coordonnees,
            etats_financiers=plan.etats_financiers,
            essais_par_mois=plan.essais_par_mois,
        ),
        compteurs=Compteurs(**{meter.type: _quota(meter) for meter in usage.meters}),
        credits=CreditsDuMois(
            dotation=usage.credits.grant,
            utilises=usage.credits.used,
            packs=usage.credits.packs,
            restants=usage.credits.left,
            reinitialisation=counter_headers.iso(usage.credits.reset),
        ),
        cles=[_key_object(key) for key in await keys],
        offre_suivante=request.offer,
    )
    headers = counter_headers.calls(request.limits, usage.calls, request.left, request.now)
    return Result(200, content, {**NO_STORE, **headers}, "free")


def _organisation(account: Account) -> Organisation:
    """An account as the object of the answer."""
    return Organisation(
        id=account.id,
        nom=account.nom,
        modules=account.modules,
        creation=account.created,
    )


def _quota(meter: Meter) -> Quota:
    """A counter as the object of the answer."""
    return Quota(**counter_headers.quota(meter.type, meter.limit, meter.used, meter.reset))


def _key_object(key: Key) -> Cle:
    """A key as its owner can see it, with at most the last four characters of its text (A11)."""
    return Cle(
        id=key.id,
        libelle=key.label,
        fin=key.last4,
        creation=key.created,
        revocation=key.revoked,
    )


def open_account(context: ServerContext, limiter: Limiter) -> OpenFeature:
    """Open the limits of log-ins, and the mail and the payments of the settings.

    Raises:
        NotAllowedError, OSError: a setting cannot be used.
    """
    config, holder = context.config, context.holder
    context.services[LoginThrottle] = LoginThrottle(limiter, config.debit)
    if config.paiement:
        context.services[StripeAccount] = StripeAccount(config.paiement, config.base_url)
    if not config.courriel:
        return OpenFeature()
    outbox = Outbox(config.courriel, lambda: holder.store.ledger, config.base_url, context.now)
    context.services[Outbox] = outbox
    context.metrics.mails = outbox.count
    return OpenFeature(background=outbox.run)


FEATURE: Final = Feature(
    __package__,
    (
        Operation(
            "readAccount", "/api/v1/compte", "compte", "account", "Account",
            compte, Compte, place=170, account=True, headers=["Vary"],
        ),
    ),
    open_account,
)  # fmt: skip
