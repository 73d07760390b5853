"""Payment with localstripe: a checkout, and events that are repeated, late or out of order (X10)."""

import hashlib
import hmac
import json
import time
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from quota.ledger import account_rows, payments
from quota.ledger.payments import Payment
from tests.quota.filling import create_account, invite
from tests.serve.client import PLANS, Reply, Server, run_server
from tests.serve.features.account.conftest import BASE_URL, StripeServer, wait_until
from tests.serve.features.account.test_members_page import join_by_link
from tests.serve.surfaces.site.visitor import Page, Visitor, sign_up_member

WEBHOOK = "/paiement/evenements"  # where Stripe sends events


def signature_headers(secret: str, body: bytes, moment: int) -> dict[str, str]:
    """Headers with Stripe's signature: HMAC-SHA256 of the time and the body."""
    text = b"%d.%s" % (moment, body)
    digest = hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()
    return {"Stripe-Signature": f"t={moment},v1={digest}", "Content-Type": "application/json"}


def send_event(server: Server, stripe_server: StripeServer, event: Any) -> Reply:
    """Send an event to the webhook with a valid signature."""
    body = json.dumps(event).encode()
    headers = signature_headers(stripe_server.webhook_secret, body, int(time.time()))
    return server.ask(WEBHOOK, "POST", headers, body=body)


def choose_offer(visitor: Visitor, **form: str) -> Page:
    """Send the form of the price page."""
    visitor.get("/tarifs")
    return visitor.send("/tarifs", form)


def pay_checkout(stripe_server: StripeServer, redirect: Page) -> None:
    """Pay on the hosted page to which the form redirected."""
    checkout_url = redirect.headers["Location"]
    assert checkout_url.startswith(f"http://127.0.0.1:{stripe_server.port}/pay/cs_"), checkout_url
    stripe_server.ask(checkout_url.removeprefix(f"http://127.0.0.1:{stripe_server.port}"), "POST")


def plan_of(server: Server, account: str) -> tuple[str, bool]:
    """The plan of an account, and whether it has the API tool."""
    account_row = server.store.read(account_rows.account_of, account).result()
    return account_row.plan, account_row.outil_api


def payments_of(server: Server, account: str) -> Sequence[Payment]:
    """The payments of an account."""
    return server.store.read(payments.payments_of, account).result()


def buy_plan(
    server: Server, stripe_server: StripeServer, plan: str = "data"
) -> tuple[Visitor, str, Payment]:
    """A person who bought a plan with the API tool, his account, and the subscription."""
    visitor, account = sign_up_member(server)
    pay_checkout(stripe_server, choose_offer(visitor, offre=plan, outil_api="1"))
    wait_until(lambda: plan_of(server, account)[0] == plan)
    (subscription,) = payments_of(server, account)
    return visitor, account, subscription


def test_a_plan_is_paid_on_a_hosted_page_and_starts(
    mail_and_payment_server: Server, stripe_server: StripeServer
) -> None:
    visitor, account, subscription = buy_plan(mail_and_payment_server, stripe_server)

    stripe_subscription = stripe_server.ask(f"/v1/subscriptions/{subscription.id}")
    page = visitor.get("/compte?paiement=recu")

    assert plan_of(mail_and_payment_server, account) == ("data", True)
    # 5 000 € and 250 € of the API tool, excl. VAT, in cents.
    assert stripe_subscription["plan"]["amount"] == 525_000
    assert stripe_subscription["plan"]["interval"] == "year"
    assert subscription.status == "active"
    assert "Données + API en cours" in page.text
    assert "Merci" in page.text


def test_a_subscriber_changes_and_cancels_in_the_portal(
    mail_and_payment_server: Server, stripe_server: StripeServer
) -> None:
    visitor, account, subscription = buy_plan(mail_and_payment_server, stripe_server)

    change = choose_offer(visitor, offre="integral")
    visitor.get("/compte")
    portal = visitor.send("/compte/facturation")
    stripe_server.ask(f"/v1/subscriptions/{subscription.id}", "DELETE")
    wait_until(lambda: plan_of(mail_and_payment_server, account) == ("free", False))

    assert change.headers["Location"] == portal.headers["Location"]
    assert portal.headers["Location"].endswith(f"/portal/{subscription.customer}")
    assert "Données + API terminé" in visitor.get("/compte").text


