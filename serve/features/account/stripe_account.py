"""An account at Stripe: the hosted pages where people pay, and the signed events.

The official library is loaded at the first payment, in a thread: loading takes a third of a second, and calls block.
This module does not touch the store; a payment is a `Payment` of quota/ledger.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import orjson

from quota.errors import NotAllowedError
from quota.ledger.payments import PACK, SUBSCRIPTION, Payment
from quota.plans import Plan
from serve.config import PACK_CREDITS, PaymentSettings, read_secret

if TYPE_CHECKING:
    import stripe

T = TypeVar("T")

# Seconds after which a signature is too old, so that a replay of an old event is refused.
_TOLERANCE_S: Final = 300
# The page to which Stripe sends people back.
_RETURN_PATH: Final = "/compte"
# Stripe's status of a checkout that is paid, which is also stored as the status of its pack.
_STATUS_PAID: Final = "paid"
# An id of an object at Stripe (at most 255 characters), an id of an account, or an empty text.
_STRIPE_ID: Final = re.compile(r"[A-Za-z0-9_]{0,255}")


class StripeError(Exception):
    """Stripe cannot be reached, or refuses the call; the message is Stripe's own."""


class UnknownCustomerError(StripeError):
    """Stripe has no such customer."""


class SignatureError(Exception):
    """A message that Stripe did not sign, or signed too long ago."""


class Buyer(NamedTuple):
    """The buyer: the account, the e-mail address of the person, and the customer at Stripe if there is one."""

    account: str
    email: str
    customer: str
    lang: str


class Event(NamedTuple):
    """The subject of an event: a subscription whose state has to be read, or a pack that was paid."""

    kind: str
    subscription: str = ""
    pack: Payment | None = None


class StripeAccount:
    """The account of the operator at Stripe."""

    def __init__(self, settings: PaymentSettings, base_url: str) -> None:
        """Check that the library is installed, and read the secrets from their files.

        Raises:
            NotAllowedError: the library, an extra, is not installed.
            OSError: a file cannot be read.
        """
        from importlib.util import find_spec

        if find_spec("stripe") is None:
            raise NotAllowedError("[paiement] needs stripe; pip install 'societes[payment]'")
        assert settings.key_file and settings.webhook_file
        self.settings = settings
        self._base_url = base_url
        self._key = read_secret(settings.key_file)
        self._webhook_secret = read_secret(settings.webhook_file)
        self._client: stripe.StripeClient | None = None

    async def subscribe(self, buyer: Buyer, plan: Plan, *, api_tool: bool) -> str:
        """The address of a hosted page where the plan is paid per year, without VAT.

        Raises:
            StripeError
        """
        prices = [(plan.nom_en if buyer.lang == "en" else plan.nom, plan.prix_annuel_eur)]
        if api_tool:
            prices.append(("API", plan.outil_api_eur))
        metadata = {"account": buyer.account, "plan": plan.slug, "outil_api": str(api_tool).lower()}
        items = [
            _line_item(name, price, yearly=True) for name, price in prices if price is not None
        ]
        mode_params = {"subscription_data": {"metadata": metadata}}
        return await self._checkout(buyer, "subscription", items, metadata, mode_params)

    async def buy_pack(self, buyer: Buyer) -> str:
        """The address of a hosted page where a pack of credits is paid once. Raises StripeError."""
        price = self.settings.pack_eur
        items = [_line_item(f"{PACK_CREDITS} credits", price, yearly=False)]
        metadata = {"account": buyer.account, "credits": str(PACK_CREDITS)}
        # A subscription always has invoices; a payment has them only on request.
        mode_params = {"invoice_creation": {"enabled": True}}
        return await self._checkout(buyer, "payment", items, metadata, mode_params)

    async def portal(self, customer: str) -> str:
        """The address of the hosted page with invoices, card and cancellation."""
        params: Any = {"customer": customer, "return_url": f"{self._base_url}{_RETURN_PATH}"}
        session = await self._call(lambda client: client.v1.billing_portal.sessions.create(params))
        return str(session.url)

    async def subscription(self, subscription_id: str) -> Payment | None:
        """The current state of a subscription; None if the subscription is not for a plan of this service.

        Raises:
            StripeError
        """
        subscription = await self._call(
            lambda client: client.v1.subscriptions.retrieve(subscription_id)
        )
        state: Mapping[str, Any] = subscription.to_dict()
        metadata = state.get("metadata") or {}
        if "account" not in metadata or "plan" not in metadata:
            return None
        items = state["items"]["data"]
        # Since 2025 the period belongs to an item; before, it belonged to the subscription.
        ends = state.get("current_period_end") or items[0].get("current_period_end") or 0
        return Payment(
            id=state["id"],
            kind=SUBSCRIPTION,
            account=metadata["account"],
            plan=metadata["plan"],
            outil_api=metadata.get("outil_api") == "true",
            status=state["status"],
            customer=str(state["customer"]),
            created=int(state["created"]),
            ends=int(ends),
            cancelled=bool(state.get("cancel_at_period_end") or state.get("cancel_at")),
        )

    async def event(self, message: bytes, signature: str) -> Event:
        """Check the signature of a message, and return the subject of its event.

        Raises:
            SignatureError
        """

        def verify() -> None:
            """Check the signature with the library, which is loaded in a thread."""
            import stripe

            try:
                stripe.WebhookSignature.verify_header(
                    message, signature, self._webhook_secret, _TOLERANCE_S
                )
            except (stripe.SignatureVerificationError, ValueError) as error:
                raise SignatureError(str(error)) from error

        await asyncio.to_thread(verify)
        try:
            event = orjson.loads(message)
            return _parse_event(str(event["type"]), event["data"]["object"])
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise SignatureError(f"not an event: {error}") from error

    async def _checkout(
        self,
        buyer: Buyer,
        mode: str,
        items: list[dict[str, Any]],
        metadata: Mapping[str, str],
        mode_params: Mapping[str, Any],
    ) -> str:
        """The address of a new checkout page; if Stripe does not know the customer, a new customer is created.

        Args:
            mode: `subscription`, or `payment` for a single payment.
            mode_params: the parameters that only this mode has.
        """
        params: Any = {
            "mode": mode,
            "line_items": items,
            "client_reference_id": buyer.account,
            "metadata": dict(metadata),
            "locale": buyer.lang,
            "billing_address_collection": "required",
            "tax_id_collection": {"enabled": True},
            "automatic_tax": {"enabled": self.settings.automatic_tax},
            "success_url": f"{self._base_url}{_RETURN_PATH}?paiement=recu#factures",
            "cancel_url": f"{self._base_url}/tarifs",
            **mode_params,
        }
        try:
            attempt = params | _customer_params(buyer, mode)
            session = await self._call(lambda client: client.v1.checkout.sessions.create(attempt))
        except UnknownCustomerError:
            # The customer was deleted at Stripe, or belongs to another account there.
            retry = params | _customer_params(buyer._replace(customer=""), mode)
            session = await self._call(lambda client: client.v1.checkout.sessions.create(retry))
        return str(session.url)

    async def _call(self, run: "Callable[[stripe.StripeClient], T]") -> T:
        """Run a call of the library, which blocks, in a thread; return its result. Raises StripeError."""

        def call() -> T:
            """Make the client if it is needed first, and run the call; errors become StripeErrors."""
            import stripe

            if self._client is None:
                self._client = stripe.StripeClient(
                    self._key, base_addresses={"api": self.settings.api}, max_network_retries=1
                )
            try:
                return run(self._client)
            except stripe.InvalidRequestError as error:
                if (error.code, error.param) == ("resource_missing", "customer"):
                    raise UnknownCustomerError(str(error)) from error
                raise StripeError(str(error)) from error
            except stripe.StripeError as error:
                raise StripeError(str(error)) from error

        return await asyncio.to_thread(call)


