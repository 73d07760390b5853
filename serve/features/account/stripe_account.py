"""An account at Stripe: hosted pages where people pay, and the events that it signs.

The official library is loaded with the first payment, in a thread: it takes a third of a second, and
its calls block. Nothing here touches the store; what was paid is the `Payment` of quota/ledger.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import orjson

from quota.errors import NotAllowedError
from quota.ledger.payments import PACK, SUBSCRIPTION, Payment
from quota.plans import Plan
from serve.config import PACK_CREDITS, PaymentSettings, secret

if TYPE_CHECKING:
    import stripe

T = TypeVar("T")

# Seconds that the time in a signature may lie in the past: a replay of an old event is refused.
_TOLERANCE_S: Final = 300
_PAGE: Final = "/compte"
# States of a checkout for a pack in which the money is there.
_PAID: Final = "paid"
# Names of objects at Stripe have at most 255 characters.
_NAME: Final = re.compile(r"[A-Za-z0-9_]{0,255}")


class StripeError(Exception):
    """Stripe cannot be reached, or refuses; the message is Stripe's own."""


class UnknownCustomerError(StripeError):
    """Stripe has no such customer."""


class SignatureError(Exception):
    """A message that Stripe did not sign, or signed too long ago."""


class Buyer(NamedTuple):
    """Who buys: the account, the address of the person, and the customer at Stripe if known."""

    account: str
    email: str
    customer: str
    lang: str


class Event(NamedTuple):
    """What an event is about: a subscription whose state is to be asked, or a pack that was paid."""

    kind: str
    subscription: str = ""
    pack: Payment | None = None


