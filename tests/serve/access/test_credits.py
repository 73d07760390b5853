"""Credits of a record (D8 to D12, D14)."""

import asyncio
from collections.abc import Iterator
from urllib.parse import quote

import aiohttp
import pytest

from quota.ledger import calls
from quota.ledger.calls import Purchase
from tests.serve import world
from tests.serve.client import PLANS, Customer, Reply, Served, serving
from tests.serve.clock import Clock
from tests.serve.world import CONTACT, STATEMENTS

PAID = "/api/v1/societes/FR/552100554"
WITHOUT = ("UK", "SC123456")
UNPAID = "/api/v1/societes/UK/SC123456"
OTHERS = [f"/api/v1/societes/DE/K1101R_HRB{number:03}" for number in range(26)]


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock("2026-11-30T12:00:00")


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory, clock: Clock) -> Iterator[Served]:
    """All companies but one have statements: records without them cost no credits (X0)."""
    data = tmp_path_factory.mktemp("credits") / "data"
    data.mkdir()
    known = world.ALL_STATEMENTS
    world.publish(data, comptes={key: known[key] for key in known if key != WITHOUT})
    with serving(data, now=clock) as server:
        yield server


def credits(reply: Reply) -> tuple[str, str]:
    return reply.headers["X-Credits-Debites"], reply.headers["X-Credits-Restants"]


def poor(served: Served, plan: str = "free", left: int = 0) -> Customer:
    """An account that has `left` credits of this month."""
    customer = served.customer(plan)
    spend(served, customer, PLANS[plan].credits_par_mois, left)
    return customer


def spend(served: Served, customer: Customer, grant: int, left: int = 0) -> None:
    """Use up all but `left` of the credits of this month."""
    served.store.take_and_charge(
        Purchase(customer.account, 10_000, "FR/depense", grant - left, grant), served.context.now()
    ).result(10)


@pytest.mark.parametrize("slug", ["free", "data", "carte", "corporate", "marches", "integral"])
def test_a_full_record_is_charged_once(still: Served, slug: str) -> None:
    """D8, D9, D11, D12, E4"""
    customer = still.customer(slug)
    grant = PLANS[slug].credits_par_mois

    first = still.ask(PAID, headers=customer.headers)
    again = still.ask(PAID, headers=customer.headers)

    assert (first.status, again.status) == (200, 200)
    assert credits(first) == ("5", str(grant - 5))
    assert credits(again) == ("0", str(grant - 5))
    assert first.body == again.body
    assert first.json["comptes"] == STATEMENTS
    assert first.json["droits"] == {
        "etats_financiers": True, "coordonnees": PLANS[slug].coordonnees,
    }  # fmt: skip
    assert grant == {"free": 250, "data": 5_000, "carte": 5_000, "corporate": 25_000,
                     "marches": 25_000, "integral": 50_000}[slug]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("/api/v1/societes/UK/08209948", "/api/v1/societes/GB/08209948"),
        ("/api/v1/societes/UK/08209948", "/api/v1/societes/uk/08209948/"),
        ("/api/v1/societes/FR/552100554", "/api/v1/societes/FR/552%20100%20554"),
        ("/api/v1/societes/FR/A%201%2F2.b", "/api/v1/societes/FR/a12b"),
    ],
)
def test_one_company_is_charged_once_however_it_is_spelt(
    still: Served, first: str, second: str
) -> None:
    """D9, B2, E2: canonical country and identifier"""
    customer = still.customer("free")

    replies = [still.ask(path, headers=customer.headers) for path in (first, second)]

    assert [credits(reply)[0] for reply in replies] == ["5", "0"]
    assert replies[0].body == replies[1].body


def test_head_is_a_call_and_never_credits(still: Served) -> None:
    """D1, G1"""
    customer = still.customer("free")

    head = still.ask(PAID, "HEAD", headers=customer.headers)

    assert (head.status, head.body) == (200, b"")
    assert credits(head) == ("0", "250")
    assert still.usage(customer).credits.left == 250
    assert credits(still.ask(PAID, headers=customer.headers)) == ("5", "245")


