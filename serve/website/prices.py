"""/tarifs: the grid of §8.1, from the plans file, with both prices; and buying, which is not open.

No payment provider can be configured yet, so that buying answers 503 `config` (§7), before it looks
at anything: nothing can happen, so nothing needs to be guarded.
"""

from serve.answer import Answer
from serve.metered import RECORD_CREDITS
from serve.offer import monthly
from serve.rights import apercu
from serve.website import refusals
from serve.website.desk import Desk
from serve.website.render import page
from serve.website.visit import Visit


async def prices(desk: Desk, visit: Visit) -> Answer:
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


async def buy(desk: Desk, visit: Visit) -> Answer:
    """A plan or a pack of credits. Raises ApiError 503, always."""
    raise refusals.paiement_ferme()
