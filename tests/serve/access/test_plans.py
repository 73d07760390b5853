"""Search and record for all seven plans, on the real generation but without keys or a socket."""

import asyncio
import re
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import orjson
import pytest

from quota import plans
from serve.access import rights
from serve.access.call import Content, PreparedCall, Request, Response
from serve.access.rights import Caller
from serve.features.record.operations import societe
from serve.features.search.societes import societes
from serve.generation.open_generation import OpenGeneration
from serve.observe.log import RequestTrace
from serve.request.reader import Pairs
from shards.codec.record import CONTACTS
from shards.query import ORDERS
from tests.serve.client import Served, unstarted_context
from tests.serve.world import COMPANIES, CONTACT, STATEMENTS

PLANS = plans.load()
OFFERS = rights.offers(PLANS)
PAID = ("data", "carte", "corporate", "marches", "integral")


def ask(
    slug: str, pairs: Pairs = (), segments: tuple[str, ...] = (), base_url: str = ""
) -> Request:
    path = "/".join(("/api/v1/societes", *segments))
    context, caller = unstarted_context(base_url), Caller(PLANS[slug])
    trace = RequestTrace("", path)
    return Request(context, trace, caller, path, context.now(), lambda: pairs, segments=segments)


def made(prepared: PreparedCall[Content]) -> Response:
    """The response to a prepared call, run on an event loop."""

    async def run() -> Response:
        return (await prepared.run()).response("fr")

    return asyncio.run(run())


def search(edition: OpenGeneration, slug: str, **params: str) -> Any:
    return orjson.loads(made(societes(ask(slug, tuple(params.items())), edition)).body)


def record(edition: OpenGeneration, slug: str, *segments: str) -> Response:
    return made(societe(ask(slug, segments=segments), edition))


@pytest.mark.parametrize("slug", plans.SLUGS)
def test_each_plan_sees_as_many_rows_as_it_may(open_edition: OpenGeneration, slug: str) -> None:
    """C, §8.2 rules 1 to 3"""
    cap = min(50, PLANS[slug].resultats_par_recherche)

    body = search(open_edition, slug)

    assert (body["total"], body["plan"]) == (41, slug)
    assert (body["limit"], len(body["societes"])) == (cap, min(41, cap))
    assert (body["visibles"], body["restantes"]) == (min(41, cap), 41 - min(41, cap))
    assert body["apercu"] == (slug == "visiteur")


@pytest.mark.parametrize("slug", plans.SLUGS)
def test_contacts_are_sent_to_those_who_pay_and_to_nobody_else(
    open_edition: OpenGeneration, slug: str
) -> None:
    """§2.1"""
    bodies = [
        made(societes(ask(slug, [("site_web", "1")]), open_edition)).body,
        record(open_edition, slug, "FR", "552100554").body,
    ]

    for body in bodies:
        assert (CONTACT.encode() in body) == (slug in PAID)
    contacts = [orjson.loads(bodies[1])["societe"][name] for name in CONTACTS]
    assert all(contacts) if slug in PAID else contacts == [None] * 4


@pytest.mark.parametrize("slug", plans.SLUGS)
def test_statements_are_sent_to_every_identified_caller(
    open_edition: OpenGeneration, slug: str
) -> None:
    """§4.5, E4, E5"""
    body = orjson.loads(record(open_edition, slug, "FR", "552100554").body)
    without = orjson.loads(record(open_edition, slug, "EE", "12652512").body)

    assert body.get("comptes") == (None if slug == "visiteur" else STATEMENTS)
    assert without.get("comptes") == (None if slug == "visiteur" else [])
    assert ("comptes_message" in body) == (slug == "visiteur")


def test_pages_add_up_to_the_whole(open_edition: OpenGeneration) -> None:
    """B19, B20"""
    whole = [one["id"] for one in search(open_edition, "data")["societes"]]
    pages = [
        one["id"]
        for offset in range(0, 60, 7)
        for one in search(open_edition, "data", limit="7", offset=str(offset))["societes"]
    ]

    assert pages == whole
    assert len(whole) == 41