def test_head_is_refused_where_get_would_be(still: Served) -> None:
    """G1, D1: a call, as the 402 of GET; what was paid for or is free is not refused"""
    customer = poor(still, left=5)
    paid = still.ask(PAID, headers=customer.headers)

    heads = [
        still.ask(path, "HEAD", headers=customer.headers) for path in (OTHERS[0], PAID, UNPAID)
    ]

    got = [still.ask(path, headers=customer.headers) for path in (OTHERS[0], PAID, UNPAID)]
    assert paid.status == 200
    assert [head.status for head in heads] == [one.status for one in got] == [402, 200, 200]
    assert [credits(head) for head in heads] == [("0", "0")] * 3
    assert still.usage(customer).calls.used == 8  # one spent the credits


def test_a_company_that_is_absent_costs_no_credits(still: Served) -> None:
    """D1"""
    customer = still.customer("free")

    assert still.ask("/api/v1/societes/FR/absente", headers=customer.headers).status == 404
    assert still.usage(customer).credits.left == 250


@pytest.mark.parametrize("left", [250, 4, 0])
def test_a_record_without_statements_costs_a_call_and_no_credits(still: Served, left: int) -> None:
    """X0.6: at 0 credits, too"""
    customer = poor(still, left=left)

    replies = [still.ask(UNPAID, headers=customer.headers) for _ in range(2)]

    assert [reply.status for reply in replies] == [200, 200]
    assert [credits(reply) for reply in replies] == [("0", str(left))] * 2
    assert replies[0].json["comptes"] == []
    assert replies[0].json["droits"]["etats_financiers"] is True
    assert replies[0].headers["ETag"]
    assert [reply.headers["X-Quota-Used"] for reply in replies] == ["2", "3"]
    usage = still.usage(customer)
    assert (usage.calls.used, usage.credits.left) == (3, left)


@pytest.mark.parametrize("plan", ["free", "data"])
@pytest.mark.parametrize("left", [0, 4])
def test_without_credits_the_preview_is_served(still: Served, plan: str, left: int) -> None:
    """D10"""
    customer = poor(still, plan, left)

    reply = still.ask(PAID, headers=customer.headers)

    body = reply.json
    public = still.ask(PAID).json["societe"]
    assert (reply.status, reply.code) == (402, "credits_epuises")
    assert list(body) == [
        "erreur", "societe", "plan", "comptes_message", "droits", "offre_suivante", "credits",
    ]  # fmt: skip
    assert body["societe"] == public
    assert body["plan"] == plan
    assert body["droits"] == {"etats_financiers": False, "coordonnees": False}
    assert body["offre_suivante"]["plan"] == PLANS[plan].suivant
    assert body["credits"] == {
        "cout": 5, "solde": left, "reinitialisation": "2026-12-01T00:00:00Z",
    }  # fmt: skip
    assert credits(reply) == ("0", str(left))
    assert reply.headers["Cache-Control"] == "no-store"
    assert "ETag" not in reply.headers
    assert CONTACT.encode() not in reply.body
    # The call was answered, so it counts (D1).
    assert (reply.headers["X-Quota-Used"], still.used(customer)) == ("2", 2)


def test_the_preview_says_in_the_language_of_the_caller_what_is_missing(still: Served) -> None:
    """D10, X0"""
    customer = poor(still)

    said = [
        still.ask(PAID, headers={**customer.headers, "Accept-Language": lang}).json[
            "comptes_message"
        ]
        for lang in ("fr", "en")
    ]

    assert [text.partition(" ")[0] for text in said] == ["Crédits", "Credits"]


def test_a_company_that_was_paid_stays_free_without_credits(still: Served) -> None:
    """D9"""
    customer = poor(still, left=5)

    replies = [still.ask(path, headers=customer.headers) for path in (PAID, OTHERS[0], PAID)]

    assert [reply.status for reply in replies] == [200, 402, 200]
    assert [credits(reply) for reply in replies] == [("5", "0"), ("0", "0"), ("0", "0")]


