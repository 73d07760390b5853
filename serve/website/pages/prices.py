"""/tarifs: the grid of §8.1, from the plans file, with both prices; and buying, which is not open.

No payment provider can be configured yet, so that buying answers 503 `config` (§7), before it looks
at anything: nothing can happen, so nothing needs to be guarded.
"""

from serve.access.billing import RECORD_CREDITS
from serve.access.next_plan import monthly
from serve.access.result import Response
from serve.access.rights import apercu
from serve.website import page_errors
from serve.website.page_request import PageContext, PageRequest
from serve.website.render import page


async def prices(desk: PageContext, visit: PageRequest) -> Response:
    """The plans side by side."""
    plans = [plan for plan in desk.site.plans.values() if not apercu(plan)]
    return page(
        desk, visit, "prices.html",
        plans=plans,
        visitor=next(plan for plan in desk.site.plans.values() if apercu(plan)),
        monthly={plan.slug: monthly(plan) for plan in plans},
        mine=visit.session.account.plan if visit.session else None,
        cost=RECORD_CREDITS,
    )  # fmt: skip


async def buy(desk: PageContext, visit: PageRequest) -> Response:
    """A plan or a pack of credits. Raises ApiError 503, always."""
    raise page_errors.paiement_ferme()
