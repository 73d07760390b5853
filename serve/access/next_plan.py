"""The plan that is proposed next: `offre_suivante` (§2.3), the remedy of a reached limit (§4.6, §7), and the modules.

The plans file says which plan follows which (contract C1: `marches` and `carte` are never proposed);
the price of a month and the shape are computed here. The modules of §8 make analyses (extension X11): a plan or an
account has them, may try them, or is told the first plan that has them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from decimal import ROUND_HALF_UP, Decimal
from typing import Final, NamedTuple

import orjson

from quota.accounts import OPTION, Account
from quota.plans import Plan
from serve.access.rights import Caller
from serve.contract import errors
from serve.contract.answers import Offre
from serve.contract.seed_tables import analysis_credits
from serve.contract.text import Text

# The modules, as plans and `prices` name them.
ENTREPRISE: Final = "entreprise"
MARCHE: Final = "marche"

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


class AnalysisTerms(NamedTuple):
    """What an analysis costs a caller: credits, or one of `trials` a month at no credits."""

    cost: int
    trials: int | None = None


def terms(caller: Caller, module: str, plans: Mapping[str, Plan]) -> AnalysisTerms:
    """The terms of an analysis.

    Raises:
        ApiError: 403 `module_non_inclus`.
    """
    plan = caller.plan
    if module in _modules(plan, caller.account):
        return AnalysisTerms(analysis_credits()[module])
    if plan.essais_par_mois:
        return AnalysisTerms(0, plan.essais_par_mois)
    if caller.souscrit is not None:
        plan = plans[caller.souscrit]
        if module in _modules(plan, caller.account) or plan.essais_par_mois:
            name = Text(plan.nom, plan.nom_en)
            raise errors.module_non_inclus(module, plan.slug, plan.outil_api_eur, name)
    offer = plans[first_plan_with(module, plan, plans)]
    price = offer.outil_api_eur if lacks_tool(caller, offer) else None
    raise errors.module_non_inclus(module, offer.slug, price)


def _modules(plan: Plan, account: Account | None) -> Sequence[str]:
    """The modules of a plan, or those that its account has bought."""
    return account.modules if plan.sur_mesure and account else plan.modules


def first_plan_with(module: str, plan: Plan, plans: Mapping[str, Plan]) -> str:
    """The first plan of the grid that has a module, and all those of the caller's plan."""
    wanted = {module, *plan.modules}
    return next(slug for slug, other in plans.items() if wanted <= set(other.modules))
