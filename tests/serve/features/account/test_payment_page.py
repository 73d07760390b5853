"""Payment against localstripe: a checkout, and events that come twice, late and out of order (X10)."""

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
from tests.serve.client import PLANS, Reply, Served, serving
from tests.serve.features.account.conftest import BASE_URL, StripeServer, awaited
from tests.serve.features.account.test_members_page import joined
from tests.serve.surfaces.site.visitor import Seen, Visitor, member

HOOK = "/paiement/evenements"


def signed(secret: str, body: bytes, moment: int) -> dict[str, str]:
    """The header of Stripe: HMAC-SHA256 of the moment and the body."""
    text = b"%d.%s" % (moment, body)
    digest = hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()
    return {"Stripe-Signature": f"t={moment},v1={digest}", "Content-Type": "application/json"}


def announced(served: Served, stripe_server: StripeServer, event: Any) -> Reply:
    body = json.dumps(event).encode()
    headers = signed(stripe_server.webhook_secret, body, int(time.time()))
    return served.ask(HOOK, "POST", headers, body=body)


def choose(visitor: Visitor, **form: str) -> Seen:
    visitor.get("/tarifs")
    return visitor.send("/tarifs", form)


def paid(stripe_server: StripeServer, seen: Seen) -> None:
    where = seen.headers["Location"]
    assert where.startswith(f"http://127.0.0.1:{stripe_server.port}/pay/cs_"), where
    stripe_server.ask(where.removeprefix(f"http://127.0.0.1:{stripe_server.port}"), "POST")


def plan(served: Served, account: str) -> tuple[str, bool]:
    found = served.store.read(account_rows.account_of, account).result()
    return found.plan, found.outil_api


def payments_of(served: Served, account: str) -> Sequence[Payment]:
    return served.store.read(payments.of_account, account).result()


def bought(
    served: Served, stripe_server: StripeServer, slug: str = "data"
) -> tuple[Visitor, str, Payment]:
    visitor, account = member(served)
    paid(stripe_server, choose(visitor, offre=slug, outil_api="1"))
    awaited(lambda: plan(served, account)[0] == slug)
    (subscription,) = payments_of(served, account)
    return visitor, account, subscription


def test_a_plan_is_paid_on_a_hosted_page_and_begins(
    equipped: Served, stripe_server: StripeServer
) -> None:
    visitor, account, subscription = bought(equipped, stripe_server)

    asked = stripe_server.ask(f"/v1/subscriptions/{subscription.id}")
    page = visitor.get("/compte?paiement=recu")

    assert plan(equipped, account) == ("data", True)
    assert asked["plan"]["amount"] == 525_000  # 5 000 € and 250 € of the API tool, excl. VAT
    assert asked["plan"]["interval"] == "year"
    assert subscription.status == "active"
    assert "Données + API en cours" in page.text
    assert "Merci" in page.text


def test_a_subscriber_changes_and_cancels_in_the_portal(
    equipped: Served, stripe_server: StripeServer
) -> None:
    visitor, account, subscription = bought(equipped, stripe_server)

    other = choose(visitor, offre="integral")
    visitor.get("/compte")
    portal = visitor.send("/compte/facturation")
    stripe_server.ask(f"/v1/subscriptions/{subscription.id}", "DELETE")
    awaited(lambda: plan(equipped, account) == ("free", False))

    assert other.headers["Location"] == portal.headers["Location"]
    assert portal.headers["Location"].endswith(f"/portal/{subscription.customer}")
    assert "Données + API terminé" in visitor.get("/compte").text


def test_a_payment_that_fails_keeps_the_plan_until_stripe_gives_up(
    equipped: Served, stripe_server: StripeServer
) -> None:
    visitor, account, subscription = bought(equipped, stripe_server)
    path = f"/_test/subscriptions/{subscription.id}?status="

    stripe_server.ask(f"{path}past_due", "POST")
    awaited(lambda: payments_of(equipped, account)[0].status == "past_due")
    failing = plan(equipped, account)
    text = visitor.get("/compte").text
    stripe_server.ask(f"{path}unpaid", "POST")
    awaited(lambda: plan(equipped, account) == ("free", False))

    assert failing == ("data", True)
    assert "paiement échoué, nouvel essai à venir" in text


