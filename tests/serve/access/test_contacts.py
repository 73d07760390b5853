"""Contact values: none for a caller without the right (§2.1), all for a caller with it."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from urllib.parse import quote
from zipfile import ZipFile

import pytest

from shards.codec.record import CONTACTS
from shards.query import ORDERS
from tests.serve import world
from tests.serve.access.test_credits import make_customer
from tests.serve.client import PLANS, Reply, Server, run_server
from tests.serve.surfaces.mcp.client import send_modern
from tests.serve.world import COMPANIES, CONTACT, WITH_STATEMENTS

# Every contact string of the data, as written in JSON.
CONTACT_STRINGS = sorted(
    {str(company[name]) for company in COMPANIES for name in CONTACTS if company.get(name)}
)

SEARCHES = [f"/api/v1/societes?pays={pays}&tri={tri}" for pays in ("FR", "UK") for tri in ORDERS]
SEARCHES += ["/api/v1/societes?site_web=1", "/api/v1/societes?site_web=1&tri=score&limit=1"]
SEARCHES += [f"/api/v1/societes?q={text}" for text in ("fuite", "sgo.eu", "bonjour")]
RECORDS = [
    f"/api/v1/societes/{company['iso2']}/{quote(company['id'], safe='')}" for company in COMPANIES
]
# `free`, the smallest plan, has two exports a month.
EXPORTS = ["/api/v1/export", "/api/v1/export?lang=en&site_web=1&tri=score"]
PATHS_WITHOUT_CONTACTS = [
    "/api/v1/pays", "/api/v1/secteurs", "/api/v1/sous-secteurs?secteur=edition", "/api/v1/compte",
    "/api/v1/societes/FR/x", "/api/v1/societes?pays=XX", "/api/v1/export?x=1", "/healthz",
    "/readyz", "/metrics",
]  # fmt: skip
ALL_PATHS = SEARCHES + RECORDS + PATHS_WITHOUT_CONTACTS + EXPORTS
# Calls of tools for the same companies.
TOOLS: list[tuple[str, dict[str, object]]] = [
    *(("search_companies", {"pays": [iso2], "limit": 50}) for iso2 in ("FR", "UK", "DE", "EE")),
    ("search_companies", {"site_web": True, "limit": 50}),
    ("search_companies", {"q": "fuite"}),
    *(
        (
            "read_company",
            {"iso2": company["iso2"], "id": company["id"], "etats_financiers": with_statements},
        )
        for company in COMPANIES
        for with_statements in (False, True)
    ),
    (
        "read_companies",
        {"ids": [f"{company['iso2']}:{company['id']}" for company in COMPANIES[:16]]},
    ),
    ("count_companies", {"site_web": True}),
    ("explain_plan", {}),
    ("list_sectors", {}),
]


@pytest.fixture(scope="module")
def contact_server(separate_data: Path) -> Iterator[Server]:
    """A server of the test data, some of whose companies have contacts."""
    with run_server(separate_data) as server:
        yield server


@pytest.fixture(scope="module")
def server_with_paid_records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose companies all have statements, so that each record costs credits."""
    data = tmp_path_factory.mktemp("priced") / "data"
    data.mkdir()
    world.publish(data, comptes=world.ALL_STATEMENTS)
    with run_server(data) as server:
        yield server


def find_contacts(server: Server, headers: dict[str, str], paths: list[str]) -> set[str]:
    """The contact strings in the responses to `paths`, and to TOOLS unless these are PATHS_WITHOUT_CONTACTS."""
    replies = [server.ask(path, headers=headers) for path in paths]
    if paths is not PATHS_WITHOUT_CONTACTS:
        replies += [call_tool(server, headers, name, arguments) for name, arguments in TOOLS]
    received = b"\n".join(content(reply.body) + repr(reply.headers).encode() for reply in replies)
    return {text for text in CONTACT_STRINGS if text.encode() in received} | (
        {CONTACT} if CONTACT.encode() in received else set()
    )


def call_tool(
    server: Server, headers: dict[str, str], name: str, arguments: dict[str, object]
) -> Reply:
    """The response to a call of a tool of the MCP surface."""
    return send_modern(server, "tools/call", {"name": name, "arguments": arguments}, headers)


def content(body: bytes) -> bytes:
    """The bytes of a body; of a workbook, the bytes of all its parts."""
    if not body.startswith(b"PK"):
        return body
    with ZipFile(BytesIO(body)) as package:
        return b"".join(package.read(name) for name in package.namelist())


def test_the_test_data_have_contacts() -> None:
    assert len(CONTACT_STRINGS) == 4 * 6  # four contact fields of six companies
    assert all(CONTACT in text for text in CONTACT_STRINGS)


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer soc_live_x"}, {"Authorization": ""}]
)
def test_no_contact_is_sent_without_a_valid_key(
    contact_server: Server, headers: dict[str, str]
) -> None:
    assert find_contacts(contact_server, headers, ALL_PATHS) == set()


@pytest.mark.parametrize(
    ("slug", "api_tool"),
    [("free", None), ("data", False), ("carte", False), ("corporate", False)],
)
def test_no_contact_is_sent_to_a_key_without_the_right(
    contact_server: Server, slug: str, api_tool: bool | None
) -> None:
    """§8.1, A7"""
    customer = contact_server.customer(slug, api_tool=api_tool)
    # ALL_PATHS has more calls than `free` has a day, so some responses are refusals.
    assert find_contacts(contact_server, customer.headers, ALL_PATHS) == set()
    next_customer = contact_server.customer(slug, api_tool=api_tool)
    assert find_contacts(contact_server, next_customer.headers, RECORDS) == set()


@pytest.mark.parametrize("slug", [slug for slug, plan in PLANS.items() if plan.coordonnees])
def test_all_contacts_are_sent_to_a_plan_with_the_right(contact_server: Server, slug: str) -> None:
    """§8.1"""
    customer = contact_server.customer(slug)

    for paths in (SEARCHES, RECORDS, EXPORTS):
        assert find_contacts(contact_server, customer.headers, paths) == {*CONTACT_STRINGS, CONTACT}
    assert find_contacts(contact_server, customer.headers, PATHS_WITHOUT_CONTACTS) == set()


@pytest.mark.parametrize("slug", [slug for slug, plan in PLANS.items() if plan.coordonnees])
def test_no_contact_is_sent_in_a_402(server_with_paid_records: Server, slug: str) -> None:
    """D10: contacts null, whatever the plan"""
    customer = make_customer(server_with_paid_records, slug)

    replies = [server_with_paid_records.ask(path, headers=customer.headers) for path in RECORDS]

    assert {reply.status for reply in replies} == {402}
    assert CONTACT.encode() not in b"".join(reply.body for reply in replies)
    assert all(reply.json["societe"][name] is None for reply in replies for name in CONTACTS)
    iso2, identifier = WITH_STATEMENTS
    arguments = {"iso2": iso2, "id": identifier, "etats_financiers": True}
    refusal = call_tool(server_with_paid_records, customer.headers, "read_company", arguments)
    assert refusal.json["result"]["isError"]
    assert CONTACT.encode() not in refusal.body
