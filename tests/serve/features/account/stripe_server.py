"""`python -m tests.serve.features.account.stripe_server PORT`: localstripe, and what it lacks for our tests.

localstripe keeps customers, cards, plans, subscriptions, invoices and events, charges test cards, and
signs webhooks. It lacks Stripe's hosted checkout and portal, events of a subscription that is updated,
and subscriptions of several prices. Added here: `/v1/checkout/sessions` and its page `/pay/…`, where a
POST is a customer who pays; `/v1/billing_portal/sessions`; and `/_test/subscriptions/<id>`, which sets
a status and announces it. The prices of a checkout are added up to one plan.
"""

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

from aiohttp import web
from localstripe import webhooks
from localstripe.resources import (
    Customer,
    Event,
    PaymentMethod,
    Plan,
    StripeObject,
    Subscription,
    schedule_webhook,
    store,
)
from localstripe.server import app, auth_middleware, get_post_data, json_response

CARD = {"number": "4242424242424242", "exp_month": "12", "exp_year": "2030", "cvc": "123"}


class CheckoutSession(StripeObject):  # type: ignore[misc]
    object = "checkout.session"
    _id_prefix = "cs_"

    def __init__(self, port: int, **asked: Any) -> None:
        super().__init__()
        self.url = f"http://127.0.0.1:{port}/pay/{self.id}"
        self.mode = asked["mode"]
        self.metadata = asked["metadata"]
        self.customer = asked.get("customer")
        self.subscription = None
        self.payment_status = "unpaid"
        self.customer_email = asked.get("customer_email")
        self.invoice_creation = asked.get("invoice_creation")
        self.automatic_tax = asked["automatic_tax"]
        self._asked = asked

    def _pay(self) -> None:
        if self.customer is None:
            method = PaymentMethod(type="card", card=dict(CARD))
            customer = Customer(email=self.customer_email, payment_method=method.id)
            customer.invoice_settings["default_payment_method"] = method.id
            self.customer = customer.id
        if self.mode == "subscription":
            amount = sum(int(one["price_data"]["unit_amount"]) for one in self._asked["line_items"])
            plan = Plan(amount=amount, currency="eur", interval="year", product={"name": "x"})
            told = self._asked["subscription_data"]["metadata"]
            self.subscription = Subscription(
                customer=self.customer, items=[{"plan": plan.id}], metadata=told
            ).id
        self.payment_status = "paid"
        schedule_webhook(Event("checkout.session.completed", self))


def main(port: int) -> None:
    async def create(request: web.Request) -> web.Response:
        asked = await get_post_data(request)
        if "customer" in asked and not known(asked["customer"]):
            # As the reference of Stripe's errors has it.
            error = {"type": "invalid_request_error", "code": "resource_missing"}
            error |= {"param": "customer", "message": f"No such customer: '{asked['customer']}'"}
            return web.json_response({"error": error}, status=400)
        made: web.Response = json_response(CheckoutSession(port, **asked)._export())
        return made

    def known(customer: str) -> bool:
        return any(one.id == customer for one in store.values() if isinstance(one, Customer))

    async def pay(request: web.Request) -> web.Response:
        CheckoutSession._api_retrieve(request.match_info["id"])._pay()
        return web.Response()

    async def portal(request: web.Request) -> web.Response:
        asked = await get_post_data(request)
        Customer._api_retrieve(asked["customer"])
        url = f"http://127.0.0.1:{port}/portal/{asked['customer']}"
        return web.json_response({"object": "billing_portal.session", "id": "bps_1", "url": url})

    async def set_status(request: web.Request) -> web.Response:
        found = Subscription._api_retrieve(request.match_info["id"])
        found.status = request.query["status"]
        schedule_webhook(Event("customer.subscription.updated", found))
        return web.Response()

    async def at_once(_seconds: float) -> None:
        """Instead of the second that localstripe waits before each webhook."""

    store.dump_to_disk = lambda: None  # it would write to a file of fixed name
    webhooks.asyncio = SimpleNamespace(sleep=at_once, ensure_future=asyncio.ensure_future)
    app.router.add_post("/v1/checkout/sessions", create)
    app.router.add_post("/pay/{id}", pay)
    app.router.add_post("/v1/billing_portal/sessions", portal)
    app.router.add_post("/_test/subscriptions/{id}", set_status)
    assert auth_middleware in app.middlewares  # a call without a key is refused
    web.run_app(app, host="127.0.0.1", port=port, print=None)


if __name__ == "__main__":
    main(int(sys.argv[1]))
