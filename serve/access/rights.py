"""The caller of a request, the rights of the effective plan, and the next plan to propose.

A request without an Authorization header comes from a visitor (A4). One header `Bearer <key>` with the key of an
account identifies that account, at its effective plan (A7). Anything else is a refused key: the caller is served as a
visitor, with status 401 (A1). A revoked key and a key that never existed get the same answer. Later checks use the plan
and not the header.

The numbers of rows that a plan shows of a search and writes to a file (contract C) are computed from the figures of the
plan. `total` does not depend on the limits of a plan, and the limits do not depend on `total` (§8.2 rule 3). offset +
limit never exceeds the cap of the plan, so paging cannot get around the cap (§8.2 rule 2).

The next plan is `offre_suivante` (§2.3) and the remedy of a reached limit (§4.6, §7). The plans file has the order of
the plans (contract C1: `marches` and `carte` are never proposed); the monthly price is computed here. The modules of §8
make analyses (extension X11): a plan or an account has a module, has trials of it, or gets the name of the first plan
that has it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final, NamedTuple

import orjson

from quota.accounts import OPTION, Account, effective_plan
from quota.plans import Plan
from serve.contract import errors
from serve.contract.answers import Offre
from serve.contract.errors import ApiError
from serve.contract.seed_tables import analysis_credits
from serve.contract.text import Text

VISITOR: Final = "visiteur"  # the slug of the plan of visitors

# The modules, as plans and `seeds/analyses.csv` name them.
ENTREPRISE: Final = "entreprise"
MARCHE: Final = "marche"

# A year of annual billing costs as much as 10.8 months billed monthly: 10 % less than twelve (§2.3, contract C3).
_YEAR_IN_MONTHS: Final = Decimal(12) * Decimal("0.9")
_CENT: Final = Decimal("0.01")
# The fields that `Offre` takes unchanged from `Plan`; the price of a year is a Decimal in `Plan`, a number in `Offre`.
_COMMON_FIELDS: Final = {field.name for field in fields(Offre)} & {
    field.name for field in fields(Plan) if field.name != "prix_annuel_eur"
}


class Caller(NamedTuple):
    """The caller of a request, with its effective plan.

    Attributes:
        refused: the request has a key that is not valid.
        account: None for visitors, and for callers with a refused key.
    """

    plan: Plan
    refused: bool = False
    account: Account | None = None

    @property
    def souscrit(self) -> str | None:
        """The plan that the account pays for, if its keys are served as `free` for lack of the API tool (A7).

        None if the keys are served with the plan that the account pays for.
        """
        if self.account is None or self.account.plan == self.plan.slug:
            return None
        return self.account.plan

    def plan_keys(self) -> dict[str, Any]:
        """The keys of an answer that name the effective plan; for lack of the API tool, also the paid plan (A7)."""
        paid = {"plan_souscrit": self.souscrit, "outil_api": False} if self.souscrit else {}
        return {"plan": self.plan.slug, **paid}


async def identify(
    authorization: Sequence[str],
    plans: Mapping[str, Plan],
    find: Callable[[str], Awaitable[Account | None]],
) -> Caller:
    """The caller that the Authorization headers of a request name: an account, or a visitor if there is no header.

    A key that no account has, or several headers, give a visitor with `refused`, whose request is answered with 401.

    Args:
        find: finds the account of a key.

    Raises:
        StoreUnavailable: from `find`.
    """
    if not authorization:
        return Caller(plans[VISITOR])
    key = token(authorization[0]) if len(authorization) == 1 else None
    account = await find(key) if key else None
    if account is None:
        return Caller(plans[VISITOR], refused=True)
    return Caller(effective_plan(account, plans), account=account)


def token(header: str) -> str | None:
    """The token of a bearer header (RFC 6750 §2.1), or None; `Bearer` can be in upper or lower case.

    >>> token("bearer  abc"), token("Bearer"), token("Basic abc"), token("Bearer a b")
    ('abc', None, None, None)
    """
    words = header.split(" ")
    if len(words) != 2:  # several blanks count as one
        words = [word for word in words if word]
    if len(words) != 2 or words[0].lower() != "bearer":
        return None
    return words[1]


class Window(NamedTuple):
    """The rows of a result page: at most `limit` (>= 0) from `offset`, which is echoed unchanged."""

    limit: int
    offset: int


def is_visitor_plan(plan: Plan) -> bool:
    """Whether this is the plan of visitors, who get a preview (§2.2)."""
    return plan.slug == VISITOR


def most_rows(plan: Plan) -> int:
    """The most rows that one call can return (B19)."""
    return min(plan.resultats_par_recherche, plan.lignes_par_appel)


def page_rows(plan: Plan, limit: int) -> int:
    """The rows of one result page for a requested `limit`: at most the rows of a call (B19)."""
    return min(limit, plan.lignes_par_appel)


def file_rows(plan: Plan, requested: int | None) -> int:
    """The most companies in a file: `requested` or, if that is None or more, the limit of an export (F1)."""
    return min(requested or plan.lignes_par_export, plan.lignes_par_export)


def file_statements(plan: Plan) -> int:
    """The most companies with statements in a file (F7); 0 without the right to statements."""
    return plan.societes_avec_comptes_par_export if plan.etats_financiers else 0


def window(plan: Plan, limit: int, offset: int) -> Window:
    """The limit and offset of a call within its plan (B19); a visitor's offset is always 0 (§5 rule 2)."""
    start = 0 if is_visitor_plan(plan) else offset
    cap = plan.resultats_par_recherche
    return Window(max(0, min(limit, most_rows(plan), cap - start)), start)


