"""The modules of §8 that make analyses (extension X11): who has them, who may try, what they cost. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from quota.accounts import Account
from quota.plans import Plan
from serve.access.caller import Caller
from serve.access.next_plan import lacks_tool
from serve.contract import errors
from serve.contract.prices import analysis_credits
from serve.contract.text import Text

# The modules, as plans and `prices` name them.
ENTREPRISE: Final = "entreprise"
MARCHE: Final = "marche"


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
