"""`python -m tests.serve.features.account.stripe_server PORT`: localstripe with additions for our tests.

localstripe stores customers, cards, plans, subscriptions, invoices and events, charges test cards, and
signs webhooks. It lacks Stripe's hosted checkout and portal, events of updated subscriptions, and
subscriptions with several prices. This file adds `/v1/checkout/sessions` and its page `/pay/…`, where a
POST pays; `/v1/billing_portal/sessions`; and `/_test/subscriptions/<id>`, which sets a status and sends
its event. A checkout with several prices creates a single plan with their sum.
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

# Stripe's test card whose payments always succeed.
CARD = {"number": "4242424242424242", "exp_month": "12", "exp_year": "2030", "cvc": "123"}


class CheckoutSession(StripeObject):  # type: ignore[misc]
    """A payment that a customer has started, with the address of the page where he pays."""

    object = "checkout.session"
    _id_prefix = "cs_"

    def __init__(self, port: int, **params: Any) -> None:
        """Make an unpaid session from the parameters of the API; its `url` is the route `pay_session` below."""
        super().__init__()
        self.url = f"http://127.0.0.1:{port}/pay/{self.id}"
        self.mode = params["mode"]
        self.metadata = params["metadata"]
        self.customer = params.get("customer")
        self.subscription = None
        self.payment_status = "unpaid"
        self.customer_email = params.get("customer_email")
        self.invoice_creation = params.get("invoice_creation")
        self.automatic_tax = params["automatic_tax"]
        self._params = params

    def _pay(self) -> None:
        """Create the missing customer and the subscription, and send the event of a completed checkout."""
        if self.customer is None:
            method = PaymentMethod(type="card", card=dict(CARD))
            customer = Customer(email=self.customer_email, payment_method=method.id)
            customer.invoice_settings["default_payment_method"] = method.id
            self.customer = customer.id
        if self.mode == "subscription":
            amount = sum(
                int(item["price_data"]["unit_amount"]) for item in self._params["line_items"]
            )
            plan = Plan(amount=amount, currency="eur", interval="year", product={"name": "x"})
            metadata = self._params["subscription_data"]["metadata"]
            self.subscription = Subscription(
                customer=self.customer, items=[{"plan": plan.id}], metadata=metadata
            ).id
        self.payment_status = "paid"
        schedule_webhook(Event("checkout.session.completed", self))


def main(port: int) -> None:
    """Add the routes of the file's docstring to localstripe, and serve it at this port."""

    async def create_session(request: web.Request) -> web.Response:
        """Answer as Stripe does: refuse a customer who does not exist, otherwise create a session."""
        params = await get_post_data(request)
        if "customer" in params and not is_customer(params["customer"]):
            # The error of Stripe's API reference.
            error = {"type": "invalid_request_error", "code": "resource_missing"}
            error |= {"param": "customer", "message": f"No such customer: '{params['customer']}'"}
            return web.json_response({"error": error}, status=400)
        session: web.Response = json_response(CheckoutSession(port, **params)._export())
        return session

    def is_customer(customer: str) -> bool:
        return any(item.id == customer for item in store.values() if isinstance(item, Customer))

    async def pay_session(request: web.Request) -> web.Response:
        """Pay a session, as its customer does on the page of Stripe."""
        CheckoutSession._api_retrieve(request.match_info["id"])._pay()
        return web.Response()

    async def open_portal(request: web.Request) -> web.Response:
        """Return the address of a portal for a customer, who must exist."""
        params = await get_post_data(request)
        Customer._api_retrieve(params["customer"])
        url = f"http://127.0.0.1:{port}/portal/{params['customer']}"
        return web.json_response({"object": "billing_portal.session", "id": "bps_1", "url": url})

    async def set_status(request: web.Request) -> web.Response:
        """Set the status of a subscription, and send its event."""
        subscription = Subscription._api_retrieve(request.match_info["id"])
        subscription.status = request.query["status"]
        schedule_webhook(Event("customer.subscription.updated", subscription))
        return web.Response()

    async def no_delay(_seconds: float) -> None:
        """Replaces the second that localstripe waits before each webhook."""

    store.dump_to_disk = lambda: None  # it would write to a file with a fixed name
    webhooks.asyncio = SimpleNamespace(sleep=no_delay, ensure_future=asyncio.ensure_future)
    app.router.add_post("/v1/checkout/sessions", create_session)
    app.router.add_post("/pay/{id}", pay_session)
    app.router.add_post("/v1/billing_portal/sessions", open_portal)
    app.router.add_post("/_test/subscriptions/{id}", set_status)
    assert auth_middleware in app.middlewares  # a call without a key is refused
    web.run_app(app, host="127.0.0.1", port=port, print=None)


if __name__ == "__main__":
    main(int(sys.argv[1]))
