"""The modules of §8 that make analyses (extension X11): who has them, who may try, what they cost. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from quota.plans import Plan
from serve.access.caller import Caller
from serve.contract import errors
from serve.contract.prices import analysis_credits


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
    bought = caller.account.modules if plan.sur_mesure and caller.account else plan.modules
    if module in bought:
        return AnalysisTerms(analysis_credits()[module])
    if plan.essais_par_mois:
        return AnalysisTerms(0, plan.essais_par_mois)
    raise errors.module_non_inclus(module, first_plan_with(module, plan, plans))


def first_plan_with(module: str, plan: Plan, plans: Mapping[str, Plan]) -> str:
    """The first plan of the grid that has a module, and all those of the caller's plan."""
    wanted = {module, *plan.modules}
    return next(slug for slug, other in plans.items() if wanted <= set(other.modules))