def test_a_payment_that_fails_keeps_the_plan_until_stripe_gives_up(
    mail_and_payment_server: Server, stripe_server: StripeServer
) -> None:
    visitor, account, subscription = buy_plan(mail_and_payment_server, stripe_server)
    status_path = f"/_test/subscriptions/{subscription.id}?status="

    stripe_server.ask(f"{status_path}past_due", "POST")
    wait_until(lambda: payments_of(mail_and_payment_server, account)[0].status == "past_due")
    plan_while_failing = plan_of(mail_and_payment_server, account)
    account_text = visitor.get("/compte").text
    stripe_server.ask(f"{status_path}unpaid", "POST")
    wait_until(lambda: plan_of(mail_and_payment_server, account) == ("free", False))

    assert plan_while_failing == ("data", True)
    assert "paiement échoué, nouvel essai à venir" in account_text


def test_a_pack_is_added_once_for_repeated_events(
    mail_and_payment_server: Server, stripe_server: StripeServer
) -> None:
    """And an event of an unpaid checkout adds none"""
    visitor, account = sign_up_member(mail_and_payment_server)

    pay_checkout(stripe_server, choose_offer(visitor, pack="1000"))
    wait_until(lambda: bool(payments_of(mail_and_payment_server, account)))
    (event,) = _events_of(stripe_server, "checkout.session.completed", account)
    replies = [send_event(mail_and_payment_server, stripe_server, event).status for _ in range(3)]
    unpaid = json.loads(json.dumps(event))
    unpaid["data"]["object"] |= {"id": "cs_unpaid", "payment_status": "unpaid"}
    send_event(mail_and_payment_server, stripe_server, unpaid)

    account_row = mail_and_payment_server.store.read(account_rows.account_of, account).result()
    usage = mail_and_payment_server.store.usage(
        account,
        mail_and_payment_server.context.plans[account_row.plan],
        mail_and_payment_server.context.now(),
    ).result()
    assert replies == [200, 200, 200]
    assert event["data"]["object"]["invoice_creation"] == {"enabled": "true"}  # text, as in a form
    assert event["data"]["object"]["automatic_tax"] == {"enabled": "false"}
    assert usage.credits.packs == 1_000
    assert "1 000 crédits payé" in visitor.get("/compte").text


def test_repeated_events_in_any_order_lead_to_the_current_state(
    mail_and_payment_server: Server, stripe_server: StripeServer
) -> None:
    """The subscription was deleted, so after each event the plan is `free`"""
    _, account, subscription = buy_plan(mail_and_payment_server, stripe_server)
    stripe_server.ask(f"/v1/subscriptions/{subscription.id}", "DELETE")
    wait_until(lambda: plan_of(mail_and_payment_server, account) == ("free", False))
    events = [
        *_events_of(stripe_server, "customer.subscription.created", account),
        *_events_of(stripe_server, "customer.subscription.deleted", account),
        *_events_of(stripe_server, "checkout.session.completed", account),
    ]
    assert len(events) == 3

    for order in permutations(events):
        for event in (*order, order[0]):
            assert send_event(mail_and_payment_server, stripe_server, event).status == 200
            assert plan_of(mail_and_payment_server, account) == ("free", False)
    assert len(payments_of(mail_and_payment_server, account)) == 1


def test_an_event_of_a_pack_after_a_restart_does_not_add_it_again(
    tmp_path: Path, stripe_server: StripeServer
) -> None:
    """The same event on two servers, one after the other, with the same store"""
    data, state = tmp_path / "data", tmp_path / "state"
    data.mkdir()
    settings, account = stripe_server.settings(), ""
    for _ in range(2):
        with run_server(data, BASE_URL, state=state, paiement=settings) as server:
            now = server.context.now()
            account = account or create_account(server.store, "data", PLANS, now).result().id
            checkout = {
                "id": "cs_1", "mode": "payment", "payment_status": "paid", "created": 1,
                "customer": "cus_1", "metadata": {"account": account, "credits": "1000"},
            }  # fmt: skip
            event = {
                "type": "checkout.session.async_payment_succeeded",
                "data": {"object": checkout},
            }

            assert send_event(server, stripe_server, event).status == 200
            usage = server.store.usage(account, PLANS["data"], now).result()
            assert usage.credits.packs == 1_000


