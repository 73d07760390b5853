"""The credits that a record costs (D8 to D12, D14)."""

import asyncio
from collections.abc import Iterator
from urllib.parse import quote

import aiohttp
import pytest

from quota.ledger import calls
from quota.ledger.calls import Purchase
from tests.serve import world
from tests.serve.client import PLANS, Customer, Reply, Server, run_server
from tests.serve.clock import Clock
from tests.serve.world import CONTACT, STATEMENTS

# A record with statements costs five credits, a record without statements none (D8, X0).
PAID_RECORD = "/api/v1/societes/FR/552100554"
WITHOUT_STATEMENTS = ("UK", "SC123456")
FREE_RECORD = "/api/v1/societes/UK/SC123456"
OTHER_PAID_RECORDS = [f"/api/v1/societes/DE/K1101R_HRB{number:03}" for number in range(26)]


@pytest.fixture(scope="module")
def clock() -> Clock:
    """The last day of a month, so that a test can move it into the next month."""
    return Clock("2026-11-30T12:00:00")


@pytest.fixture(scope="module")
def fixed_clock_server(tmp_path_factory: pytest.TempPathFactory, clock: Clock) -> Iterator[Server]:
    """A server with a fixed clock. Only WITHOUT_STATEMENTS has no statements, so only its record is free (X0)."""
    data = tmp_path_factory.mktemp("credits") / "data"
    data.mkdir()
    statements = world.ALL_STATEMENTS
    world.publish(
        data, comptes={key: statements[key] for key in statements if key != WITHOUT_STATEMENTS}
    )
    with run_server(data, now=clock) as server:
        yield server


def credit_headers(reply: Reply) -> tuple[str, str]:
    """The headers of a response with the credits debited and the credits left."""
    return reply.headers["X-Credits-Debites"], reply.headers["X-Credits-Restants"]


def make_customer(server: Server, plan: str = "free", left: int = 0) -> Customer:
    """A customer who has `left` credits of this month; by default none."""
    customer = server.customer(plan)
    spend_credits(server, customer, PLANS[plan].credits_par_mois, left)
    return customer


def spend_credits(server: Server, customer: Customer, grant: int, left: int = 0) -> None:
    """Spend the `grant` of credits of this month, except `left`, by one purchase."""
    server.store.take_and_charge(
        Purchase(
            customer.account,
            call_limit=10_000,
            company="FR/depense",
            cost=grant - left,
            grant=grant,
        ),
        server.context.now(),
    ).result()


@pytest.mark.parametrize("slug", ["free", "data", "carte", "corporate", "marches", "integral"])
def test_a_full_record_is_charged_once(fixed_clock_server: Server, slug: str) -> None:
    """D8, D9, D11, D12, E4"""
    customer = fixed_clock_server.customer(slug)
    grant = PLANS[slug].credits_par_mois

    first = fixed_clock_server.ask(PAID_RECORD, headers=customer.headers)
    second = fixed_clock_server.ask(PAID_RECORD, headers=customer.headers)

    assert (first.status, second.status) == (200, 200)
    assert credit_headers(first) == ("5", str(grant - 5))
    assert credit_headers(second) == ("0", str(grant - 5))
    assert first.body == second.body
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
def test_a_company_is_charged_once_for_all_spellings_of_its_path(
    fixed_clock_server: Server, first: str, second: str
) -> None:
    """D9, B2, E2: canonical country and identifier"""
    customer = fixed_clock_server.customer("free")

    replies = [fixed_clock_server.ask(path, headers=customer.headers) for path in (first, second)]

    assert [credit_headers(reply)[0] for reply in replies] == ["5", "0"]
    assert replies[0].body == replies[1].body


def test_head_counts_as_a_call_and_costs_no_credits(fixed_clock_server: Server) -> None:
    """D1, G1: of the 250 credits of `free`, only the GET after the HEAD spends 5"""
    customer = fixed_clock_server.customer("free")

    head = fixed_clock_server.ask(PAID_RECORD, "HEAD", headers=customer.headers)

    assert (head.status, head.body) == (200, b"")
    assert credit_headers(head) == ("0", "250")
    assert fixed_clock_server.usage(customer).credits.left == 250
    assert credit_headers(fixed_clock_server.ask(PAID_RECORD, headers=customer.headers)) == (
        "5",
        "245",
    )


