"""/tarifs: the grid of §8.1 with monthly and annual prices. Buying is in `payment.py`."""

from serve.access.billing import RECORD_CREDITS
from serve.access.modules import scale
from serve.access.next_plan import monthly
from serve.access.result import Response
from serve.access.rights import apercu
from serve.services.settings import PACK_CREDITS
from serve.website.page_request import PageRequest
from serve.website.pages import payment
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
        sold=[plan.slug for plan in plans if payment.is_sold(plan)],
        stripe=request.context.stripe,
        pack=PACK_CREDITS,
        contact=request.server.config.contact,
        mine=request.session.account.plan if request.session else None,
        cost=RECORD_CREDITS,
        analysis=scale()["entreprise"],
    )  # fmt: skip