def test_a_pack_is_added_once_however_often_it_is_announced(
    equipped: Served, stripe_server: StripeServer
) -> None:
    visitor, account = member(equipped)

    paid(stripe_server, choose(visitor, pack="1000"))
    awaited(lambda: bool(payments_of(equipped, account)))
    (event,) = _events(stripe_server, "checkout.session.completed", account)
    replies = [announced(equipped, stripe_server, event).status for _ in range(3)]
    unpaid = json.loads(json.dumps(event))
    unpaid["data"]["object"] |= {"id": "cs_unpaid", "payment_status": "unpaid"}
    announced(equipped, stripe_server, unpaid)

    found = equipped.store.read(account_rows.account_of, account).result()
    usage = equipped.store.usage(
        account, equipped.context.plans[found.plan], equipped.context.now()
    ).result()
    assert replies == [200, 200, 200]
    assert event["data"]["object"]["invoice_creation"] == {"enabled": "true"}  # as in a form
    assert event["data"]["object"]["automatic_tax"] == {"enabled": "false"}
    assert usage.credits.packs == 1_000
    assert "1 000 crédits payé" in visitor.get("/compte").text


def test_events_in_any_order_and_twice_lead_to_the_state_of_now(
    equipped: Served, stripe_server: StripeServer
) -> None:
    _, account, subscription = bought(equipped, stripe_server)
    stripe_server.ask(f"/v1/subscriptions/{subscription.id}", "DELETE")
    awaited(lambda: plan(equipped, account) == ("free", False))
    events = [
        *_events(stripe_server, "customer.subscription.created", account),
        *_events(stripe_server, "customer.subscription.deleted", account),
        *_events(stripe_server, "checkout.session.completed", account),
    ]
    assert len(events) == 3

    for order in permutations(events):
        for event in (*order, order[0]):
            assert announced(equipped, stripe_server, event).status == 200
            assert plan(equipped, account) == ("free", False)
    assert len(payments_of(equipped, account)) == 1


def test_a_pack_that_is_announced_again_after_a_restart_is_not_added_again(
    tmp_path: Path, stripe_server: StripeServer
) -> None:
    data, state = tmp_path / "data", tmp_path / "state"
    data.mkdir()
    settings, account = stripe_server.settings(), ""
    for _ in range(2):
        with serving(data, BASE_URL, state=state, paiement=settings) as server:
            now = server.context.now()
            account = account or create_account(server.store, "data", PLANS, now).result().id
            about = {
                "id": "cs_1", "mode": "payment", "payment_status": "paid", "created": 1,
                "customer": "cus_1", "metadata": {"account": account, "credits": "1000"},
            }  # fmt: skip
            event = {"type": "checkout.session.async_payment_succeeded", "data": {"object": about}}

            assert announced(server, stripe_server, event).status == 200
            usage = server.store.usage(account, PLANS["data"], now).result()
            assert usage.credits.packs == 1_000


def test_a_customer_whom_stripe_no_longer_knows_buys_as_a_new_one(
    equipped: Served, stripe_server: StripeServer
) -> None:
    visitor, account = member(equipped)
    old = Payment(f"cs_old{account}", "pack", account, "", False, "paid", "cus_test", 1, credits=1)
    equipped.store.submit(payments.add_pack, old).result()

    paid(stripe_server, choose(visitor, offre="data"))

    awaited(lambda: plan(equipped, account)[0] == "data")
    assert "cus_test" not in {one.customer for one in payments_of(equipped, account)[:1]}


def test_what_stripe_did_not_sign_changes_nothing(
    equipped: Served, stripe_server: StripeServer
) -> None:
    _, account = member(equipped)
    told = {"account": account, "credits": "1000"}
    about = {
        "id": "cs_forged", "mode": "payment", "payment_status": "paid", "metadata": told,
        "created": 1, "customer": "cus_1",
    }  # fmt: skip
    event = {"object": "event", "type": "checkout.session.completed", "data": {"object": about}}
    body, now = json.dumps(event).encode(), int(time.time())
    right = signed(stripe_server.webhook_secret, body, now)

    replies = [
        equipped.ask(HOOK, "POST", headers, body=sent).status
        for headers, sent in (
            (signed("whsec_other", body, now), body),
            (signed(stripe_server.webhook_secret, body, now - 301), body),
            (right, body.replace(b'"1000"', b'"9000"')),
            ({}, body),
            (signed(stripe_server.webhook_secret, b"[]", now), b"[]"),
        )
    ]

    assert replies == [400] * 5
    assert not payments_of(equipped, account)


