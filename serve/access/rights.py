"""The caller of a request, the rights of the plan that applies, and the plan that is proposed next.

No Authorization header means a visitor (A4). One header `Bearer <key>` whose key belongs to an
account means that account, at its effective plan (A7). Anything else is a refused key: the caller is
served as a visitor, with status 401 (A1), and a revoked key looks like one that never existed. All
later checks use the plan, never the header.

The rows that a plan shows of a search and has in a file (contract C) are pure arithmetic on its figures. `total` never
enters a clamp and no clamp ever enters `total` (§8.2 rule 3). offset + limit never passes the cap of the plan, so
paging is no way around it (§8.2 rule 2).

The plan that is proposed next is `offre_suivante` (§2.3) and the remedy of a reached limit (§4.6, §7). The plans file
says which plan follows which (contract C1: `marches` and `carte` are never proposed); the price of a month and the
shape are computed here. The modules of §8 make analyses (extension X11): a plan or an account has them, may try them,
or is told the first plan that has them.
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

VISITOR: Final = "visiteur"

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


class Caller(NamedTuple):
    """The effective plan of a request.

    Attributes:
        refused: the request had a key, which is not valid.
        account: None for visitors, and for anyone who is served as a visitor.
    """

    plan: Plan
    refused: bool = False
    account: Account | None = None

    @property
    def souscrit(self) -> str | None:
        """The plan that is paid for, where another plan applies (A7)."""
        if self.account is None or self.account.plan == self.plan.slug:
            return None
        return self.account.plan

    def plan_keys(self) -> dict[str, Any]:
        """The keys of an answer for the effective plan, and for the plan that is paid for, if that differs (A7)."""
        paid = {"plan_souscrit": self.souscrit, "outil_api": False} if self.souscrit else {}
        return {"plan": self.plan.slug, **paid}


async def identify(
    authorization: Sequence[str],
    plans: Mapping[str, Plan],
    find: Callable[[str], Awaitable[Account | None]],
) -> Caller:
    """The caller behind the Authorization headers of a request: none, one, or too many.

    Args:
        find: the account of a key; it is not called for text that cannot be a key.

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
    """The token of a bearer header (RFC 6750 §2.1), or None; the scheme ignores case.

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
    """The rows that a caller may ask for: at most `limit` (>= 0) from `offset` (echoed as it is)."""

    limit: int
    offset: int


def apercu(plan: Plan) -> bool:
    """Is this the preview for unidentified callers (§2.2)?"""
    return plan.slug == VISITOR


def most_rows(plan: Plan) -> int:
    """The most rows that a call of the plan shows (B19)."""
    return min(plan.resultats_par_recherche, plan.lignes_par_appel)


def page_rows(plan: Plan, limit: int) -> int:
    """The rows of a page of which `limit` are asked for: at most those of a call (B19)."""
    return min(limit, plan.lignes_par_appel)


def file_rows(plan: Plan, asked: int | None) -> int:
    """The most companies of a file: as many as are asked for, at most those of an export (F1); None asks for all."""
    return min(asked or plan.lignes_par_export, plan.lignes_par_export)


def file_statements(plan: Plan) -> int:
    """The most companies of a file that have their statements there (F7); 0 without the right to statements."""
    return plan.societes_avec_comptes_par_export if plan.etats_financiers else 0


def window(plan: Plan, limit: int, offset: int) -> Window:
    """The effective limit and offset (B19); a visitor's offset is locked at 0 (§5 rule 2)."""
    start = 0 if apercu(plan) else offset
    cap = plan.resultats_par_recherche
    return Window(max(0, min(limit, most_rows(plan), cap - start)), start)


def visible_rows(plan: Plan, total: int) -> int:
    """The companies that the plan shows of `total`."""
    return min(total, plan.resultats_par_recherche)


def effective_limit(window: Window, total: int) -> int:
    """The limit to echo: 0 where the offset is past the total (B20).

    An offset of 0 is past nothing, so an empty result echoes the limit of contract C.
    """
    return 0 if window.offset and window.offset >= total else window.limit


def next_offset(plan: Plan, window: Window, total: int) -> int | None:
    """The offset of the next page, or None where no other row can be reached (B20)."""
    after = window.offset + window.limit
    # A visitor's offset is locked: no next page, whatever is left.
    if apercu(plan) or not window.limit or after >= visible_rows(plan, total):
        return None
    return after


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
        return errors.text("offre_suivante_et_outil", plan=name, allowed=allowed, price=price)
    return errors.text("offre_suivante", plan=name, allowed=allowed)


def tool_remedy(
    caller: Caller, plans: Mapping[str, Plan], figure: Callable[[Plan], Text]
) -> Text | None:
    """The API tool, where the plan that is paid for lacks it (A7); None for all others."""
    if caller.souscrit is None:
        return None
    paid = plans[caller.souscrit]
    name, price = Text(paid.nom, paid.nom_en), paid.outil_api_eur
    return errors.text("offre_payee", plan=name, price=price, allowed=figure(paid))


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
            raise ApiError(
                "module_sans_outil",
                module=module,
                offre=plan.slug,
                outil_api=False,
                plan=Text(plan.nom, plan.nom_en),
                price=plan.outil_api_eur,
            )
    offer = plans[first_plan_with(module, plan, plans)]
    error = ApiError("module_non_inclus", module=module, offre=offer.slug)
    if lacks_tool(caller, offer):
        error.add_remedy(errors.text("outil_necessaire", price=offer.outil_api_eur))
    raise error


def _modules(plan: Plan, account: Account | None) -> Sequence[str]:
    """The modules of a plan, or those that its account has bought."""
    return account.modules if plan.sur_mesure and account else plan.modules


def first_plan_with(module: str, plan: Plan, plans: Mapping[str, Plan]) -> str:
    """The first plan of the grid that has a module, and all those of the caller's plan."""
    wanted = {module, *plan.modules}
    return next(slug for slug, other in plans.items() if wanted <= set(other.modules))
