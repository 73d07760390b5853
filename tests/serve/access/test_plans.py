"""Search and record for all seven plans, with a real generation, without keys or sockets."""

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
from tests.serve.client import Server, unstarted_context
from tests.serve.world import COMPANIES, CONTACT, STATEMENTS

PLANS = plans.load()
OFFERS = rights.offers(PLANS)
# The plans whose callers get contacts.
PAID_PLANS = ("data", "carte", "corporate", "marches", "integral")


def make_request(
    slug: str, pairs: Pairs = (), segments: tuple[str, ...] = (), base_url: str = ""
) -> Request:
    """A request of a caller with this plan, as the router makes it."""
    path = "/".join(("/api/v1/societes", *segments))
    context, caller = unstarted_context(base_url), Caller(PLANS[slug])
    trace = RequestTrace("", path)
    return Request(context, trace, caller, path, context.now(), lambda: pairs, segments=segments)


def run_call(prepared: PreparedCall[Content]) -> Response:
    """Run a prepared call on an event loop; return its response."""

    async def run() -> Response:
        """Run the prepared call, and make its response in French."""
        return (await prepared.run()).response("fr")

    return asyncio.run(run())


def search(generation: OpenGeneration, slug: str, **params: str) -> Any:
    """The answer to a search of a caller with this plan."""
    return orjson.loads(
        run_call(societes(make_request(slug, tuple(params.items())), generation)).body
    )


def record(generation: OpenGeneration, slug: str, *segments: str) -> Response:
    """The response with a record, to a caller with this plan."""
    return run_call(societe(make_request(slug, segments=segments), generation))


@pytest.mark.parametrize("slug", plans.SLUGS)
def test_a_search_has_as_many_rows_as_its_plan_allows(
    generation: OpenGeneration, slug: str
) -> None:
    """C, §8.2 rules 1 to 3"""
    rows_most = min(50, PLANS[slug].resultats_par_recherche)

    body = search(generation, slug)

    assert (body["total"], body["plan"]) == (41, slug)  # all companies of the test data
    assert (body["limit"], len(body["societes"])) == (rows_most, min(41, rows_most))
    assert (body["visibles"], body["restantes"]) == (min(41, rows_most), 41 - min(41, rows_most))
    assert body["apercu"] == (slug == "visiteur")


@pytest.mark.parametrize("slug", plans.SLUGS)
def test_contacts_are_sent_to_paid_plans_only(generation: OpenGeneration, slug: str) -> None:
    """§2.1"""
    bodies = [
        run_call(societes(make_request(slug, [("site_web", "1")]), generation)).body,
        record(generation, slug, "FR", "552100554").body,
    ]

    for body in bodies:
        assert (CONTACT.encode() in body) == (slug in PAID_PLANS)
    contacts = [orjson.loads(bodies[1])["societe"][name] for name in CONTACTS]
    assert all(contacts) if slug in PAID_PLANS else contacts == [None] * 4


@pytest.mark.parametrize("slug", plans.SLUGS)
def test_statements_are_sent_to_every_identified_caller(
    generation: OpenGeneration, slug: str
) -> None:
    """§4.5, E4, E5"""
    body = orjson.loads(record(generation, slug, "FR", "552100554").body)
    without_statements = orjson.loads(record(generation, slug, "EE", "12652512").body)

    assert body.get("comptes") == (None if slug == "visiteur" else STATEMENTS)
    assert without_statements.get("comptes") == (None if slug == "visiteur" else [])
    assert ("comptes_message" in body) == (slug == "visiteur")


def test_all_pages_together_are_the_complete_search(generation: OpenGeneration) -> None:
    """B19, B20"""
    complete = [company["id"] for company in search(generation, "data")["societes"]]
    pages = [
        company["id"]
        for offset in range(0, 60, 7)
        for company in search(generation, "data", limit="7", offset=str(offset))["societes"]
    ]

    assert pages == complete
    assert len(complete) == 41  # all companies of the test data


@pytest.mark.parametrize(
    ("slug", "offset", "expected_offset"),
    [("free", "5", 5), ("data", "41", 41), ("data", "200", 200), ("data", "9" * 30, int("9" * 30))],
)
def test_beyond_the_rows_of_the_plan_or_the_search_a_page_is_empty(
    generation: OpenGeneration, slug: str, offset: str, expected_offset: int
) -> None:
    """B20, B21: 41 companies match; `free` shows 5, data all of them"""
    answer = run_call(societes(make_request(slug, [("offset", offset)]), generation))

    body = answer.body
    assert b'"societes":[]' in body
    assert b'"total":41,"limit":0,"offset":%d,' % expected_offset in body
    assert "Link" not in answer.headers


