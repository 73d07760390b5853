"""Contact values: none for a caller without the right (§2.1), all for a caller with it."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from urllib.parse import quote
from zipfile import ZipFile

import pytest

from quota.ledger.calls import Purchase
from shards.codec.record import CONTACTS
from shards.query import ORDERS
from tests.serve import world
from tests.serve.client import PLANS, Customer, Reply, Served, serving
from tests.serve.surfaces.mcp.client import modern
from tests.serve.world import COMPANIES, CONTACT, WITH_STATEMENTS

# Every contact string of the data, as it stands in JSON.
STRINGS = sorted({str(one[name]) for one in COMPANIES for name in CONTACTS if one.get(name)})

SEARCHES = [f"/api/v1/societes?pays={pays}&tri={tri}" for pays in ("FR", "UK") for tri in ORDERS]
SEARCHES += ["/api/v1/societes?site_web=1", "/api/v1/societes?site_web=1&tri=score&limit=1"]
SEARCHES += [f"/api/v1/societes?q={text}" for text in ("fuite", "sgo.eu", "bonjour")]
RECORDS = [f"/api/v1/societes/{one['iso2']}/{quote(one['id'], safe='')}" for one in COMPANIES]
# As many as the smallest plan may ask for.
EXPORTS = ["/api/v1/export", "/api/v1/export?lang=en&site_web=1&tri=score"]
OTHERS = [
    "/api/v1/pays", "/api/v1/secteurs", "/api/v1/sous-secteurs?secteur=edition", "/api/v1/compte",
    "/api/v1/societes/FR/x", "/api/v1/societes?pays=XX", "/api/v1/export?x=1", "/healthz",
    "/readyz", "/metrics",
]  # fmt: skip
EVERYTHING = SEARCHES + RECORDS + OTHERS + EXPORTS
# The same through the tools.
TOOLS: list[tuple[str, dict[str, object]]] = [
    *(("search_companies", {"pays": [iso2], "limit": 50}) for iso2 in ("FR", "UK", "DE", "EE")),
    ("search_companies", {"site_web": True, "limit": 50}),
    ("search_companies", {"q": "fuite"}),
    *(
        ("read_company", {"iso2": one["iso2"], "id": one["id"], "etats_financiers": with_them})
        for one in COMPANIES
        for with_them in (False, True)
    ),
    ("read_companies", {"ids": [f"{one['iso2']}:{one['id']}" for one in COMPANIES[:16]]}),
    ("count_companies", {"site_web": True}),
    ("explain_plan", {}),
    ("list_sectors", {}),
]


@pytest.fixture(scope="module")
def own(data_of_its_own: Path) -> Iterator[Served]:
    with serving(data_of_its_own) as server:
        yield server


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("priced") / "data"
    data.mkdir()
    world.publish(data, comptes=world.ALL_STATEMENTS)
    with serving(data) as server:
        yield server


def leaked(served: Served, headers: dict[str, str], paths: list[str]) -> set[str]:
    """The contact strings in the heads and bodies of what these paths answer."""
    replies = [served.ask(path, headers=headers) for path in paths]
    if paths is not OTHERS:
        replies += [tool(served, headers, name, given) for name, given in TOOLS]
    sent = b"\n".join(opened(reply.body) + repr(reply.headers).encode() for reply in replies)
    return {text for text in STRINGS if text.encode() in sent} | (
        {CONTACT} if CONTACT.encode() in sent else set()
    )


def tool(served: Served, headers: dict[str, str], name: str, given: dict[str, object]) -> Reply:
    return modern(served, "tools/call", {"name": name, "arguments": given}, headers)


def opened(body: bytes) -> bytes:
    """A body, or all parts of the workbook that it is."""
    if not body.startswith(b"PK"):
        return body
    with ZipFile(BytesIO(body)) as package:
        return b"".join(package.read(name) for name in package.namelist())


def test_the_data_have_contacts() -> None:
    assert len(STRINGS) == 4 * 6
    assert all(CONTACT in text for text in STRINGS)


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer soc_live_x"}, {"Authorization": ""}]
)
def test_none_leaves_without_a_key_or_with_a_bad_one(own: Served, headers: dict[str, str]) -> None:
    assert leaked(own, headers, EVERYTHING) == set()


@pytest.mark.parametrize(
    ("slug", "api_tool"),
    [("free", None), ("data", False), ("carte", False), ("corporate", False)],
)
def test_none_leaves_to_a_level_without_the_right(
    own: Served, slug: str, api_tool: bool | None
) -> None:
    """§8.1, A7"""
    customer = own.customer(slug, api_tool=api_tool)
    # More calls than a day of `free` allows: the refusals are read as well.
    assert leaked(own, customer.headers, EVERYTHING) == set()
    renewed = own.customer(slug, api_tool=api_tool)
    assert leaked(own, renewed.headers, RECORDS) == set()


@pytest.mark.parametrize("slug", [slug for slug, plan in PLANS.items() if plan.coordonnees])
def test_all_leave_to_a_plan_with_the_right(own: Served, slug: str) -> None:
    """§8.1"""
    customer = own.customer(slug)

    for paths in (SEARCHES, RECORDS, EXPORTS):
        assert leaked(own, customer.headers, paths) == {*STRINGS, CONTACT}
    assert leaked(own, customer.headers, OTHERS) == set()


@pytest.mark.parametrize("slug", [slug for slug, plan in PLANS.items() if plan.coordonnees])
def test_none_leaves_in_a_402(priced: Served, slug: str) -> None:
    """D10: contacts null, whatever the plan"""
    customer = broke(priced, slug)

    replies = [priced.ask(path, headers=customer.headers) for path in RECORDS]

    assert {reply.status for reply in replies} == {402}
    assert CONTACT.encode() not in b"".join(reply.body for reply in replies)
    assert all(reply.json["societe"][name] is None for reply in replies for name in CONTACTS)
    iso2, identifier = WITH_STATEMENTS
    wanted = {"iso2": iso2, "id": identifier, "etats_financiers": True}
    told = tool(priced, customer.headers, "read_company", wanted)
    assert told.json["result"]["isError"]
    assert CONTACT.encode() not in told.body


def broke(served: Served, slug: str) -> Customer:
    customer = served.customer(slug)
    grant = PLANS[slug].credits_par_mois
    served.store.take_and_charge(
        Purchase(customer.account, 10_000, "FR/depense", grant, grant), served.context.now()
    ).result(10)
    return customer