def test_packs_are_spent_after_the_grant(still: Served) -> None:
    """D8"""
    customer = poor(still, left=3)
    still.store.submit(calls.add_credits, customer.account, 7).result(10)

    replies = [still.ask(path, headers=customer.headers) for path in OTHERS[:3]]

    assert [credits(reply) for reply in replies] == [("5", "5"), ("5", "0"), ("0", "0")]
    assert [reply.status for reply in replies] == [200, 200, 402]


def test_a_new_month_brings_the_grant_again_and_charges_again(still: Served, clock: Clock) -> None:
    """D8, D9; packs do not end with the month"""
    customer = poor(still, left=0)
    still.store.submit(calls.add_credits, customer.account, 5).result(10)
    clock.set("2026-12-31T23:59:59.5")
    december = still.ask(PAID, headers=customer.headers)
    again = still.ask(PAID, headers=customer.headers)
    clock.set("2027-01-01T00:00:00")
    january = still.ask(PAID, headers=customer.headers)
    clock.set("2026-11-30T12:00:00")

    assert [credits(reply) for reply in (december, again, january)] == [
        ("5", "250"), ("0", "250"), ("5", "250"),
    ]  # fmt: skip


def test_a_visitor_is_never_charged(still: Served) -> None:
    """D14, A6"""
    reply = still.ask(PAID)

    assert reply.status == 200
    assert "comptes" not in reply.json
    assert reply.json["comptes_message"]
    assert not [name for name in reply.headers if name.startswith("X-Credits")]


def test_a_refused_key_is_never_charged(still: Served) -> None:
    """A1"""
    customer = still.customer("data")

    reply = still.ask(PAID, headers={"Authorization": f"Bearer {customer.key}x"})

    assert reply.status == 401
    assert not [name for name in reply.headers if name.startswith("X-Credits")]
    assert still.usage(customer).credits.left == 5_000


def test_many_at_once_pay_for_a_company_once(still: Served) -> None:
    """D9, R7"""
    customer = still.customer("data")

    async def all_at_once() -> list[str]:
        async with aiohttp.ClientSession(headers=customer.headers) as session:

            async def one() -> str:
                async with session.get(f"http://127.0.0.1:{still.port}{PAID}") as reply:
                    await reply.read()
                    return reply.headers["X-Credits-Debites"]

            return await asyncio.gather(*(one() for _ in range(300)))

    debits = asyncio.run(all_at_once())

    assert sorted(debits) == ["0"] * 299 + ["5"]
    assert still.usage(customer).credits.left == 4_995
    assert still.used(customer) == 300


def test_every_company_of_the_world_can_be_charged(still: Served) -> None:
    """E2: no identifier is too odd to be a key of the store"""
    customer = still.customer("data")
    paths = [
        still.ask(f"/api/v1/societes/{one['iso2']}/{quote(one['id'], safe='')}").headers[
            "Content-Location"
        ]
        for one in world.COMPANIES
    ]

    debits = [credits(still.ask(path, headers=customer.headers))[0] for path in paths]
    assert (debits.count("5"), debits.count("0")) == (len(paths) - 1, 1)


@pytest.mark.parametrize("plan", ["data", "carte", "corporate"])
def test_credits_that_the_api_tool_would_add_are_named(still: Served, plan: str) -> None:
    """D10, A7: the spent credits are those of the free level, at which the keys are served"""
    customer = still.customer(plan, api_tool=False)
    spend(still, customer, PLANS["free"].credits_par_mois)

    refused = still.ask(PAID, headers=customer.headers)

    message = refused.json["erreur"]["message"]
    credits_of_plan = PLANS[plan].credits_par_mois
    assert refused.status == 402
    assert "Avec l'outil API (250 € HT par an)" in message
    assert f"{PLANS[plan].nom} permet {credits_of_plan} crédits par mois" in message
    assert refused.json["comptes_message"] == message


def test_credits_that_no_tool_would_add_name_no_tool(still: Served) -> None:
    for plan in ("free", "data", "integral"):
        refused = still.ask(PAID, headers=poor(still, plan).headers)

        assert "outil API" not in refused.json["erreur"]["message"]