def test_head_has_the_status_of_get(fixed_clock_server: Server) -> None:
    """G1, D1: a HEAD counts as a call, also with the status 402; for a paid or free record it is 200"""
    customer = make_customer(fixed_clock_server, left=5)
    paid = fixed_clock_server.ask(PAID_RECORD, headers=customer.headers)

    heads = [
        fixed_clock_server.ask(path, "HEAD", headers=customer.headers)
        for path in (OTHER_PAID_RECORDS[0], PAID_RECORD, FREE_RECORD)
    ]

    gets = [
        fixed_clock_server.ask(path, headers=customer.headers)
        for path in (OTHER_PAID_RECORDS[0], PAID_RECORD, FREE_RECORD)
    ]
    assert paid.status == 200
    assert [head.status for head in heads] == [get.status for get in gets] == [402, 200, 200]
    assert [credit_headers(head) for head in heads] == [("0", "0")] * 3
    # The call that spent credits, a GET, three HEADs and three GETs.
    assert fixed_clock_server.usage(customer).calls.used == 8


def test_a_company_that_is_absent_costs_no_credits(fixed_clock_server: Server) -> None:
    """D1: the plan `free` keeps its 250 credits"""
    customer = fixed_clock_server.customer("free")

    assert (
        fixed_clock_server.ask("/api/v1/societes/FR/absente", headers=customer.headers).status
        == 404
    )
    assert fixed_clock_server.usage(customer).credits.left == 250


@pytest.mark.parametrize("left", [250, 4, 0])
def test_a_record_without_statements_costs_a_call_and_no_credits(
    fixed_clock_server: Server, left: int
) -> None:
    """X0.6: at 0 credits, too; `make_customer` made the first of the three calls"""
    customer = make_customer(fixed_clock_server, left=left)

    replies = [fixed_clock_server.ask(FREE_RECORD, headers=customer.headers) for _ in range(2)]

    assert [reply.status for reply in replies] == [200, 200]
    assert [credit_headers(reply) for reply in replies] == [("0", str(left))] * 2
    assert replies[0].json["comptes"] == []
    assert replies[0].json["droits"]["etats_financiers"] is True
    assert replies[0].headers["ETag"]
    assert [reply.headers["X-Quota-Used"] for reply in replies] == ["2", "3"]
    usage = fixed_clock_server.usage(customer)
    assert (usage.calls.used, usage.credits.left) == (3, left)


@pytest.mark.parametrize("plan", ["free", "data"])
@pytest.mark.parametrize("left", [0, 4])
def test_without_credits_a_402_has_the_preview(
    fixed_clock_server: Server, plan: str, left: int
) -> None:
    """D10"""
    customer = make_customer(fixed_clock_server, plan, left)

    reply = fixed_clock_server.ask(PAID_RECORD, headers=customer.headers)

    body = reply.json
    public = fixed_clock_server.ask(PAID_RECORD).json["societe"]
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
    assert credit_headers(reply) == ("0", str(left))
    assert reply.headers["Cache-Control"] == "no-store"
    assert "ETag" not in reply.headers
    assert CONTACT.encode() not in reply.body
    # The call was answered, so it counts (D1).
    assert (reply.headers["X-Quota-Used"], fixed_clock_server.calls_used(customer)) == ("2", 2)


def test_the_message_of_a_preview_is_in_the_language_of_the_caller(
    fixed_clock_server: Server,
) -> None:
    """D10, X0"""
    customer = make_customer(fixed_clock_server)

    messages = [
        fixed_clock_server.ask(
            PAID_RECORD, headers={**customer.headers, "Accept-Language": lang}
        ).json["comptes_message"]
        for lang in ("fr", "en")
    ]

    assert [text.partition(" ")[0] for text in messages] == ["Crédits", "Credits"]


def test_a_paid_company_stays_free_without_credits(fixed_clock_server: Server) -> None:
    """D9: the credits of one record are left"""
    customer = make_customer(fixed_clock_server, left=5)

    replies = [
        fixed_clock_server.ask(path, headers=customer.headers)
        for path in (PAID_RECORD, OTHER_PAID_RECORDS[0], PAID_RECORD)
    ]

    assert [reply.status for reply in replies] == [200, 402, 200]
    assert [credit_headers(reply) for reply in replies] == [("5", "0"), ("0", "0"), ("0", "0")]


def test_packs_are_spent_after_the_grant(fixed_clock_server: Server) -> None:
    """D8: 3 credits of the grant and 7 of a pack pay two records"""
    customer = make_customer(fixed_clock_server, left=3)
    fixed_clock_server.store.submit(calls.add_credits, customer.account, 7).result()

    replies = [
        fixed_clock_server.ask(path, headers=customer.headers) for path in OTHER_PAID_RECORDS[:3]
    ]

    assert [credit_headers(reply) for reply in replies] == [("5", "5"), ("5", "0"), ("0", "0")]
    assert [reply.status for reply in replies] == [200, 200, 402]