def test_a_customer_that_stripe_no_longer_has_is_created_again(
    mail_and_payment_server: Server, stripe_server: StripeServer
) -> None:
    visitor, account = sign_up_member(mail_and_payment_server)
    old_payment = Payment(
        f"cs_old{account}", "pack", account, "", False, "paid", "cus_test", 1, credits=1
    )
    mail_and_payment_server.store.submit(payments.add_pack, old_payment).result()

    pay_checkout(stripe_server, choose_offer(visitor, offre="data"))

    wait_until(lambda: plan_of(mail_and_payment_server, account)[0] == "data")
    assert "cus_test" not in {
        payment.customer for payment in payments_of(mail_and_payment_server, account)[:1]
    }


def test_an_event_without_a_valid_signature_changes_nothing(
    mail_and_payment_server: Server, stripe_server: StripeServer
) -> None:
    _, account = sign_up_member(mail_and_payment_server)
    metadata = {"account": account, "credits": "1000"}
    checkout = {
        "id": "cs_forged", "mode": "payment", "payment_status": "paid", "metadata": metadata,
        "created": 1, "customer": "cus_1",
    }  # fmt: skip
    event = {"object": "event", "type": "checkout.session.completed", "data": {"object": checkout}}
    body, now = json.dumps(event).encode(), int(time.time())
    right_signature = signature_headers(stripe_server.webhook_secret, body, now)

    replies = [
        mail_and_payment_server.ask(WEBHOOK, "POST", headers, body=sent_body).status
        for headers, sent_body in (
            (signature_headers("whsec_other", body, now), body),
            # A signature is valid for 300 s.
            (signature_headers(stripe_server.webhook_secret, body, now - 301), body),
            (right_signature, body.replace(b'"1000"', b'"9000"')),
            ({}, body),
            # This body is signed but is no event.
            (signature_headers(stripe_server.webhook_secret, b"[]", now), b"[]"),
        )
    ]

    assert replies == [400] * 5
    assert not payments_of(mail_and_payment_server, account)


def test_an_event_of_an_unreadable_subscription_is_503(
    mail_and_payment_server: Server, stripe_server: StripeServer
) -> None:
    event = {
        "object": "event", "type": "customer.subscription.updated",
        "data": {"object": {"id": "sub_unknown"}},
    }  # fmt: skip

    assert send_event(mail_and_payment_server, stripe_server, event).status == 503
    unrelated = {"object": "event", "type": "plan.created", "data": {"object": {"id": "plan_1"}}}
    assert send_event(mail_and_payment_server, stripe_server, unrelated).status == 200


def _events_of_wrong_shape() -> list[Any]:
    """Events that Stripe could sign, with values that our code does not expect."""
    metadata: dict[str, Any] = {"account": "a_1", "credits": "1000"}
    wrong_texts: list[Any] = ["many", [], "x" * 600]
    right_checkout = {
        "id": "cs_1", "mode": "payment", "payment_status": "paid", "created": 1,
        "customer": "cus_1", "metadata": metadata,
    }  # fmt: skip
    not_objects: list[Any] = [None, 1, "text", [], {}]
    values: dict[str, list[Any]] = {
        "id": [None, 7, {}, "x" * 600, "a/b", "\u0000"],
        "metadata": [
            "account credits", ["account", "credits"], *({**metadata, "credits": value} for value in wrong_texts),
            *({**metadata, "account": value} for value in wrong_texts[1:]),
        ],
        "created": [None, "soon", {}],
        "customer": [{"id": "cus_1"}],
    }  # fmt: skip
    changes = [{name: value} for name, field_values in values.items() for value in field_values]
    changes.append({"mode": "subscription", "subscription": ["sub_1"]})
    checkouts = [*not_objects, *({**right_checkout, **change} for change in changes)]
    return [
        *({"type": "checkout.session.completed", "data": {"object": value}} for value in checkouts),
        *(
            {"type": "customer.subscription.updated", "data": {"object": value}}
            for value in not_objects
        ),
        *({"type": "invoice.paid", "data": {"object": {"parent": value}}} for value in ("x", [1])),
        *({"type": "invoice.paid", "data": value} for value in not_objects),
        *not_objects,
    ]


