"""/tarifs: the grid of §8.1 with monthly and annual prices, and buying, which is not open.

No payment provider can be configured yet, so buying answers 503 `config` (§7) before it reads
anything: nothing can happen, so the form needs no token.
"""

from serve.access.billing import RECORD_CREDITS
from serve.access.modules import scale
from serve.access.next_plan import monthly
from serve.access.result import Response
from serve.access.rights import apercu
from serve.website import page_errors
from serve.website.page_request import PageRequest
from serve.website.render import page


async def prices(request: PageRequest) -> Response:
    """The plans side by side."""
    all_plans = request.server.plans.values()
    plans = [plan for plan in all_plans if not apercu(plan)]
    return page(
        request, "prices.html",
        plans=plans,
        visitor=next(plan for plan in all_plans if apercu(plan)),
        monthly={plan.slug: monthly(plan) for plan in plans},
        mine=request.session.account.plan if request.session else None,
        cost=RECORD_CREDITS,
        analysis=scale()["entreprise"],
    )  # fmt: skip


async def buy(_request: PageRequest) -> Response:
    """Buy a plan or a pack of credits. Raises ApiError 503, always."""
    raise page_errors.paiement_ferme()
