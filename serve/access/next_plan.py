"""The plan that is proposed next: `offre_suivante` (§2.3), and the remedy of a reached limit (§4.6, §7).

The plans file says which plan follows which (contract C1: `marches` and `carte` are never proposed);
the price of a month and the shape are computed here.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

import orjson

from quota.accounts import OPTION
from quota.plans import Plan
from serve.access.caller import Caller
from serve.contract import errors
from serve.contract.answers import Offre
from serve.contract.text import Text

# Annual billing costs 10 % less than twelve months (§2.3, contract C3).
_YEAR: Final = Decimal(12) * Decimal("0.9")
_CENT: Final = Decimal("0.01")
# The figures that a plan has by the same name.
_SAME: Final = {one.name for one in fields(Offre)} & {
    one.name for one in fields(Plan) if one.name != "prix_annuel_eur"
}


def offers(plans: Mapping[str, Plan]) -> Mapping[str, bytes]:
    """For the slug of each plan, the JSON of its `offre_suivante`; `null` for the highest."""
    return {slug: orjson.dumps(offer(plan, plans)) for slug, plan in plans.items()}


def offer(plan: Plan, plans: Mapping[str, Plan]) -> Offre | None:
    """The `offre_suivante` of a plan; None for the highest."""
    following = plans.get(plan.suivant)
    if following is None:
        return None
    annual = following.prix_annuel_eur or Decimal(0)  # quota.plans: a proposed plan has a price
    return Offre(
        plan=following.slug,
        prix_mensuel_eur=_number(monthly_price(following)),
        prix_annuel_eur=_number(annual),
        url="/tarifs" if annual else "/inscription",
        **{name: getattr(following, name) for name in _SAME},
    )


def monthly_price(plan: Plan) -> Decimal:
    """The price of one month billed monthly, in euros (C3); 0 where no price is published."""
    return ((plan.prix_annuel_eur or Decimal(0)) / _YEAR).quantize(_CENT, ROUND_HALF_UP)


def remedy(
    caller: Caller, plans: Mapping[str, Plan], figure: Callable[[Plan], Text], otherwise: Text
) -> Text:
    """The remedy of a reached limit: the API tool for a plan that is paid for without it, else the next plan.

    Args:
        figure: what a plan allows: `1000 appels par jour`, `1000 calls a day`.
        otherwise: the text where there is no remedy.
    """
    if (missing := tool_remedy(caller, plans, figure)) is not None:
        return missing
    following = plans.get(caller.plan.suivant)
    if following is None:
        return otherwise
    name, allowed = Text(following.nom, following.nom_en), figure(following)
    if lacks_tool(caller, following):
        price = following.outil_api_eur
        return errors.part("offre_suivante_et_outil", plan=name, allowed=allowed, price=price)
    return errors.part("offre_suivante", plan=name, allowed=allowed)


def tool_remedy(
    caller: Caller, plans: Mapping[str, Plan], figure: Callable[[Plan], Text]
) -> Text | None:
    """The API tool, where the plan that is paid for lacks it (A7); None for all others."""
    if caller.souscrit is None:
        return None
    paid = plans[caller.souscrit]
    name, price = Text(paid.nom, paid.nom_en), paid.outil_api_eur
    return errors.part("offre_payee", plan=name, price=price, allowed=figure(paid))


def lacks_tool(caller: Caller, plan: Plan) -> bool:
    """Would the keys of the caller be served at the free level on `plan`, for want of the API tool?"""
    return plan.outil_api == OPTION and not (caller.account and caller.account.outil_api)


def _number(amount: Decimal) -> int | float:
    """A JSON number without a needless `.0`."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)