class StripeAccount:
    """One account at Stripe."""

    def __init__(self, settings: PaymentSettings, base_url: str) -> None:
        """Check the files of the secrets.

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
        self._key = secret(settings.key_file)
        self._webhook_secret = secret(settings.webhook_file)
        self._client: stripe.StripeClient | None = None

    async def subscribe(self, buyer: Buyer, plan: Plan, *, api_tool: bool) -> str:
        """The address of a hosted page where the plan is paid by the year, excl. VAT.

        Raises:
            StripeError
        """
        prices = [(plan.nom_en if buyer.lang == "en" else plan.nom, plan.prix_annuel_eur)]
        if api_tool:
            prices.append(("API", plan.outil_api_eur))
        told = {"account": buyer.account, "plan": plan.slug, "outil_api": str(api_tool).lower()}
        items = [_item(name, price, yearly=True) for name, price in prices if price is not None]
        more = {"subscription_data": {"metadata": told}}
        return await self._checkout(buyer, "subscription", items, told, more)

    async def buy_pack(self, buyer: Buyer) -> str:
        """The address of a hosted page where a pack of credits is paid; as `subscribe`."""
        price = self.settings.pack_eur
        items = [_item(f"{PACK_CREDITS} credits", price, yearly=False)]
        told = {"account": buyer.account, "credits": str(PACK_CREDITS)}
        # A subscription has invoices anyway, a payment only if they are asked for.
        more = {"invoice_creation": {"enabled": True}}
        return await self._checkout(buyer, "payment", items, told, more)

    async def portal(self, customer: str) -> str:
        """The address of the hosted page with invoices, card and cancellation."""
        params: Any = {"customer": customer, "return_url": f"{self._base_url}{_PAGE}"}
        session = await self._call(lambda client: client.v1.billing_portal.sessions.create(params))
        return str(session.url)

    async def subscription(self, name: str) -> Payment | None:
        """The state of a subscription now; None if it is not of a plan of ours.

        Raises:
            StripeError
        """
        subscription = await self._call(lambda client: client.v1.subscriptions.retrieve(name))
        state: Mapping[str, Any] = subscription.to_dict()
        told = state.get("metadata") or {}
        if "account" not in told or "plan" not in told:
            return None
        items = state["items"]["data"]
        # Since 2025 the period is that of an item; before it was that of the subscription.
        ends = state.get("current_period_end") or items[0].get("current_period_end") or 0
        return Payment(
            id=state["id"],
            kind=SUBSCRIPTION,
            account=told["account"],
            plan=told["plan"],
            outil_api=told.get("outil_api") == "true",
            status=state["status"],
            customer=str(state["customer"]),
            created=int(state["created"]),
            ends=int(ends),
            cancelled=bool(state.get("cancel_at_period_end") or state.get("cancel_at")),
        )

    async def event(self, message: bytes, signature: str) -> Event:
        """What a signed message is about.

        Raises:
            SignatureError
        """

        def verify() -> None:
            import stripe

            try:
                stripe.WebhookSignature.verify_header(
                    message, signature, self._webhook_secret, _TOLERANCE_S
                )
            except (stripe.SignatureVerificationError, ValueError) as error:
                raise SignatureError(str(error)) from error

        await asyncio.to_thread(verify)
        try:
            sent = orjson.loads(message)
            return _event(str(sent["type"]), sent["data"]["object"])
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise SignatureError(f"not an event: {error}") from error

    async def _checkout(
        self,
        buyer: Buyer,
        mode: str,
        items: list[dict[str, Any]],
        told: Mapping[str, str],
        more: Mapping[str, Any],
    ) -> str:
        params: Any = {
            "mode": mode,
            "line_items": items,
            "client_reference_id": buyer.account,
            "metadata": dict(told),
            "locale": buyer.lang,
            "billing_address_collection": "required",
            "tax_id_collection": {"enabled": True},
            "automatic_tax": {"enabled": self.settings.automatic_tax},
            "success_url": f"{self._base_url}{_PAGE}?paiement=recu#factures",
            "cancel_url": f"{self._base_url}/tarifs",
            **more,
        }
        try:
            asked = params | _customer(buyer, mode)
            session = await self._call(lambda client: client.v1.checkout.sessions.create(asked))
        except UnknownCustomerError:  # deleted at Stripe, or of another account there
            anew = params | _customer(buyer._replace(customer=""), mode)
            session = await self._call(lambda client: client.v1.checkout.sessions.create(anew))
        return str(session.url)

    async def _call(self, ask: "Callable[[stripe.StripeClient], T]") -> T:
        """Run a call of the library in a thread. Raises StripeError."""

        def in_thread() -> T:
            import stripe

            if self._client is None:
                self._client = stripe.StripeClient(
                    self._key, base_addresses={"api": self.settings.api}, max_network_retries=1
                )
            try:
                return ask(self._client)
            except stripe.InvalidRequestError as error:
                if (error.code, error.param) == ("resource_missing", "customer"):
                    raise UnknownCustomerError(str(error)) from error
                raise StripeError(str(error)) from error
            except stripe.StripeError as error:
                raise StripeError(str(error)) from error

        return await asyncio.to_thread(in_thread)


def _customer(buyer: Buyer, mode: str) -> dict[str, Any]:
    """A customer who is known is billed as one, and not created again."""
    if buyer.customer:
        return {"customer": buyer.customer, "customer_update": {"name": "auto", "address": "auto"}}
    created = {"customer_creation": "always"} if mode == "payment" else {}
    return {"customer_email": buyer.email, **created}


def _item(name: str, price: Any, *, yearly: bool) -> dict[str, Any]:
    data: dict[str, Any] = {
        "currency": "eur",
        "unit_amount": int(price * 100),
        "product_data": {"name": name},
        "tax_behavior": "exclusive",
    }
    if yearly:
        data["recurring"] = {"interval": "year"}
    return {"quantity": 1, "price_data": data}


def _event(kind: str, about: Mapping[str, Any]) -> Event:
    if kind.startswith("customer.subscription."):
        return Event(kind, _name(about["id"]))
    if kind.startswith("invoice."):
        parent = (about.get("parent") or {}).get("subscription_details") or {}
        return Event(kind, _name(about.get("subscription") or parent.get("subscription") or ""))
    if kind.startswith("checkout.session."):
        if about["mode"] == "subscription":
            return Event(kind, _name(about.get("subscription") or ""))
        told = about.get("metadata") or {}
        if about["payment_status"] == _PAID and "account" in told and "credits" in told:
            return Event(kind, pack=_pack(about, told))
    return Event(kind)


def _name(given: Any) -> str:
    """A name as Stripe gives them, or none. Raises ValueError."""
    if not isinstance(given, str) or not _NAME.fullmatch(given):
        raise ValueError(f"{given!r:.80} is no name")
    return given


def _pack(about: Mapping[str, Any], told: Mapping[str, str]) -> Payment:
    return Payment(
        id=_name(about["id"]),
        kind=PACK,
        account=_name(told["account"]),
        plan="",
        outil_api=False,
        status=_PAID,
        customer=_name(about.get("customer") or ""),
        created=int(about["created"]),
        credits=int(told["credits"]),
    )
