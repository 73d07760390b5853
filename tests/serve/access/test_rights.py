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
from tests.serve.client import PATHS, PLANS, Customer, Served

CAPS = {
    "visiteur": 2, "free": 5, "data": 200, "corporate": 1000, "marches": 500, "integral": 1000,
    "carte": 200,
}  # fmt: skip

SEARCH = "/api/v1/societes"
RECORD = "/api/v1/societes/FR/552100554"
LISTS = PATHS[:3]


@pytest.mark.parametrize(
    ("slug", "total", "asked", "echoed", "visibles", "restantes", "rows"),
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
def test_the_table_of_the_contract(
    slug: str,
    total: int,
    asked: tuple[int, int],
    echoed: tuple[int, int],
    visibles: int,
    restantes: int,
    rows: int,
) -> None:
    """C, C2"""
    plan = PLANS[slug]
    window = rights.window(plan, *asked)
    shown = rights.visible_rows(plan, total)

    assert (rights.effective_limit(window, total), window.offset) == echoed
    assert (shown, total - shown) == (visibles, restantes)
    assert max(0, min(window.limit, shown - window.offset)) == rows


@given(
    slug=st.sampled_from(plans.SLUGS),
    limit=st.integers(1, 1_000),
    offset=st.integers(0, 2_000) | st.integers(0, 10**30),
    total=st.integers(0, 20_000_000),
)
def test_no_page_passes_the_cap_of_its_plan(slug: str, limit: int, offset: int, total: int) -> None:
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
def test_following_next_shows_each_visible_row_once(slug: str, limit: int, total: int) -> None:
    """B20: `next` is there exactly while another row is reachable"""
    plan = PLANS[slug]
    seen: list[int] = []
    offset: int | None = 0
    while offset is not None:
        window = rights.window(plan, limit, offset)
        visible = rights.visible_rows(plan, total)
        seen += range(offset, min(offset + window.limit, visible))
        offset = rights.next_offset(plan, window, total)

    assert seen == list(range(min(total, CAPS[slug])))


def test_a_visitor_has_no_next_page() -> None:
    """B20: its offset is locked, so the second row of a search with limit 1 cannot be reached"""
    plan = PLANS["visiteur"]

    assert rights.next_offset(plan, rights.window(plan, 1, 0), 1_000) is None


def test_past_the_total_the_limit_is_0_and_the_offset_as_sent() -> None:
    """B20"""
    window = rights.window(PLANS["data"], 50, 30)

    assert window == Window(50, 30)
    assert [rights.effective_limit(window, total) for total in (29, 30, 31)] == [0, 0, 50]


def test_an_empty_result_echoes_the_limit_of_the_plan() -> None:
    """C: an offset of 0 is past nothing"""
    assert rights.effective_limit(rights.window(PLANS["free"], 50, 0), 0) == 5


def test_only_the_visitor_has_a_preview() -> None:
    """C: apercu"""
    assert [slug for slug, plan in PLANS.items() if rights.apercu(plan)] == ["visiteur"]


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": text}


@pytest.fixture(scope="module")
def revoked(served: Served) -> str:
    customer = served.customer("data")
    (key,) = served.store.read(account_rows.keys_of, customer.account).result()
    served.store.submit(account_rows.revoke_key, key.id, iso(served.context.now())).result(10)
    return customer.key


@pytest.mark.parametrize("slug", [slug for slug in plans.SLUGS if slug != "visiteur"])
def test_a_key_is_served_with_its_plan(served: Served, slug: str) -> None:
    """§5, C, §8.1"""
    customer = served.customer(slug)

    reply = served.ask(SEARCH, headers=customer.headers)

    body, plan = reply.json, PLANS[slug]
    assert (reply.status, body["plan"], body["apercu"]) == (200, slug, False)
    assert len(body["societes"]) == min(41, 50, plan.lignes_par_appel)
    assert body["coordonnees"] == plan.coordonnees
    assert reply.headers["X-Plafond-Resultats"] == str(plan.resultats_par_recherche)
    assert reply.headers["X-Quota-Limit"] == str(plan.appels_api_par_jour)
    assert {"plan_souscrit", "outil_api"}.isdisjoint(body)


@pytest.mark.parametrize("path", [SEARCH, RECORD])
def test_all_that_is_no_key_is_refused_alike(served: Served, revoked: str, path: str) -> None:
    """A4: no answer tells a revoked key from one that never was"""
    good = served.customer("data").key
    unknown = credentials.make_key(lambda below: below - 1)
    bad = [
        f"Bearer {revoked}", f"Bearer {unknown}", f"Bearer {good[:-1]}", f"Bearer {good}x",
        f"Bearer {good[:-1]}{'1' if good[-1] == '0' else '0'}", f"Basic {good}", f"Token {good}",
        good, f"Bearer {good} {good}", f"Bearer {good},", "Bearer", "Bearer ", "", "Bearer é",
        f"Bearer {good.upper()}",
    ]  # fmt: skip

    replies = [served.ask(path, headers=bearer(text)) for text in bad]

    moving = {"Date", "X-Request-Id", "RateLimit", "X-Quota-Reset"}
    kept = [
        (reply.status, reply.body, {n: v for n, v in reply.headers.items() if n not in moving})
        for reply in replies
    ]
    assert all(one == kept[0] for one in kept)
    assert (replies[0].status, replies[0].code) == (401, "cle_invalide")
    assert replies[0].headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    assert replies[0].json["plan"] == "visiteur"


def test_two_authorization_headers_are_no_key(served: Served) -> None:
    """A4"""
    customer = served.customer("data")
    line = f"Authorization: Bearer {customer.key}\r\n"

    answer = served.raw(
        f"GET {SEARCH} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{line}{line}\r\n"
    )

    # aiohttp's own parser may refuse such a request before we see it.
    assert answer.split(b" ", 2)[1] in (b"401", b"400")
    assert served.used(customer) == 0


@pytest.mark.parametrize("written", ["Bearer {}", "bearer {}", "BEARER   {}"])
def test_the_scheme_is_in_any_case(served: Served, written: str) -> None:
    """RFC 9110 §11.1"""
    key = served.customer("free").key

    assert served.ask(SEARCH, headers=bearer(written.format(key))).status == 200


@pytest.mark.parametrize("path", LISTS)
def test_a_list_does_not_look_at_a_key(served: Served, revoked: str, path: str) -> None:
    """A2, G8, D1"""
    customer = served.customer("integral")
    plain = served.ask(path)
    with_key = served.ask(path, headers=customer.headers)
    with_bad = served.ask(path, headers=bearer(f"Bearer {revoked}"))

    moving = {"Date", "X-Request-Id"}
    for reply in (with_key, with_bad):
        assert (reply.status, reply.body) == (200, plain.body)
        assert {n: v for n, v in reply.headers.items() if n not in moving} == {
            n: v for n, v in plain.headers.items() if n not in moving
        }
    assert plain.headers["Cache-Control"] == "public, max-age=300"
    assert served.used(customer) == 0


@pytest.mark.parametrize("name", ["cle", "key", "api_key", "token", "access_token"])
def test_a_key_in_the_url_is_no_key(served: Served, name: str) -> None:
    """A5"""
    customer = served.customer("data")

    reply = served.ask(SEARCH, params={name: customer.key})

    assert (reply.status, reply.code) == (400, "parametre_inconnu")
    assert customer.key.encode() not in reply.body
    assert served.used(customer) == 0


@pytest.mark.parametrize("slug", ["data", "carte", "corporate"])
def test_without_the_api_tool_a_key_is_served_at_the_free_level(served: Served, slug: str) -> None:
    """A7, §5 rule 3"""
    customer = served.customer(slug, api_tool=False)
    free = served.customer("free")

    search = served.ask(SEARCH, headers=customer.headers)
    record = served.ask(RECORD, headers=customer.headers)

    for reply, path in ((search, SEARCH), (record, RECORD)):
        body = reply.json
        assert (body.pop("plan_souscrit"), body.pop("outil_api")) == (slug, False)
        assert body == served.ask(path, headers=free.headers).json
        assert body["offre_suivante"]["plan"] == "data"
    assert search.headers["X-Quota-Limit"] == "50"
    # X0.1: after the keys of §2
    assert list(search.json)[-3:] == ["societes", "plan_souscrit", "outil_api"]
    assert record.headers["X-Credits-Restants"] == "245"


def test_plans_served_alike_do_not_share_a_tag(served: Served) -> None:
    """G8, A7: the bodies differ"""
    tags = {
        served.ask(path, headers=customer.headers).headers["ETag"]
        for customer in (
            served.customer("free"),
            served.customer("data", api_tool=False),
            served.customer("corporate", api_tool=False),
        )
        for path in (SEARCH, RECORD)
    }

    assert len(tags) == 6


def test_the_keys_of_an_organisation_share_its_counters(served: Served) -> None:
    """A8"""
    customer = served.customer("data")
    _, second = create_key(served.store, customer.account, PLANS, served.context.now()).result(10)
    other = Customer(customer.account, second)

    first = served.ask(RECORD, headers=customer.headers)
    again = served.ask(RECORD, headers=other.headers)

    assert (first.headers["X-Quota-Used"], again.headers["X-Quota-Used"]) == ("1", "2")
    assert (first.headers["X-Credits-Debites"], again.headers["X-Credits-Debites"]) == ("5", "0")


def test_a_lowered_plan_keeps_its_keys_at_the_new_level(served: Served) -> None:
    """A9"""
    customer = served.customer("data")
    _, second = create_key(served.store, customer.account, PLANS, served.context.now()).result(10)
    served.store.submit(account_rows.set_plan, customer.account, "free", PLANS).result(10)

    for key in (customer.key, second):
        assert served.ask(SEARCH, headers=bearer(f"Bearer {key}")).json["plan"] == "free"


def test_a_revoked_key_is_refused_at_once(served: Served) -> None:
    """A11, §5 rule 6"""
    customer = served.customer("data")
    assert served.ask(SEARCH, headers=customer.headers).status == 200
    (key,) = served.store.read(account_rows.keys_of, customer.account).result()
    served.store.submit(account_rows.revoke_key, key.id, iso(served.context.now())).result(10)

    assert served.ask(SEARCH, headers=customer.headers).status == 401


def test_a_cookie_opens_nothing(served: Served) -> None:
    """A12"""
    customer = served.customer("data")

    reply = served.ask(SEARCH, headers={"Cookie": f"session={customer.key}"})

    assert (reply.status, reply.json["plan"]) == (200, "visiteur")
    assert served.ask("/api/v1/compte", headers={"Cookie": f"k={customer.key}"}).status == 401
