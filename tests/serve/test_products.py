"""Products without a feature: each answers all the rest, and documents, tools, menu and links have nothing of it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import pytest

from serve.app import PRODUCT
from serve.contract.feature import Feature, Operation, Product
from serve.surfaces.mcp.tool_list import tools
from serve.surfaces.site.page_request import pages_of
from tests.serve import world
from tests.serve.client import Served, serving
from tests.serve.surfaces.mcp.client import legacy
from tests.serve.surfaces.site.visitor import member

LINK: Final = re.compile(r'(?:href|action|src)="(/[^"#?]*)')
HTML: Final = {"Accept": "text/html"}
COMPANY: Final = "/societes/{iso2}/{id}".format(**world.COMPANIES[0])
# Pages that name most others, and all of a feature that another one shows.
START: Final = (
    "/",
    "/?q=lab",
    COMPANY,
    "/tarifs",
    "/statut",
    "/docs",
    "/rapprochement",
    "/nothing",
)


def without(name: str) -> Product:
    """The product without a feature or a surface."""

    def others(parts: tuple[Feature, ...]) -> list[Feature]:
        return [part for part in parts if part.name != name]

    return Product(others(PRODUCT.features), others(PRODUCT.surfaces))


def gone(product: Product) -> tuple[set[str], set[str], set[str]]:
    """The operations, tools and paths of pages that the product does not have."""
    operations = {one.id for one in PRODUCT.operations} - {one.id for one in product.operations}
    named = set(tools(PRODUCT)) - set(tools(product))
    pages = {one.path for one in pages_of(PRODUCT).all} - {
        one.path for one in pages_of(product).all
    }
    return operations, named, pages


def example_path(operation: Operation) -> str:
    """A path of an operation, with the parameters that it needs."""
    first = world.COMPANIES[0]
    values = {
        "iso": first["iso2"], "id": first["id"], "valeur": first["id"], "jeton": "visiteur", "quoi": "entity",
        "societe": f"{first['iso2']}:{first['id']}",
    }  # fmt: skip
    needed = {one.name: one.example for one in operation.parameters if one.required}
    return operation.path.format(**values) + (f"?{urlencode(needed)}" if needed else "")


@pytest.fixture(scope="module", params=["matching", "analyses", "export", "changes"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("product") / "data"
    data.mkdir()
    world.publish(data)
    with serving(data, product=without(request.param)) as served:
        yield served


def test_a_feature_that_is_left_out_is_in_no_document(served: Served) -> None:
    operations, named, _ = gone(served.context.product)
    paths = {one.path for one in PRODUCT.operations if one.id in operations}
    assert operations

    described = served.ask("/openapi.json").json
    listed = {tool["name"] for tool in legacy(served, "tools/list").json["result"]["tools"]}
    summary, whole = (
        served.ask("/llms.txt").body.decode(),
        served.ask("/llms-full.txt").body.decode(),
    )

    known = {
        one["operationId"] for methods in described["paths"].values() for one in methods.values()
    }
    assert not known & operations and not set(described["paths"]) & paths
    assert not listed & named
    assert not [path for path in paths if f"`{path}`" in summary or f" {path}`" in summary]
    assert not [name for name in named if f"### {name}\n" in whole]
    for path in paths:
        if "{" not in path:
            assert (
                b" 404 "
                in served.raw(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")[:20]
            )
    below = served.ask("/api/v1/nothing").json["erreur"]["message"]
    kept = {
        one.path.split("/")[3]
        for one in served.context.product.operations
        if one.path.startswith("/api/v1")
    }
    assert all(f" {name}" in below for name in kept)
    assert not [
        path
        for path in paths
        if path.split("/")[3] not in kept and f" {path.split('/')[3]}" in below
    ]


def test_all_other_operations_answer_as_before(served: Served, whole: Served) -> None:
    customer, same = served.customer("integral").headers, whole.customer("integral").headers
    checked = 0
    for operation in served.context.product.operations:
        if operation.method != "GET" or operation.kind in (
            "metrics",
            "check",
            "document",
            "file",
            "account",
        ):
            continue
        path = example_path(operation)
        reply, expected = served.ask(path, headers=customer), whole.ask(path, headers=same)
        body = reply.body.replace(str(served.port).encode(), str(whole.port).encode())
        assert (reply.status, body) == (expected.status, expected.body), path
        checked += 1
    assert checked > 8


def test_no_page_leads_to_what_is_left_out(served: Served, whole: Served) -> None:
    _, _, pages = gone(served.context.product)
    starts = {path: served.ask(path, headers=HTML) for path in START}
    links = {link for reply in starts.values() for link in LINK.findall(reply.body.decode())}

    assert {path: reply.status for path, reply in starts.items()} == {
        path: 404 if path in pages else whole.ask(path, headers=HTML).status for path in START
    }
    wrong = {}
    for link in sorted(links):
        status = served.ask(link, headers=HTML).status
        if status >= 400 and whole.ask(link, headers=HTML).status != status:
            wrong[link] = status
    assert wrong == {}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("whole") / "data"
    data.mkdir()
    world.publish(data)
    with serving(data) as served:
        yield served


def test_a_person_has_an_account_and_records_without_the_feature(served: Served) -> None:
    visitor, _ = member(served)
    pages = [visitor.get(path) for path in ("/compte", COMPANY, "/?q=lab", "/tarifs")]
    links = {link for page in pages for link in LINK.findall(page.html) if "?" not in link}

    assert [page.status for page in pages] == [200] * 4
    _, _, left_out = gone(served.context.product)
    assert not links & left_out
    assert not [
        link for link in links if link.startswith("/docs/") and visitor.get(link).status != 200
    ]


def test_without_the_site_the_api_answers_and_every_error_is_json(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    world.publish(data)
    product = without("site")

    with serving(data, product=product) as served:
        key = served.customer("data").headers
        found = served.ask("/api/v1/societes?q=lab", headers=key)
        page = served.ask("/tarifs", headers=HTML)
        assert (found.status, page.status, page.code) == (200, 404, "route_inconnue")
        assert served.ask("/openapi.json").status == 200
        assert legacy(served, "tools/list").json["result"]["tools"]