def test_stripe_is_told_to_send_again_what_could_not_be_asked(
    equipped: Served, stripe_server: StripeServer
) -> None:
    event = {
        "object": "event", "type": "customer.subscription.updated",
        "data": {"object": {"id": "sub_unknown"}},
    }  # fmt: skip

    assert announced(equipped, stripe_server, event).status == 503
    unrelated = {"object": "event", "type": "plan.created", "data": {"object": {"id": "plan_1"}}}
    assert announced(equipped, stripe_server, unrelated).status == 200


def _odd_events() -> list[Any]:
    """Events that Stripe could sign and that no code of ours expects."""
    told: dict[str, Any] = {"account": "a_1", "credits": "1000"}
    wrong: list[Any] = ["many", [], "x" * 600]
    right = {
        "id": "cs_1", "mode": "payment", "payment_status": "paid", "created": 1,
        "customer": "cus_1", "metadata": told,
    }  # fmt: skip
    odd: list[Any] = [None, 1, "text", [], {}]
    values: dict[str, list[Any]] = {
        "id": [None, 7, {}, "x" * 600, "a/b", "\u0000"],
        "metadata": [
            "account credits", ["account", "credits"], *({**told, "credits": one} for one in wrong),
            *({**told, "account": one} for one in wrong[1:]),
        ],
        "created": [None, "soon", {}],
        "customer": [{"id": "cus_1"}],
    }  # fmt: skip
    changes = [{name: value} for name, these in values.items() for value in these]
    changes.append({"mode": "subscription", "subscription": ["sub_1"]})
    checkouts = [*odd, *({**right, **change} for change in changes)]
    return [
        *({"type": "checkout.session.completed", "data": {"object": one}} for one in checkouts),
        *({"type": "customer.subscription.updated", "data": {"object": one}} for one in odd),
        *({"type": "invoice.paid", "data": {"object": {"parent": one}}} for one in ("x", [1])),
        *({"type": "invoice.paid", "data": one} for one in odd),
        *odd,
    ]


def test_a_signed_event_of_any_shape_is_refused_and_no_fault(
    equipped: Served, stripe_server: StripeServer
) -> None:
    replies = [announced(equipped, stripe_server, event).status for event in _odd_events()]

    assert set(replies) == {400}


def test_a_pack_that_cannot_be_applied_is_sent_again_and_shown_to_the_operator(
    equipped: Served, stripe_server: StripeServer
) -> None:
    now = equipped.context.now()
    about = {
        "id": "cs_lost", "mode": "payment", "payment_status": "paid", "created": 1,
        "customer": "cus_1", "metadata": {"account": "a_removed00000", "credits": "1000"},
    }  # fmt: skip
    event = {"type": "checkout.session.completed", "data": {"object": about}}

    refused = [announced(equipped, stripe_server, event).status for _ in range(2)]
    (note,) = [
        one
        for one in equipped.store.read(payments.unapplied_payments).result()
        if one.id == "cs_lost"
    ]
    account = create_account(equipped.store, "data", PLANS, now).result().id
    about["metadata"]["account"] = account  # type: ignore[index]
    applied = announced(equipped, stripe_server, event).status

    assert refused == [503, 503]
    assert (note.account, note.credits, note.customer) == ("a_removed00000", 1_000, "cus_1")
    assert "there is no account" in note.error
    assert applied == 200
    assert equipped.store.usage(account, PLANS["data"], now).result().credits.packs == 1_000
    assert "cs_lost" not in [
        one.id for one in equipped.store.read(payments.unapplied_payments).result()
    ]


def test_only_an_administrator_buys_and_only_what_has_a_price(equipped: Served) -> None:
    visitor, account = member(equipped)
    ticket, token = invite(
        equipped.store,
        account,
        f"m{account}@exemple.fr",
        "membre",
        equipped.context.now(),
        mail=False,
    ).result()
    other = joined(equipped, f"/invitation/{token}")

    assert ticket.role == "membre"
    assert choose(other, offre="data").status == 403
    assert choose(visitor, offre="carte").status == 503
    assert choose(visitor, offre="free").status == 503
    assert visitor.send("/tarifs", {"jeton": "faux", "offre": "data"}).status == 403
    assert Visitor(equipped).send("/tarifs", {"offre": "data"}).headers["Location"] == (
        "/connexion?suite=/tarifs"
    )


def _events(stripe_server: StripeServer, kind: str, account: str) -> list[Any]:
    found = stripe_server.ask(f"/v1/events?type={kind}&limit=99")["data"]
    return [one for one in found if one["data"]["object"]["metadata"].get("account") == account]


@pytest.fixture(autouse=True)
def _needs_both(equipped: Served, stripe_server: StripeServer) -> None:
    """Start both before the first test, whose time is then its own."""