def _customer_params(buyer: Buyer, mode: str) -> dict[str, Any]:
    """The parameters for the customer: the existing customer at Stripe, or a new one."""
    if buyer.customer:
        return {"customer": buyer.customer, "customer_update": {"name": "auto", "address": "auto"}}
    # A subscription always creates a customer; a single payment does so only on request.
    creation = {"customer_creation": "always"} if mode == "payment" else {}
    return {"customer_email": buyer.email, **creation}


def _line_item(name: str, price: Any, *, yearly: bool) -> dict[str, Any]:
    """A line of a checkout; `price` is in euros without VAT."""
    data: dict[str, Any] = {
        "currency": "eur",
        "unit_amount": int(price * 100),  # cents
        "product_data": {"name": name},
        "tax_behavior": "exclusive",
    }
    if yearly:
        data["recurring"] = {"interval": "year"}
    return {"quantity": 1, "price_data": data}


def _parse_event(kind: str, stripe_object: Mapping[str, Any]) -> Event:
    """The subject of an event of this type, from the object of Stripe that the event is about.

    An event about neither a subscription nor a pack that was paid has no subject: an `Event` with only its type.
    """
    if kind.startswith("customer.subscription."):
        return Event(kind, _stripe_id(stripe_object["id"]))
    if kind.startswith("invoice."):
        # Since 2025 the subscription is in `parent`; before, it was in the invoice itself.
        parent = (stripe_object.get("parent") or {}).get("subscription_details") or {}
        return Event(
            kind, _stripe_id(stripe_object.get("subscription") or parent.get("subscription") or "")
        )
    if kind.startswith("checkout.session."):
        if stripe_object["mode"] == "subscription":
            return Event(kind, _stripe_id(stripe_object.get("subscription") or ""))
        # The metadata are those of `buy_pack`; a checkout without them is not for a pack of this service.
        metadata = stripe_object.get("metadata") or {}
        if (
            stripe_object["payment_status"] == _STATUS_PAID
            and "account" in metadata
            and "credits" in metadata
        ):
            return Event(kind, pack=_pack_payment(stripe_object, metadata))
    return Event(kind)


def _stripe_id(value: Any) -> str:
    """`value`, after a check that it can be an id, as of a customer, or is empty. Raises ValueError."""
    if not isinstance(value, str) or not _STRIPE_ID.fullmatch(value):
        raise ValueError(f"{value!r:.80} is not a name")
    return value


def _pack_payment(stripe_object: Mapping[str, Any], metadata: Mapping[str, str]) -> Payment:
    """The payment of a pack, from its paid checkout."""
    return Payment(
        id=_stripe_id(stripe_object["id"]),
        kind=PACK,
        account=_stripe_id(metadata["account"]),
        plan="",
        outil_api=False,
        status=_STATUS_PAID,
        customer=_stripe_id(stripe_object.get("customer") or ""),
        created=int(stripe_object["created"]),
        credits=int(metadata["credits"]),
    )