@pytest.mark.parametrize(
    ("slug", "offset", "echoed"),
    [("free", "5", 5), ("data", "41", 41), ("data", "200", 200), ("data", "9" * 30, int("9" * 30))],
)
def test_past_the_cap_or_the_total_there_are_no_rows(
    open_edition: OpenGeneration, slug: str, offset: str, echoed: int
) -> None:
    """B20, B21"""
    answer = made(societes(ask(slug, [("offset", offset)]), open_edition))

    body = answer.body
    assert b'"societes":[]' in body
    assert b'"total":41,"limit":0,"offset":%d,' % echoed in body
    assert "Link" not in answer.headers


def test_links_lead_through_all_visible_rows(open_edition: OpenGeneration) -> None:
    """B20"""
    pairs: Pairs = [("q", "Bäckerei Nord"), ("pays", "DE,GB"), ("limit", "10"), ("offset", "0")]
    seen: list[str] = []
    for _ in range(3):
        answer = made(societes(ask("data", pairs, base_url="https://exemple.eu"), open_edition))
        seen += [one["id"] for one in orjson.loads(answer.body)["societes"]]
        link = re.fullmatch(r'<(.*)>; rel="next"', answer.headers.get("Link", ""))
        if not link:
            break
        assert link[1].startswith("https://exemple.eu/api/v1/societes?")
        pairs = parse_qsl(urlsplit(link[1]).query)
        # G10: a walk is pinned to the generation of its first page.
        assert [value for name, value in pairs if name == "version"] == [open_edition.id]

    assert len(seen) == len(set(seen)) == 26
    assert "Link" not in answer.headers


def test_a_link_stands_only_before_the_cap(open_edition: OpenGeneration) -> None:
    """B20"""
    assert "Link" not in made(societes(ask("free"), open_edition)).headers
    assert "Link" in made(societes(ask("free", [("limit", "4")]), open_edition)).headers


def test_a_link_too_long_for_a_header_is_left_out(open_edition: OpenGeneration) -> None:
    pays = ",".join(["DE"] * 2_000)

    answer = made(societes(ask("data", [("pays", pays), ("limit", "1")]), open_edition))

    assert answer.status == 200
    assert "Link" not in answer.headers


def test_each_plan_has_its_own_tag(open_edition: OpenGeneration) -> None:
    """G8"""
    assert len({societes(ask(slug), open_edition).headers["ETag"] for slug in plans.SLUGS}) == 7
    assert (
        len({record(open_edition, slug, "FR", "552100554").headers["ETag"] for slug in plans.SLUGS})
        == 7
    )


@pytest.mark.parametrize("key", [{}, {"Authorization": "Bearer soc_live_x"}])
def test_no_contact_leaves_over_any_route(served: Served, key: dict[str, str]) -> None:
    """§2.1: searches in every order, every record, lists and errors, with and without a key"""
    paths = [f"/api/v1/societes?pays={pays}&tri={tri}" for pays in ("FR", "UK") for tri in ORDERS]
    paths += ["/api/v1/societes?site_web=1", "/api/v1/societes?site_web=1&tri=score&limit=1"]
    paths += [f"/api/v1/societes/{one['iso2']}/{quote(one['id'], safe='')}" for one in COMPANIES]
    paths += ["/api/v1/pays", "/api/v1/secteurs", "/api/v1/societes/FR/x", "/api/v1/inconnue"]

    replies = [served.ask(path, headers=key) for path in paths]

    assert {reply.status for reply in replies} == ({200, 404} if not key else {200, 401, 404})
    assert not [reply for reply in replies if CONTACT.encode() in reply.body]


def test_a_contact_cannot_be_searched_for(served: Served) -> None:
    """§2.1: a search that found it would give it away letter by letter"""
    assert served.search(q=CONTACT)["total"] == 0
    assert served.search(q="bonjour")["total"] == 0