def test_a_signed_event_of_a_wrong_shape_is_400(
    mail_and_payment_server: Server, stripe_server: StripeServer
) -> None:
    replies = [
        send_event(mail_and_payment_server, stripe_server, event).status
        for event in _events_of_wrong_shape()
    ]

    assert set(replies) == {400}


def test_a_pack_that_cannot_be_applied_is_503_and_listed_for_the_operator(
    mail_and_payment_server: Server, stripe_server: StripeServer
) -> None:
    """Its account does not exist; it is applied when the account is corrected"""
    now = mail_and_payment_server.context.now()
    checkout = {
        "id": "cs_lost", "mode": "payment", "payment_status": "paid", "created": 1,
        "customer": "cus_1", "metadata": {"account": "a_removed00000", "credits": "1000"},
    }  # fmt: skip
    event = {"type": "checkout.session.completed", "data": {"object": checkout}}

    statuses_without_account = [
        send_event(mail_and_payment_server, stripe_server, event).status for _ in range(2)
    ]
    (unapplied,) = [
        payment
        for payment in mail_and_payment_server.store.read(payments.unapplied_payments).result()
        if payment.id == "cs_lost"
    ]
    account = create_account(mail_and_payment_server.store, "data", PLANS, now).result().id
    checkout["metadata"]["account"] = account  # type: ignore[index]
    status_with_account = send_event(mail_and_payment_server, stripe_server, event).status

    assert statuses_without_account == [503, 503]
    assert (unapplied.account, unapplied.credits, unapplied.customer) == (
        "a_removed00000",
        1_000,
        "cus_1",
    )
    assert "there is no account" in unapplied.error
    assert status_with_account == 200
    assert (
        mail_and_payment_server.store.usage(account, PLANS["data"], now).result().credits.packs
        == 1_000
    )
    assert "cs_lost" not in [
        payment.id
        for payment in mail_and_payment_server.store.read(payments.unapplied_payments).result()
    ]


def test_only_an_administrator_buys_and_only_plans_with_a_price(
    mail_and_payment_server: Server,
) -> None:
    visitor, account = sign_up_member(mail_and_payment_server)
    ticket, token = invite(
        mail_and_payment_server.store,
        account,
        f"m{account}@exemple.fr",
        "membre",
        mail_and_payment_server.context.now(),
        mail=False,
    ).result()
    member_visitor = join_by_link(mail_and_payment_server, f"/invitation/{token}")

    assert ticket.role == "membre"
    assert choose_offer(member_visitor, offre="data").status == 403
    # The custom plan and the free plan have no price to pay on the site.
    assert choose_offer(visitor, offre="carte").status == 503
    assert choose_offer(visitor, offre="free").status == 503
    assert visitor.send("/tarifs", {"jeton": "faux", "offre": "data"}).status == 403
    assert Visitor(mail_and_payment_server).send("/tarifs", {"offre": "data"}).headers[
        "Location"
    ] == ("/connexion?suite=/tarifs")


def _events_of(stripe_server: StripeServer, kind: str, account: str) -> list[Any]:
    """The events of a type that localstripe has stored for an account."""
    events = stripe_server.ask(f"/v1/events?type={kind}&limit=99")["data"]
    return [
        event for event in events if event["data"]["object"]["metadata"].get("account") == account
    ]


@pytest.fixture(autouse=True)
def _start_both_servers(mail_and_payment_server: Server, stripe_server: StripeServer) -> None:
    """Start both servers before the first test, so that its measured time does not include their start."""