def test_a_new_month_renews_the_grant_and_charges_again(
    fixed_clock_server: Server, clock: Clock
) -> None:
    """D8, D9: credits of packs do not expire with the month"""
    customer = make_customer(fixed_clock_server, left=0)
    fixed_clock_server.store.submit(calls.add_credits, customer.account, 5).result()
    clock.set("2026-12-31T23:59:59.5")
    december = fixed_clock_server.ask(PAID_RECORD, headers=customer.headers)
    second_december = fixed_clock_server.ask(PAID_RECORD, headers=customer.headers)
    clock.set("2027-01-01T00:00:00")
    january = fixed_clock_server.ask(PAID_RECORD, headers=customer.headers)
    clock.set("2026-11-30T12:00:00")

    assert [credit_headers(reply) for reply in (december, second_december, january)] == [
        ("5", "250"), ("0", "250"), ("5", "250"),
    ]  # fmt: skip


def test_a_visitor_is_never_charged(fixed_clock_server: Server) -> None:
    """D14, A6: he gets a message in place of the statements, and no header of credits"""
    reply = fixed_clock_server.ask(PAID_RECORD)

    assert reply.status == 200
    assert "comptes" not in reply.json
    assert reply.json["comptes_message"]
    assert not [name for name in reply.headers if name.startswith("X-Credits")]


def test_a_refused_key_is_never_charged(fixed_clock_server: Server) -> None:
    """A1: one letter more than the key of a customer, who keeps the 5 000 credits of `data`"""
    customer = fixed_clock_server.customer("data")

    reply = fixed_clock_server.ask(
        PAID_RECORD, headers={"Authorization": f"Bearer {customer.key}x"}
    )

    assert reply.status == 401
    assert not [name for name in reply.headers if name.startswith("X-Credits")]
    assert fixed_clock_server.usage(customer).credits.left == 5_000


def test_simultaneous_calls_pay_for_a_company_once(fixed_clock_server: Server) -> None:
    """D9, R7: 300 requests at the same time; one of them pays the 5 of 5 000 credits"""
    customer = fixed_clock_server.customer("data")

    async def debits_of_simultaneous_requests() -> list[str]:
        """The credits debited by each of 300 concurrent requests for the record."""
        async with aiohttp.ClientSession(headers=customer.headers) as session:

            async def read_debit() -> str:
                """Request the record; return the credits debited."""
                async with session.get(
                    f"http://127.0.0.1:{fixed_clock_server.port}{PAID_RECORD}"
                ) as reply:
                    await reply.read()
                    return reply.headers["X-Credits-Debites"]

            return await asyncio.gather(*(read_debit() for _ in range(300)))

    debits = asyncio.run(debits_of_simultaneous_requests())

    assert sorted(debits) == ["0"] * 299 + ["5"]
    assert fixed_clock_server.usage(customer).credits.left == 4_995
    assert fixed_clock_server.calls_used(customer) == 300


def test_every_company_of_the_test_data_can_be_charged(fixed_clock_server: Server) -> None:
    """E2: each identifier can be part of a key of the store"""
    customer = fixed_clock_server.customer("data")
    paths = [
        fixed_clock_server.ask(
            f"/api/v1/societes/{company['iso2']}/{quote(company['id'], safe='')}"
        ).headers["Content-Location"]
        for company in world.COMPANIES
    ]

    debits = [
        credit_headers(fixed_clock_server.ask(path, headers=customer.headers))[0] for path in paths
    ]
    # One company has no statements.
    assert (debits.count("5"), debits.count("0")) == (len(paths) - 1, 1)


@pytest.mark.parametrize("plan", ["data", "carte", "corporate"])
def test_the_402_names_the_credits_that_the_api_tool_would_add(
    fixed_clock_server: Server, plan: str
) -> None:
    """D10, A7: without the tool, keys are served at the free level, so only its credits are spent"""
    customer = fixed_clock_server.customer(plan, api_tool=False)
    spend_credits(fixed_clock_server, customer, PLANS["free"].credits_par_mois)

    refusal = fixed_clock_server.ask(PAID_RECORD, headers=customer.headers)

    message = refusal.json["erreur"]["message"]
    credits_of_plan = PLANS[plan].credits_par_mois
    assert refusal.status == 402
    assert "Avec l'outil API (250 € HT par an)" in message
    assert f"{PLANS[plan].nom} permet {credits_of_plan} crédits par mois" in message
    assert refusal.json["comptes_message"] == message


def test_the_402_does_not_name_a_tool_that_adds_no_credits(fixed_clock_server: Server) -> None:
    for plan in ("free", "data", "integral"):
        refusal = fixed_clock_server.ask(
            PAID_RECORD, headers=make_customer(fixed_clock_server, plan).headers
        )

        assert "outil API" not in refusal.json["erreur"]["message"]