def visible_rows(plan: Plan, total: int) -> int:
    """The number of companies, of `total`, that the plan shows."""
    return min(total, plan.resultats_par_recherche)


def effective_limit(window: Window, total: int) -> int:
    """The limit to echo: 0 if the offset is past the total (B20).

    An offset of 0 is never past the total, so an empty result echoes the limit of the plan (contract C).
    """
    return 0 if window.offset and window.offset >= total else window.limit


def next_offset(plan: Plan, window: Window, total: int) -> int | None:
    """The offset of the next page; None if there is no further row to show (B20)."""
    after = window.offset + window.limit
    # A visitor's offset is always 0, so there is no next page.
    if is_visitor_plan(plan) or not window.limit or after >= visible_rows(plan, total):
        return None
    return after


def offers(plans: Mapping[str, Plan]) -> Mapping[str, bytes]:
    """The JSON of `offre_suivante` by slug of the plan; `null` for the highest plan."""
    return {slug: orjson.dumps(offer(plan, plans)) for slug, plan in plans.items()}


def offer(plan: Plan, plans: Mapping[str, Plan]) -> Offre | None:
    """The `offre_suivante` of a plan: the next plan with its prices and figures; None for the highest plan."""
    following = plans.get(plan.suivant)
    if following is None:
        return None
    annual = following.prix_annuel_eur or Decimal(0)  # quota.plans: a proposed plan has a price
    return Offre(
        plan=following.slug,
        prix_mensuel_eur=_json_number(monthly_price(following)),
        prix_annuel_eur=_json_number(annual),
        url="/tarifs" if annual else "/inscription",  # the free plan is opened by signing up
        **{name: getattr(following, name) for name in _COMMON_FIELDS},
    )


def monthly_price(plan: Plan) -> Decimal:
    """The price of a month billed monthly, in euros (C3); 0 if no price is published."""
    return ((plan.prix_annuel_eur or Decimal(0)) / _YEAR_IN_MONTHS).quantize(_CENT, ROUND_HALF_UP)


def remedy(
    caller: Caller, plans: Mapping[str, Plan], limit_text: Callable[[Plan], Text], no_remedy: Text
) -> Text:
    """The remedy of a reached limit: the paid API option if the caller's plan lacks it, else the next plan.

    Args:
        limit_text: the text of a plan's limit: `1000 appels par jour`, `1000 calls a day`.
        no_remedy: the text for the highest plan, which has no remedy.
    """
    if (tool := tool_remedy(caller, plans, limit_text)) is not None:
        return tool
    following = plans.get(caller.plan.suivant)
    if following is None:
        return no_remedy
    name, allowed = Text(following.nom, following.nom_en), limit_text(following)
    if lacks_tool(caller, following):
        price = following.outil_api_eur
        return errors.text("offre_suivante_et_outil", plan=name, allowed=allowed, price=price)
    return errors.text("offre_suivante", plan=name, allowed=allowed)


def tool_remedy(
    caller: Caller, plans: Mapping[str, Plan], limit_text: Callable[[Plan], Text]
) -> Text | None:
    """The remedy of buying the API tool, if the paid plan lacks it (A7); else None."""
    if caller.souscrit is None:
        return None
    paid = plans[caller.souscrit]
    name, price = Text(paid.nom, paid.nom_en), paid.outil_api_eur
    return errors.text("offre_payee", plan=name, price=price, allowed=limit_text(paid))


def lacks_tool(caller: Caller, plan: Plan) -> bool:
    """Whether the caller would have to buy the API tool with `plan`; without it, keys are served at the free level."""
    return plan.outil_api == OPTION and not (caller.account and caller.account.outil_api)


def _json_number(amount: Decimal) -> int | float:
    """An amount as a number for JSON: an int if it is whole, so that no `.0` is written."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


class AnalysisTerms(NamedTuple):
    """The price of an analysis: `cost` in credits, or one of the `trials` of a month at no credits."""

    cost: int
    trials: int | None = None


def terms(caller: Caller, module: str, plans: Mapping[str, Plan]) -> AnalysisTerms:
    """The price of an analysis: credits if the caller has the module, else a trial if its plan has trials.

    Raises:
        ApiError: 403 `module_non_inclus`; its remedy is the API tool if the paid plan would allow the analysis with it.
    """
    plan = caller.plan
    if module in _modules(plan, caller.account):
        return AnalysisTerms(analysis_credits()[module])
    if plan.essais_par_mois:
        return AnalysisTerms(0, plan.essais_par_mois)
    # The paid plan is not effective, because the API tool is missing: with the tool it may allow the analysis.
    if caller.souscrit is not None:
        plan = plans[caller.souscrit]
        if module in _modules(plan, caller.account) or plan.essais_par_mois:
            raise ApiError(
                "module_sans_outil",
                module=module,
                offre=plan.slug,
                outil_api=False,
                plan=Text(plan.nom, plan.nom_en),
                price=plan.outil_api_eur,
            )
    offered = plans[first_plan_with(module, plan, plans)]
    error = ApiError("module_non_inclus", module=module, offre=offered.slug)
    if lacks_tool(caller, offered):
        error.add_remedy(errors.text("outil_necessaire", price=offered.outil_api_eur))
    raise error


def _modules(plan: Plan, account: Account | None) -> Sequence[str]:
    """The modules of a plan; of a custom plan (`sur_mesure`), the modules that the account has bought."""
    return account.modules if plan.sur_mesure and account else plan.modules


def first_plan_with(module: str, plan: Plan, plans: Mapping[str, Plan]) -> str:
    """The slug of the first plan, in the order of the plans file, with this module and all modules of `plan`."""
    modules = {module, *plan.modules}
    return next(slug for slug, offered in plans.items() if modules <= set(offered.modules))
