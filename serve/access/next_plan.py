"""`offre_suivante` (§2.3): the plan that is proposed next, with its price and figures.

Which one it is stands in the plans file (contract C1: `marches` and `carte` are never proposed);
here are the price of a month and the shape.
"""

from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

import orjson

from quota.plans import Plan
from serve.access.caller import Caller

# Annual billing costs 10 % less than twelve months (§2.3, contract C3).
_YEAR: Final = Decimal(12) * Decimal("0.9")
_CENT: Final = Decimal("0.01")


def offers(plans: Mapping[str, Plan]) -> Mapping[str, bytes]:
    """For the slug of each plan, the JSON of its `offre_suivante`; `null` on the highest."""
    return {slug: orjson.dumps(_offer(plans.get(plan.suivant))) for slug, plan in plans.items()}


def monthly(plan: Plan) -> Decimal:
    """The price of one month billed monthly (C3); 0 where no price is published."""
    return ((plan.prix_annuel_eur or Decimal(0)) / _YEAR).quantize(_CENT, ROUND_HALF_UP)


def _offer(plan: Plan | None) -> dict[str, Any] | None:
    if plan is None:
        return None
    annual = plan.prix_annuel_eur or Decimal(0)  # quota.plans: a proposed plan has a price
    return {
        "plan": plan.slug,
        "nom": plan.nom,
        "nom_en": plan.nom_en,
        "prix_mensuel_eur": _number(monthly(plan)),
        "prix_annuel_eur": _number(annual),
        "resultats_par_recherche": plan.resultats_par_recherche,
        "exports_par_mois": plan.exports_par_mois,
        "lignes_par_export": plan.lignes_par_export,
        "appels_api_par_jour": plan.appels_api_par_jour,
        "lignes_par_appel": plan.lignes_par_appel,
        "societes_avec_comptes_par_export": plan.societes_avec_comptes_par_export,
        "coordonnees": plan.coordonnees,
        "etats_financiers": plan.etats_financiers,
        "url": "/tarifs" if annual else "/inscription",
    }


def _number(amount: Decimal) -> int | float:
    """A JSON number without a needless `.0`."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


# MERGED serve/remedies.py
# What a caller can do about a limit that is reached: the tool that is missing, the next plan.


def remedy(
    caller: Caller, plans: Mapping[str, Plan], figure: Callable[[Plan], str], otherwise: str
) -> str:
    """The remedies with their figures (§4.6, §7), or `otherwise` where there are none.

    Args:
        figure: what a plan allows: `1000 appels par jour`.
    """
    remedies = []
    if caller.souscrit is not None:
        paid = plans[caller.souscrit]
        remedies.append(f"Avec l'outil API, votre offre {paid.nom} permet {figure(paid)}")
    following = plans.get(caller.plan.suivant)
    if following is not None and following.slug != caller.souscrit:  # which is had already
        remedies.append(f"Offre suivante : {following.nom}, {figure(following)} (/tarifs)")
    return ". ".join(remedies) or otherwise
