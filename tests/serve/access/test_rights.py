"""Callers: keys on every route, effective plans, organisations (A1 to A9, A12), and the part of a search that each plan
shows (contract C, B18 to B21).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota import credentials, plans
from quota.ledger import account_rows
from quota.periods import iso
from serve.access import rights
from serve.access.rights import Window
from tests.quota.filling import create_key
from tests.serve.client import DATA_PATHS, PLANS, Customer, Server

# The rows of a search that each plan shows (C).
CAPS = {
    "visiteur": 2, "free": 5, "data": 200, "corporate": 1000, "marches": 500, "integral": 1000,
    "carte": 200,
}  # fmt: skip

SEARCH = "/api/v1/societes"
RECORD = "/api/v1/societes/FR/552100554"
LISTS = DATA_PATHS[:3]  # reference lists, which need no key


@pytest.mark.parametrize(
    (
        "slug",
        "total",
        "sent_limit_offset",
        "expected_limit_offset",
        "visibles",
        "restantes",
        "expected_rows",
    ),
    [
        ("visiteur", 1_000, (50, 10), (2, 0), 2, 998, 2),
        ("free", 3, (50, 0), (5, 0), 3, 0, 3),
        ("data", 1_234_567, (50, 180), (20, 180), 200, 1_234_367, 20),
        ("corporate", 5_000, (1_000, 0), (500, 0), 1_000, 4_000, 500),
        ("corporate", 5_000, (500, 1_000), (0, 1_000), 1_000, 4_000, 0),
        ("marches", 5_000, (1_000, 400), (100, 400), 500, 4_500, 100),
        ("integral", 700, (1_000, 400), (500, 400), 700, 0, 300),
        ("carte", 199, (1_000, 0), (200, 0), 199, 0, 199),
    ],
)
def test_a_page_has_the_rows_that_the_contract_lists_for_its_plan(
    slug: str,
    total: int,
    sent_limit_offset: tuple[int, int],
    expected_limit_offset: tuple[int, int],
    visibles: int,
    restantes: int,
    expected_rows: int,
) -> None:
    """C, C2: `limit` and `offset` as sent, and as the answer has them"""
    plan = PLANS[slug]
    window = rights.window(plan, *sent_limit_offset)
    visible_rows = rights.visible_rows(plan, total)

    assert (rights.effective_limit(window, total), window.offset) == expected_limit_offset
    assert (visible_rows, total - visible_rows) == (visibles, restantes)
    assert max(0, min(window.limit, visible_rows - window.offset)) == expected_rows


@given(
    slug=st.sampled_from(plans.SLUGS),
    limit=st.integers(1, 1_000),
    offset=st.integers(0, 2_000) | st.integers(0, 10**30),
    total=st.integers(0, 20_000_000),
)
def test_no_page_has_rows_beyond_the_limit_of_its_plan(
    slug: str, limit: int, offset: int, total: int
) -> None:
    """§8.2 rules 1 to 3, B19"""
    plan = PLANS[slug]
    window = rights.window(plan, limit, offset)

    assert 0 <= window.limit <= min(limit, plan.lignes_par_appel)
    assert not window.limit or window.offset + window.limit <= CAPS[slug]
    assert rights.visible_rows(plan, total) == min(total, CAPS[slug])
    assert window.offset == (0 if slug == "visiteur" else offset)


@given(
    slug=st.sampled_from(plans.SLUGS[1:]), limit=st.integers(1, 1_000), total=st.integers(0, 3_000)
)
def test_the_pages_of_a_search_show_each_visible_row_once(
    slug: str, limit: int, total: int
) -> None:
    """B20: `next` exists exactly while another row can be reached"""
    plan = PLANS[slug]
    rows: list[int] = []
    offset: int | None = 0
    while offset is not None:
        window = rights.window(plan, limit, offset)
        visible = rights.visible_rows(plan, total)
        rows += range(offset, min(offset + window.limit, visible))
        offset = rights.next_offset(plan, window, total)

    assert rows == list(range(min(total, CAPS[slug])))


def test_a_visitor_has_no_next_page() -> None:
    """B20: its offset is locked, so the second row of a search with limit 1 cannot be reached"""
    plan = PLANS["visiteur"]

    assert rights.next_offset(plan, rights.window(plan, 1, 0), 1_000) is None


def test_beyond_the_last_company_the_limit_is_0_and_the_offset_as_sent() -> None:
    """B20: an offset of 30 is beyond the last of 29 or 30 companies, but not of 31"""
    window = rights.window(PLANS["data"], 50, 30)

    assert window == Window(50, 30)
    assert [rights.effective_limit(window, total) for total in (29, 30, 31)] == [0, 0, 50]


def test_an_empty_result_echoes_the_limit_of_the_plan() -> None:
    """C: an offset of 0 is never past the total"""
    assert rights.effective_limit(rights.window(PLANS["free"], 50, 0), 0) == 5


def test_only_the_visitor_has_a_preview() -> None:
    """C: apercu; the field of a search that says that an account would show more"""
    assert [slug for slug, plan in PLANS.items() if rights.is_visitor_plan(plan)] == ["visiteur"]


def authorization(text: str) -> dict[str, str]:
    """An Authorization header with this value."""
    return {"Authorization": text}


@pytest.fixture(scope="module")
def revoked_key(server: Server) -> str:
    """The text of a key that was revoked."""
    customer = server.customer("data")
    (key,) = server.store.read(account_rows.keys_of, customer.account).result()
    server.store.submit(account_rows.revoke_key, key.id, iso(server.context.now())).result()
    return customer.key


@pytest.mark.parametrize("slug", [slug for slug in plans.SLUGS if slug != "visiteur"])
def test_a_key_is_served_with_its_plan(server: Server, slug: str) -> None:
    """§5, C, §8.1"""
    customer = server.customer(slug)

    reply = server.ask(SEARCH, headers=customer.headers)

    body, plan = reply.json, PLANS[slug]
    assert (reply.status, body["plan"], body["apercu"]) == (200, slug, False)
    # The test data have 41 companies, and `limit` is 50 by default.
    assert len(body["societes"]) == min(41, 50, plan.lignes_par_appel)
    assert body["coordonnees"] == plan.coordonnees
    assert reply.headers["X-Plafond-Resultats"] == str(plan.resultats_par_recherche)
    assert reply.headers["X-Quota-Limit"] == str(plan.appels_api_par_jour)
    assert {"plan_souscrit", "outil_api"}.isdisjoint(body)


@pytest.mark.parametrize("path", [SEARCH, RECORD])
def test_every_invalid_key_gets_the_same_response(
    server: Server, revoked_key: str, path: str
) -> None:
    """A4: a revoked key gets the same response as a key that never existed"""
    valid_key = server.customer("data").key
    unknown_key = credentials.make_key(lambda below: below - 1)
    invalid_values = [
        f"Bearer {revoked_key}", f"Bearer {unknown_key}", f"Bearer {valid_key[:-1]}", f"Bearer {valid_key}x",
        f"Bearer {valid_key[:-1]}{'1' if valid_key[-1] == '0' else '0'}", f"Basic {valid_key}", f"Token {valid_key}",
        valid_key, f"Bearer {valid_key} {valid_key}", f"Bearer {valid_key},", "Bearer", "Bearer ", "", "Bearer é",
        f"Bearer {valid_key.upper()}",
    ]  # fmt: skip

    replies = [server.ask(path, headers=authorization(text)) for text in invalid_values]

    changing_headers = {"Date", "X-Request-Id", "RateLimit", "X-Quota-Reset"}
    responses = [
        (
            reply.status,
            reply.body,
            {name: value for name, value in reply.headers.items() if name not in changing_headers},
        )
        for reply in replies
    ]
    assert all(response == responses[0] for response in responses)
    assert (replies[0].status, replies[0].code) == (401, "cle_invalide")
    assert replies[0].headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    assert replies[0].json["plan"] == "visiteur"


def test_two_authorization_headers_are_not_a_key(server: Server) -> None:
    """A4"""
    customer = server.customer("data")
    line = f"Authorization: Bearer {customer.key}\r\n"

    answer = server.send_raw(
        f"GET {SEARCH} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{line}{line}\r\n"
    )

    # aiohttp's own parser may refuse such a request before we see it.
    assert answer.split(b" ", 2)[1] in (b"401", b"400")
    assert server.calls_used(customer) == 0


@pytest.mark.parametrize("pattern", ["Bearer {}", "bearer {}", "BEARER   {}"])
def test_the_scheme_may_be_in_any_case(server: Server, pattern: str) -> None:
    """RFC 9110 §11.1"""
    key = server.customer("free").key

    assert server.ask(SEARCH, headers=authorization(pattern.format(key))).status == 200


@pytest.mark.parametrize("path", LISTS)
def test_a_reference_list_ignores_keys(server: Server, revoked_key: str, path: str) -> None:
    """A2, G8, D1"""
    customer = server.customer("integral")
    plain = server.ask(path)
    with_key = server.ask(path, headers=customer.headers)
    with_revoked_key = server.ask(path, headers=authorization(f"Bearer {revoked_key}"))

    changing_headers = {"Date", "X-Request-Id"}
    for reply in (with_key, with_revoked_key):
        assert (reply.status, reply.body) == (200, plain.body)
        assert {
            name: value for name, value in reply.headers.items() if name not in changing_headers
        } == {name: value for name, value in plain.headers.items() if name not in changing_headers}
    assert plain.headers["Cache-Control"] == "public, max-age=300"
    assert server.calls_used(customer) == 0


@pytest.mark.parametrize("name", ["cle", "key", "api_key", "token", "access_token"])
def test_a_key_in_the_url_is_not_a_key(server: Server, name: str) -> None:
    """A5: it is an unknown parameter, whose value the answer does not repeat"""
    customer = server.customer("data")

    reply = server.ask(SEARCH, params={name: customer.key})

    assert (reply.status, reply.code) == (400, "parametre_inconnu")
    assert customer.key.encode() not in reply.body
    assert server.calls_used(customer) == 0


@pytest.mark.parametrize("slug", ["data", "carte", "corporate"])
def test_without_the_api_tool_a_key_is_served_at_the_free_level(server: Server, slug: str) -> None:
    """A7, §5 rule 3: `free` has 50 calls a day and 250 credits a month"""
    customer = server.customer(slug, api_tool=False)
    free = server.customer("free")

    search = server.ask(SEARCH, headers=customer.headers)
    record = server.ask(RECORD, headers=customer.headers)

    for reply, path in ((search, SEARCH), (record, RECORD)):
        body = reply.json
        assert (body.pop("plan_souscrit"), body.pop("outil_api")) == (slug, False)
        assert body == server.ask(path, headers=free.headers).json
        assert body["offre_suivante"]["plan"] == "data"
    assert search.headers["X-Quota-Limit"] == "50"
    # X0.1: these two members come after those of §2
    assert list(search.json)[-3:] == ["societes", "plan_souscrit", "outil_api"]
    assert record.headers["X-Credits-Restants"] == "245"


def test_accounts_served_at_the_free_level_have_tags_of_their_subscribed_plan(
    server: Server,
) -> None:
    """G8, A7: the bodies differ"""
    tags = {
        server.ask(path, headers=customer.headers).headers["ETag"]
        for customer in (
            server.customer("free"),
            server.customer("data", api_tool=False),
            server.customer("corporate", api_tool=False),
        )
        for path in (SEARCH, RECORD)
    }

    assert len(tags) == 6


def test_the_keys_of_an_organisation_share_its_counters(server: Server) -> None:
    """A8: the second key makes the second call, and the record is already paid for"""
    customer = server.customer("data")
    _, second_key = create_key(server.store, customer.account, PLANS, server.context.now()).result(
        10
    )
    second_key_owner = Customer(customer.account, second_key)

    reply_to_first_key = server.ask(RECORD, headers=customer.headers)
    reply_to_second_key = server.ask(RECORD, headers=second_key_owner.headers)

    assert (
        reply_to_first_key.headers["X-Quota-Used"],
        reply_to_second_key.headers["X-Quota-Used"],
    ) == ("1", "2")
    assert (
        reply_to_first_key.headers["X-Credits-Debites"],
        reply_to_second_key.headers["X-Credits-Debites"],
    ) == ("5", "0")


def test_a_lowered_plan_keeps_its_keys_at_the_new_level(server: Server) -> None:
    """A9: two keys of `data` are served as `free`, which allows one key"""
    customer = server.customer("data")
    _, second_key = create_key(server.store, customer.account, PLANS, server.context.now()).result(
        10
    )
    server.store.submit(account_rows.set_plan, customer.account, "free", PLANS).result()

    for key in (customer.key, second_key):
        assert server.ask(SEARCH, headers=authorization(f"Bearer {key}")).json["plan"] == "free"


def test_a_revoked_key_is_refused_at_the_next_call(server: Server) -> None:
    """A11, §5 rule 6"""
    customer = server.customer("data")
    assert server.ask(SEARCH, headers=customer.headers).status == 200
    (key,) = server.store.read(account_rows.keys_of, customer.account).result()
    server.store.submit(account_rows.revoke_key, key.id, iso(server.context.now())).result()

    assert server.ask(SEARCH, headers=customer.headers).status == 401


def test_a_cookie_is_not_a_key(server: Server) -> None:
    """A12: with a key in a cookie the caller is a visitor, who has no account to read"""
    customer = server.customer("data")

    reply = server.ask(SEARCH, headers={"Cookie": f"session={customer.key}"})

    assert (reply.status, reply.json["plan"]) == (200, "visiteur")
    assert server.ask("/api/v1/compte", headers={"Cookie": f"k={customer.key}"}).status == 401