def test_links_lead_through_all_visible_rows(generation: OpenGeneration) -> None:
    """B20"""
    pairs: Pairs = [("q", "Bäckerei Nord"), ("pays", "DE,GB"), ("limit", "10"), ("offset", "0")]
    identifiers: list[str] = []
    for _ in range(3):
        answer = run_call(
            societes(make_request("data", pairs, base_url="https://exemple.eu"), generation)
        )
        identifiers += [company["id"] for company in orjson.loads(answer.body)["societes"]]
        link = re.fullmatch(r'<(.*)>; rel="next"', answer.headers.get("Link", ""))
        if not link:
            break
        assert link[1].startswith("https://exemple.eu/api/v1/societes?")
        pairs = parse_qsl(urlsplit(link[1]).query)
        # G10: all pages come from the generation of the first page.
        assert [value for name, value in pairs if name == "version"] == [generation.id]

    assert len(identifiers) == len(set(identifiers)) == 26
    assert "Link" not in answer.headers


@pytest.mark.parametrize(("unknown_companies", "is_linked"), [(0, True), (270, True), (290, False)])
def test_an_address_of_the_next_page_that_is_too_long_is_left_out(
    generation: OpenGeneration, unknown_companies: int, is_linked: bool
) -> None:
    """A proxy would refuse such a response; `:` and `,` are not escaped, so that more addresses fit"""
    known = [f"{company['iso2']}:{company['id']}" for company in COMPANIES[:2]]
    unknown = [f"DE:{number:010}" for number in range(unknown_companies)]  # 14 characters each
    pairs: Pairs = [("ids", ",".join([*known, *unknown])), ("limit", "1")]

    response = run_call(societes(make_request("data", pairs), generation))

    assert ("Link" in response.headers) == is_linked


def test_a_link_to_the_next_page_is_sent_only_before_the_last_row_of_the_plan(
    generation: OpenGeneration,
) -> None:
    """B20: `free` shows five rows, so only a page of four has a next page"""
    assert "Link" not in run_call(societes(make_request("free"), generation)).headers
    assert "Link" in run_call(societes(make_request("free", [("limit", "4")]), generation)).headers


def test_a_link_too_long_for_a_header_is_left_out(generation: OpenGeneration) -> None:
    pays = ",".join(["DE"] * 2_000)

    answer = run_call(societes(make_request("data", [("pays", pays), ("limit", "1")]), generation))

    assert answer.status == 200
    assert "Link" not in answer.headers


def test_each_plan_has_its_own_tag(generation: OpenGeneration) -> None:
    """G8: the answers of the seven plans differ"""
    assert (
        len({societes(make_request(slug), generation).headers["ETag"] for slug in plans.SLUGS}) == 7
    )
    assert (
        len({record(generation, slug, "FR", "552100554").headers["ETag"] for slug in plans.SLUGS})
        == 7
    )


@pytest.mark.parametrize("key", [{}, {"Authorization": "Bearer soc_live_x"}])
def test_no_route_sends_a_contact_without_a_right(server: Server, key: dict[str, str]) -> None:
    """§2.1: searches in every order, every record, lists and errors, with and without a key"""
    paths = [f"/api/v1/societes?pays={pays}&tri={tri}" for pays in ("FR", "UK") for tri in ORDERS]
    paths += ["/api/v1/societes?site_web=1", "/api/v1/societes?site_web=1&tri=score&limit=1"]
    paths += [
        f"/api/v1/societes/{company['iso2']}/{quote(company['id'], safe='')}"
        for company in COMPANIES
    ]
    paths += ["/api/v1/pays", "/api/v1/secteurs", "/api/v1/societes/FR/x", "/api/v1/inconnue"]

    replies = [server.ask(path, headers=key) for path in paths]

    assert {reply.status for reply in replies} == ({200, 404} if not key else {200, 401, 404})
    assert not [reply for reply in replies if CONTACT.encode() in reply.body]


def test_a_contact_cannot_be_searched_for(server: Server) -> None:
    """§2.1: such a search would reveal a contact letter by letter"""
    assert server.search(q=CONTACT)["total"] == 0
    assert server.search(q="bonjour")["total"] == 0
